using System.Buffers.Binary;
using ProtoRpc.Fuzz.Engine;
using ProtoRpc.Fuzz.Inputs;
using ProtoRpc.Security;
using ProtoRpc.Security.Ntlm;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>NTLM's three messages, and both sides of a handshake. The first byte chooses.</summary>
internal sealed class NtlmTarget : FuzzTarget
{
    private static readonly NtlmAccountTable Accounts = new([NtlmAccount.From(Associations.Credential)]);
    private static readonly NtlmServerOptions ServerOptions = new() { Random = static n => new byte[n] };
    private static readonly NtlmClientOptions ClientOptions = new() { Random = static n => new byte[n] };

    private readonly byte[] _negotiate = NewClient().Step(default);

    public override string Name => "ntlm";

    public override string Promise =>
        "no changed token proves anything; a challenge is written as it was read";

    public override int? BytesPerByte => 64;

    public override IEnumerable<byte[]> Seeds()
    {
        foreach ((byte[] negotiate, byte[] challenge, byte[] authenticate) in new[] { Handshake() })
        {
            foreach (byte[] token in new[] { negotiate, challenge, authenticate })
            {
                for (byte choice = 0; choice < 3; choice++)
                {
                    yield return [choice, .. token];
                }
            }
        }

        foreach (string vector in new[] { "bind-ntlm", "bind-ack-ntlm", "auth3-ntlm" })
        {
            byte[] pdu = Vectors.All[vector];
            int token = pdu.AsSpan().IndexOf("NTLMSSP\0"u8);
            yield return [1, .. pdu.AsSpan(token)];
        }
    }

    public override IEnumerable<GrowingInput> Growing()
    {
        yield return new("attributes", n =>
        {
            // As many as the field's 16 bits of length hold.
            byte[] pairs = [.. Enumerable.Repeat<byte[]>([1, 0, 0, 0], n).SelectMany(b => b), 0, 0, 0, 0];
            byte[] challenge = new byte[56 + pairs.Length];
            NtlmField.WriteHeader(challenge, 2);
            BinaryPrimitives.WriteUInt32LittleEndian(challenge.AsSpan(20), 0xE0888235);
            NtlmField.Write(challenge, 40, 56, pairs);
            return [0, .. challenge];
        }, 2000);
    }

    public override bool Run(byte[] input, Meter meter)
    {
        Tail tail = new(input);
        int choice = tail.Next(3);
        byte[] token = tail.Rest.ToArray();
        if (ChallengeMessage.Read(token) is { } read)
        {
            Require(
                ChallengeMessage.Read(read.ToBytes()) is { } again && again.ToBytes().AsSpan().SequenceEqual(
                    read.ToBytes()),
                "a challenge is written as it was read");
        }

        _ = AuthenticateMessage.Read(token)?.ToBytes();
        using SecurityContext context = choice switch
        {
            0 => NewClient(),
            1 => NewServer(),
            _ => NewServer(),
        };
        if (choice == 0)
        {
            context.Step(default);
        }
        else if (choice == 2)
        {
            context.Step(_negotiate);
        }

        bool isTaken = Accepts(
            () => meter.Measure(() => context.Step(token)), RpcStatusCode.Unauthenticated);
        Require(choice == 0 || !context.IsComplete,
            "a server that nobody proved anything to is not complete");
        return isTaken;
    }

    private static (byte[] Negotiate, byte[] Challenge, byte[] Authenticate) Handshake()
    {
        using NtlmClientContext client = NewClient();
        using NtlmServerContext server = NewServer();
        byte[] negotiate = client.Step(default);
        byte[] challenge = server.Step(negotiate);

        // Of another password: a good token would be accepted.
        using NtlmClientContext wrong = new(
            NtlmCredential.From(new System.Net.NetworkCredential("User", "wrong", "DOMAIN")), ClientOptions);
        wrong.Step(default);
        return (negotiate, challenge, wrong.Step(challenge));
    }

    private static NtlmServerContext NewServer() => new(Accounts, ServerOptions);

    private static NtlmClientContext NewClient() =>
        new(NtlmCredential.From(Associations.Credential), ClientOptions);
}

using ProtoRpc.Fuzz.Engine;
using ProtoRpc.Fuzz.Inputs;
using ProtoRpc.Security.Ntlm;
using ProtoRpc.Security.Spnego;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>SPNEGO's tokens, and both sides of a negotiation. The first byte chooses.</summary>
internal sealed class SpnegoTarget : FuzzTarget
{
    private static readonly NtlmAccountTable Accounts = new([NtlmAccount.From(Associations.Credential)]);

    private readonly byte[] _init;
    private readonly byte[] _challenge;
    private readonly byte[] _last;

    public SpnegoTarget()
    {
        using SpnegoClientContext client = NewClient("wrong");
        using SpnegoServerContext server = NewServer();
        _init = client.Step(default);
        _challenge = server.Step(_init);
        _last = client.Step(_challenge);
    }

    public override string Name => "spnego";

    public override string Promise =>
        "no changed token proves anything; responses are written as they were read";

    public override int? BytesPerByte => 256;

    public override IEnumerable<byte[]> Seeds() =>
        from choice in Enumerable.Range(0, 3)
        from token in new[] { _init, _challenge, _last }
        select (byte[])[(byte)choice, .. token];

    public override IEnumerable<GrowingInput> Growing()
    {
        yield return new("mechanisms", n => [1, .. new NegTokenInit(
            [], NegTokenInit.EncodeMechanisms(Enumerable.Range(0, n).Select(i => $"1.3.6.{i}")),
                null).ToBytes()], 1000);
    }

    public override bool Run(byte[] input, Meter meter)
    {
        Tail tail = new(input);
        int choice = tail.Next(3);
        byte[] token = tail.Rest.ToArray();
        if (NegTokenResponse.Read(token) is { } response)
        {
            byte[] written = response.ToBytes();
            Require(
                NegTokenResponse.Read(written)?.ToBytes().AsSpan().SequenceEqual(written) ?? false,
                "a response is written as it was read");
        }

        _ = NegTokenInit.Read(token);
        using SpnegoContext context = choice == 0 ? NewClient("Password") : NewServer();
        if (choice != 1)
        {
            context.Step(choice == 0 ? default : _init);
        }

        bool isTaken = Accepts(
            () => meter.Measure(() => context.Step(token)), RpcStatusCode.Unauthenticated);
        Require(!context.IsComplete, "nobody proved anything");
        return isTaken;
    }

    private static SpnegoServerContext NewServer() => new([new(
        SpnegoOid.Ntlm,
        () => new NtlmServerContext(Accounts, new NtlmServerOptions { Random = static n => new byte[n] }))]);

    private static SpnegoClientContext NewClient(string password) => new([new(
        SpnegoOid.Ntlm,
        () => new NtlmClientContext(
            NtlmCredential.From(new System.Net.NetworkCredential("User", password, "DOMAIN")),
            new NtlmClientOptions { Random = static n => new byte[n] }))]);
}

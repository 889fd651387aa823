using System.Buffers;
using ProtoRpc.Fuzz.Engine;
using ProtoRpc.Fuzz.Inputs;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Security;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>PDUs with security trailers, to a server that has authenticated the caller by NTLM. The first
/// byte
/// chooses the level; the second one how many requests of the caller come as they are.</summary>
internal sealed class SecuredPduTarget : FuzzTarget
{
    private static readonly RpcProtectionLevel[] Levels =
        [RpcProtectionLevel.Connect, RpcProtectionLevel.Integrity, RpcProtectionLevel.Privacy];

    private readonly SecurityPolicy _policy = new(new RpcServerSecurity
    {
        Authentication = RpcAuthentication.Ntlm,
        MinimumLevel = RpcProtectionLevel.Connect,
        NtlmAccounts = [NtlmAccount.From(Associations.Credential)],
    });

    public override string Name => "trailer";

    public override string Promise => "no changed PDU of a protected connection reaches a handler";

    public override IMutator Mutator => ByteMutator.Instance;

    // Keys are new with each conversation, and so is what is encrypted.
    public override bool IsGuided => false;

    public override int? BytesPerByte => 64;

    public override int FixedBytes => 256 * 1024;

    public override IEnumerable<byte[]> Seeds() =>
        from level in Enumerable.Range(0, Levels.Length)
        from request in Enumerable.Range(0, 3)
        from edit in new byte[][] { [], [0, 0, 1], [4, 0, 0x80], [22, 0, 1], [255, 255, 255],
            [10, 0, 255, 8, 0, 255] }
        select (byte[])[(byte)level, (byte)request, .. edit];

    public override byte[]? Generate(Random random)
    {
        byte[] input = new byte[2 + (3 * random.Next(1, 5))];
        random.NextBytes(input);
        return input;
    }

    public override bool Run(byte[] input, Meter meter)
    {
        Tail tail = new(input);
        RpcProtectionLevel level = Levels[tail.Next(Levels.Length)];
        int good = tail.Next(3);
        using ServerAssociation server = Associations.Server(_policy);
        using ClientAssociation client = Associations.Client(level);
        Agree(client, server);
        Require(server.Security.IsAuthenticated, "the handshake succeeds");
        for (int i = 0; i < good; i++)
        {
            Require(Calls(server, Request(client), meter) == 1, "a request as it was sent is served");
            EndReply(client);
        }

        byte[] pdu = Request(client);
        byte[] changed = [.. pdu];
        while (!tail.Rest.IsEmpty)
        {
            // Where, of two bytes, and what is changed there.
            int at = tail.Byte() | (tail.Byte() << 8);
            changed[at % changed.Length] ^= tail.Byte();
        }

        int calls = Calls(server, changed, meter);
        bool isSame = changed.AsSpan().SequenceEqual(pdu);
        Require(
            isSame ? calls == 1 : calls == 0 || level == RpcProtectionLevel.Connect
                || IsUnsigned(pdu, changed),
            $"a changed PDU is refused at {level}: {Convert.ToHexString(pdu)} became "
            + Convert.ToHexString(changed));
        return calls > 0;
    }

    // Of the header, integrity covers all when both sides sign headers, as ours do.
    private static bool IsUnsigned(byte[] pdu, byte[] changed) => pdu.AsSpan().SequenceEqual(changed);

    private static int Calls(ServerAssociation server, byte[] bytes, Meter meter)
    {
        byte[] answer = meter.Measure(() => Associations.Feed(server, bytes));
        ServerPduTarget.RequireWhole(answer);
        return answer.Length > 0 && PduHeader.Read(answer).Type == PduType.Response ? 1 : 0;
    }

    // The client takes no reply here: it begins its next call as if it had come.
    private static void EndReply(ClientAssociation client) => client.EndCall();

    private static byte[] Request(ClientAssociation client)
    {
        using PooledMessageBytes request = new(
            100, "request", ClientAssociation.RequestPrefix, ClientAssociation.RequestSuffix);
        request.Write("a request of one fragment"u8);
        client.BeginCall(request);
        return Associations.Output(client);
    }

    private static void Agree(ClientAssociation client, ServerAssociation server)
    {
        byte[] pdu = client.Bind(0);
        while (true)
        {
            byte[] answer = Associations.Feed(server, pdu);
            answer.CopyTo(client.GetFreeMemory().Span);
            client.Advance(answer.Length);
            ClientStep step = client.Step();
            pdu = Associations.Output(client);
            if (step == ClientStep.Bound)
            {
                Associations.Feed(server, pdu);
                return;
            }

            Require(step == ClientStep.Send, "the handshake goes on");
        }
    }
}

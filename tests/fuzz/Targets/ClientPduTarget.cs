using System.Buffers;
using ProtoRpc.Fuzz.Engine;
using ProtoRpc.Fuzz.Inputs;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Dce;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>What a client on a native endpoint gets: PDUs, before and after the answer to its bind.</summary>
internal sealed class ClientPduTarget : FuzzTarget
{
    private readonly byte[] _ack;
    private readonly byte[] _reply;
    private readonly PooledMessageBytes _request = new(
        100, "request", ClientAssociation.RequestPrefix, ClientAssociation.RequestSuffix);

    public ClientPduTarget()
    {
        using ServerAssociation server = Associations.Server();
        _ack = Associations.Feed(server, Associations.Bind());
        _reply = Associations.Feed(server, Associations.Request(new byte[5000], PduFlags.Single));
        _request.Write("request"u8);
    }

    public override string Name => "pdu-client";

    public override string Promise => "each answer is a reply, a fault or an error of the call";

    public override int? BytesPerByte => 64;

    public override int FixedBytes => 256 * 1024;

    public override int MaxLength => 16 * 1024;

    public override IEnumerable<byte[]> Seeds() =>
    [
        [0, .. _ack, .. _reply], [1, .. _reply], [1, .. _reply, .. _reply],
        .. Vectors.All.Values.SelectMany(vector => new byte[][] { [0, .. vector], [1, .. vector] }),
    ];

    public override IEnumerable<GrowingInput> Growing()
    {
        yield return new("replies", n => [1, .. Enumerable.Repeat(_reply, n).SelectMany(b => b)], 32);
    }

    public override bool Run(byte[] input, Meter meter)
    {
        Tail tail = new(input);
        byte[] bytes = tail.Byte() % 2 == 0 ? tail.Rest.ToArray() : [.. _ack, .. tail.Rest];
        using ClientAssociation client = Associations.Client();
        client.Bind(0);
        int answers = 0;
        bool isWhole = Accepts(
            () => answers = meter.Measure(() => Associations.Feed(client, _request, bytes)));
        return isWhole && answers > 0;
    }

    public override void Dispose() => _request.Dispose();
}

using System.Buffers;
using ProtoRpc.Fuzz.Engine;
using ProtoRpc.Fuzz.Inputs;
using ProtoRpc.Protocols.Http;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>Streams of messages over HTTP: delimited ones and lines of JSON. The first byte
/// chooses.</summary>
internal sealed class HttpStreamTarget : FuzzTarget
{
    private const int MaxBytes = 1 << 16;

    public override string Name => "http-stream";

    public override string Promise => "messages do not depend on how they arrive";

    public override int? BytesPerByte => 256;

    public override IEnumerable<byte[]> Seeds() =>
    [
        [0, .. "{\"a\":1}\n\n{\"@error\":{}}\r\n{}"u8], [1, 3, 8, 1, 2, 0, 0x80, 1, .. new byte[128]],
        [2, .. "data: {}\n\n:\r\n\r\nevent: error\r\ndata:{}\r\n\r\n"u8],
        [1, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 2, 8, 1], [1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80],
    ];

    public override IEnumerable<GrowingInput> Growing()
    {
        yield return new("lines", n => [0, .. Enumerable.Repeat("{}\n"u8.ToArray(), n).SelectMany(b => b)],
            16_384);
        yield return new("empty lines", n => [0, .. Enumerable.Repeat((byte)'\n', n)], 65_536);
        yield return new("events", n =>
            [2, .. Enumerable.Repeat("data:{}\n\n"u8.ToArray(), n).SelectMany(b => b)], 8_192);
        yield return new("messages", n =>
            [1, .. Enumerable.Repeat<byte[]>([1, 8], n).SelectMany(b => b)], 16_384);
    }

    public override bool Run(byte[] input, Meter meter)
    {
        Tail tail = new(input);
        HttpStreamFormat format = HttpStreamFormat.All[tail.Next(3)];
        byte[] bytes = tail.Rest.ToArray();
        (List<string> whole, string end) = meter.Measure(
            () => Split(format, new ReadOnlySequence<byte>(bytes)));
        if (bytes.Length < 4096)
        {
            (List<string> pieces, string piecesEnd) = Split(format, Segments.Of(bytes, 2));
            Require(end == piecesEnd && whole.SequenceEqual(pieces),
                "the same messages in one piece and in many");
        }

        return whole.Count > 0;
    }

    private static (List<string> Items, string End) Split(
        HttpStreamFormat format, ReadOnlySequence<byte> buffer)
    {
        List<string> items = [];
        try
        {
            long before = buffer.Length;
            while (format.TryRead(
                ref buffer, isEnd: true, MaxBytes, out ReadOnlySequence<byte> item, out bool isError))
            {
                items.Add($"{item.Length} {isError}");
                Require(buffer.Length < before, "each message takes bytes");
                before = buffer.Length;
            }

            return (items, $"{buffer.Length} are left");
        }
        catch (RpcException e) when (e.Code is RpcStatusCode.ResourceExhausted or RpcStatusCode.Internal)
        {
            return (items, e.Message);
        }
    }
}

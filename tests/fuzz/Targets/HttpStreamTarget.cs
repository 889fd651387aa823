using System.Buffers;
using ProtoRpc.Fuzz.Engine;
using ProtoRpc.Fuzz.Inputs;
using ProtoRpc.Protocols.Http;
using ProtoRpc.Protocols.Rest;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>Streams of messages over HTTP: delimited ones, lines of JSON, events, and those of servers of
/// REST. The first byte chooses.</summary>
internal sealed class HttpStreamTarget : FuzzTarget
{
    private const int MaxBytes = 1 << 16;
    private const int MaxArriving = 256;

    public override string Name => "http-stream";

    public override string Promise => "messages do not depend on where their bytes are split";

    public override int? BytesPerByte => 256;

    public override IEnumerable<byte[]> Seeds() =>
    [
        [0, .. "{\"a\":1}\n\n{\"@error\":{}}\r\n{}"u8], [1, 3, 8, 1, 2, 0, 0x80, 1, .. new byte[128]],
        [2, .. "data: {}\n\n:\r\n\r\nevent: error\r\ndata:{}\r\n\r\n"u8],
        [3, .. "[{\"result\":{\"a\":\"\\\"]\"}}\n,{\"error\":{\"code\":5,\"message\":\"x\"}} ]"u8],
        [7, .. "{\"@error\":{}} [1] {\"code\":5,\"message\":\"x\"}\n true \"\""u8], [11, .. "[ [],[1]]"u8],
        [1, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 2, 8, 1], [1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80],
    ];

    public override IEnumerable<GrowingInput> Growing()
    {
        yield return new("lines", n => [0, .. GrowingInput.Repeat("{}\n"u8, n)],
            16_384);
        yield return new("empty lines", n => [0, .. Enumerable.Repeat((byte)'\n', n)], 65_536);
        yield return new("events", n =>
            [2, .. GrowingInput.Repeat("data:{}\n\n"u8, n)], 8_192);
        yield return new("elements", n =>
            [3, (byte)'[', .. GrowingInput.Repeat("{\"result\":{}},"u8, n)], 4096);
        yield return new("brackets", n => [3, .. Enumerable.Repeat((byte)'[', n)], 65_536);
        yield return new("envelopes", n =>
            [3, .. GrowingInput.Repeat("{\"result\":"u8, n)], 4096);
        yield return new("messages", n =>
            [1, .. GrowingInput.Repeat([1, 8], n)], 16_384);
    }

    public override bool Run(byte[] input, Meter meter)
    {
        Tail tail = new(input);
        int choice = tail.Next(12);
        byte[] bytes = tail.Rest.ToArray();
        (List<string> whole, string end) = meter.Measure(
            () => Split(Format(choice), new ReadOnlySequence<byte>(bytes)));
        if (bytes.Length < 4096)
        {
            (List<string> pieces, string piecesEnd) = Split(Format(choice), Segments.Of(bytes, 2));
            Require(end == piecesEnd && whole.SequenceEqual(pieces),
                "the same messages in one piece and in many");
        }

        if (bytes.Length < MaxArriving)
        {
            (List<string> arriving, string arrivingEnd) = Arrive(Format(choice), bytes);
            Require(end == arrivingEnd && whole.SequenceEqual(arriving),
                "the same messages at once and byte by byte");
        }

        return whole.Count > 0;
    }

    private static HttpStreamFormat Format(int choice) => choice % 4 < 3
        ? HttpStreamFormat.All[choice % 4]
        : new RestStreamFormat(
            MessageFormats.Json, new RestReplyNames(choice > 8, choice < 8, choice < 8, choice < 8),
            isLines: false, isGateway: choice == 7);

    private static (List<string> Items, string End) Arrive(HttpStreamFormat format, byte[] bytes)
    {
        List<string> items = [];
        int taken = 0;
        try
        {
            for (int come = 1; come <= bytes.Length; come++)
            {
                ReadOnlySequence<byte> buffer = new(bytes.AsMemory(taken, come - taken));
                while (format.TryRead(
                    ref buffer, come == bytes.Length, MaxBytes, out ReadOnlySequence<byte> item,
                    out bool isError))
                {
                    items.Add($"{item.Length} {isError}");
                }

                taken = come - (int)buffer.Length;
            }

            return (items, $"{bytes.Length - taken} are left");
        }
        catch (RpcException e) when (e.Code is RpcStatusCode.ResourceExhausted or RpcStatusCode.Internal)
        {
            return (items, e.Message);
        }
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

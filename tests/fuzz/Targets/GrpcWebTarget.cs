using System.Text;
using ProtoRpc.Client.Grpc;
using ProtoRpc.Fuzz.Engine;
using ProtoRpc.Fuzz.Inputs;
using ProtoRpc.Protocols.Grpc;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>Replies of gRPC-Web: bodies of base64 that arrive in pieces, the same as it is written, trailers,
/// and frames. The first byte chooses.</summary>
internal sealed class GrpcWebTarget : FrameTarget
{
    public override string Name => "grpc-web";

    public override string Promise =>
        "base64 and frames do not depend on where their bytes are split; base64 is read as it was written";

    public override IMutator Mutator { get; } = new FrameMutator(static _ => 1);

    public override int? BytesPerByte => 256;

    public override IEnumerable<byte[]> Seeds()
    {
        byte[] trailers = "grpc-status: 5\r\ngrpc-message: caf%C3%A9\r\nx-bin: AAE\r\n"u8.ToArray();
        byte[] frames = [.. FrameMutator.Write(0, "a body"u8), .. FrameMutator.Write(0x80, trailers)];
        yield return [0, .. Encoding.ASCII.GetBytes(Convert.ToBase64String(frames))];
        yield return [0, .. "AAAAAAA=gAAAABBncnBjLXN0YXR1czogMA0K"u8];
        yield return [1, 4, .. frames];
        yield return [1, 7, .. frames];
        yield return [2, .. trailers];
        yield return
            [2, .. "grpc-status:0\ngrpc-status-details-bin: CAUSA2FiYw\na\n: b\nc:\nd d: e\u00e9\n"u8];
        yield return [3, .. frames];
    }

    public override IEnumerable<GrowingInput> Growing()
    {
        yield return new("base64", n => [0, .. GrowingInput.Repeat("AAAA"u8, n)], 65_536);
        yield return new("padded base64", n => [0, .. GrowingInput.Repeat("AA=="u8, n)], 65_536);
        yield return new("trailers", n => [2, .. GrowingInput.Repeat("a:\n"u8, n)], 4096);
        yield return new("other trailers", n => [2, .. Encoding.ASCII.GetBytes(
            string.Concat(Enumerable.Range(0, n).Select(i => $"a{i}: b\r\n")))], 4096);
        yield return new("lines", n => [2, .. GrowingInput.Repeat("\n"u8, n)], 65_536);
        yield return new("frames", n => [3, .. GrowingInput.Repeat(FrameMutator.Write(0, [1]), n)], 4096);
    }

    public override bool Run(byte[] input, Meter meter)
    {
        Tail tail = new(input);
        switch (tail.Next(4))
        {
            case 0:
                return Arriving(tail.Rest.ToArray(), meter);
            case 1:
                int length = 1 + tail.Byte();
                byte[] bytes = tail.Rest.ToArray();
                string written = string.Concat(bytes.Chunk(length).Select(Convert.ToBase64String));
                Require(
                    Decode(Encoding.ASCII.GetBytes(written), length) is { } read && read.SequenceEqual(bytes),
                    "pieces of base64 are read as they are written");
                return bytes.Length > 0;
            case 2:
                return Trailers(tail.Rest.ToArray(), meter);
            default:
                return Frames(
                    tail.Rest.ToArray(), FrameRules.GrpcWebReplies, meter,
                    frame => $"{frame.Flags} {frame.Body.Length}",
                    RpcStatusCode.Internal, RpcStatusCode.ResourceExhausted);
        }
    }

    private static bool Arriving(byte[] text, Meter meter)
    {
        byte[]? whole = meter.Measure(() => Decode(text, int.MaxValue));
        foreach (int size in new[] { 1, 3, 4095 })
        {
            byte[]? pieces = Decode(text, size);
            Require(
                whole is null ? pieces is null : pieces is not null && whole.SequenceEqual(pieces),
                $"the same bytes at once and in pieces of {size}");
        }

        return whole is { Length: > 0 };
    }

    private static bool Trailers(byte[] body, Meter meter)
    {
        using HttpResponseMessage holder = new();
        RpcMetadata trailers = new();
        bool isRead = Accepts(() => trailers = meter.Measure(() =>
        {
            GrpcWebFraming.ReadTrailers(body, holder.TrailingHeaders);
            return GrpcHeaders.Read(holder.TrailingHeaders);
        }));
        RpcException? failure = GrpcStatus.Read(holder.TrailingHeaders, trailers, false);
        Require(failure is null || failure.Message.Length > 0, "a failure says why");
        return isRead && (failure is null || trailers.Count > 0);
    }

    // Null for what is not base64.
    private static byte[]? Decode(byte[] text, int size)
    {
        using GrpcWebTextStream stream = new(new PiecesStream(text, size));
        using MemoryStream bytes = new();
        byte[] buffer = new byte[4096];
        try
        {
            int count;
            while ((count = stream.ReadAsync(buffer).AsTask().GetAwaiter().GetResult()) > 0)
            {
                bytes.Write(buffer, 0, count);
            }

            return bytes.ToArray();
        }
        catch (RpcException e) when (e.Code == RpcStatusCode.Internal)
        {
            return null;
        }
    }

    // Gives no more bytes at once than a piece has.
    private sealed class PiecesStream(byte[] bytes, int size) : MemoryStream(bytes)
    {
        public override ValueTask<int> ReadAsync(
            Memory<byte> buffer, CancellationToken cancellationToken = default) =>
            base.ReadAsync(buffer[..Math.Min(buffer.Length, size)], cancellationToken);
    }
}

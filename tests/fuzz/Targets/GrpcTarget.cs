using System.Buffers;
using System.Text;
using Google.Protobuf.WellKnownTypes;
using ProtoRpc.Fuzz.Engine;
using ProtoRpc.Fuzz.Inputs;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Grpc;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>gRPC's frames, compressed messages, timeouts, texts and binary headers. The first byte
/// chooses.</summary>
internal sealed class GrpcTarget : FrameTarget
{
    public override string Name => "grpc";

    public override string Promise =>
        "frames do not depend on where their bytes are split; headers are read as they were written";

    // Of gzip: a few bytes may become a thousand times as many.
    public override int? BytesPerByte => 4096;

    public override int FixedBytes => 256 * 1024;

    public override IEnumerable<byte[]> Seeds()
    {
        byte[] body = "a body that is longer than its prefix"u8.ToArray();
        byte[] gzip = ContentEncoding.Gzip.Encode(body);
        yield return
        [
            0, .. FrameMutator.Write(0, body), .. FrameMutator.Write(0, []), .. FrameMutator.Write(1, gzip),
        ];
        yield return [0, .. FrameMutator.Write(1, ContentEncoding.Gzip.Encode(new byte[100_000]))];
        yield return [1, .. gzip];
        yield return [2, .. "100m"u8];
        yield return [2, .. "99999999H"u8];
        yield return [3, .. "caf%C3%A9 100%25 %"u8];
        yield return [4, .. Encoding.ASCII.GetBytes(GrpcBinaryHeader.Encode(body)), .. ",AAA="u8];
        yield return [5, .. Encoding.ASCII.GetBytes(GrpcStatusDetails.Write(
            RpcStatusCode.Internal, "text",
            [new Any { TypeUrl = "type.googleapis.com/google.rpc.ErrorInfo" }])!)];
    }

    public override IEnumerable<GrowingInput> Growing()
    {
        yield return new("frames", n => [0, .. GrowingInput.Repeat(FrameMutator.Write(0, [1]), n)]);
        yield return new("escapes", n => [3, .. GrowingInput.Repeat("%C3"u8, n)], 65_536);
        yield return new("binary headers", n => [4, .. GrowingInput.Repeat("AA,"u8, n)], 16_384);
    }

    public override bool Run(byte[] input, Meter meter)
    {
        Tail tail = new(input);
        int choice = tail.Next(6);
        byte[] bytes = tail.Rest.ToArray();
        string text = Encoding.Latin1.GetString(bytes);
        switch (choice)
        {
            case 0:
                return Frames(
                    bytes, FrameRules.Grpc, meter, Text,
                    RpcStatusCode.Internal, RpcStatusCode.ResourceExhausted);
            case 1:
                return Accepts(
                    () => meter.Measure(() => Decompress(new(bytes))),
                    RpcStatusCode.Internal, RpcStatusCode.ResourceExhausted);
            case 2:
                TimeSpan? timeout = GrpcTimeout.Parse(text);
                Require(
                    timeout is not { } t || t < TimeSpan.FromTicks(TimeSpan.TicksPerMicrosecond)
                        || GrpcTimeout.Parse(GrpcTimeout.Format(t)) >= t
                            || t > TimeSpan.FromHours(99_999_999),
                    "a timeout does not become shorter");
                return timeout is not null;
            case 3:
                string decoded = meter.Measure(() => GrpcMessageText.Decode(text));
                Require(
                    GrpcMessageText.Decode(GrpcMessageText.Encode(decoded)) == decoded,
                        "a text is read as written");
                Require(GrpcMessageText.Encode(decoded, 100).Length <= 103, "a text is cut off");
                return true;
            case 4:
                IReadOnlyList<byte[]>? values = meter.Measure(() => GrpcBinaryHeader.Decode(text));
                Require(
                    values is null || values.All(value =>
                        GrpcBinaryHeader.Decode(GrpcBinaryHeader.Encode(value))![0].AsSpan().SequenceEqual(
                            value)),
                    "a binary header is read as written");
                return values is not null;
            default:
                return meter.Measure(() => GrpcStatusDetails.Read(text)).Count > 0;
        }
    }

    private static string Text(GrpcFrame frame) => frame.IsCompressed
        ? $"{frame.Body.Length} {Decompress(frame.Body).Length}"
        : $"{frame.Body.Length}";

    private static ReadOnlyMemory<byte> Decompress(ReadOnlySequence<byte> body) =>
        GrpcEncoding.Decompress(body, ContentEncoding.Gzip.Name, MaxBytes);
}

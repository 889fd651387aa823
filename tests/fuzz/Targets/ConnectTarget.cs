using System.Buffers;
using System.Net;
using System.Text;
using ProtoRpc.Client.Http;
using ProtoRpc.Fuzz.Engine;
using ProtoRpc.Fuzz.Inputs;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Protocols.Http;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>Connect's frames of replies and of requests, ends of streams, and errors of calls without
/// streams. The first byte chooses.</summary>
internal sealed class ConnectTarget : FrameTarget
{
    private const string Method = "a.B/C";

    public override string Name => "connect";

    public override string Promise =>
        "frames do not depend on where their bytes are split; an end is read as it was written";

    public override IMutator Mutator { get; } = new FrameMutator(static _ => 1);

    // Of gzip: a few bytes may become a thousand times as many.
    public override int? BytesPerByte => 4096;

    public override int FixedBytes => 256 * 1024;

    public override IEnumerable<byte[]> Seeds()
    {
        byte[] body = "a body that is longer than its prefix"u8.ToArray();
        byte[] gzip = ContentEncoding.Gzip.Encode(body).ToArray();
        byte[] end = [.. """
            {"error":{"code":"not_found","message":"x","details":[{"type":"a.B","value":"CgFh","debug":{}}]},
            "metadata":{"x-text":["one","two"],"x-bytes-bin":["AAH/","AAE"]}}
            """u8];
        yield return
        [
            0, .. FrameMutator.Write(0, body), .. FrameMutator.Write(1, gzip), .. FrameMutator.Write(2, end),
        ];
        yield return [0, .. FrameMutator.Write(3, ContentEncoding.Gzip.Encode(end))];
        yield return [1, .. FrameMutator.Write(0, body), .. FrameMutator.Write(1, gzip)];
        yield return [2, .. end];
        yield return [2, .. """{"error":null,"metadata":null}"""u8];
        yield return
            [3, .. """{"code":"aborted","message":"x","details":[{"type":"a.B","value":"AAE"}]}"""u8];
    }

    public override IEnumerable<GrowingInput> Growing()
    {
        yield return new("frames", n => [0, .. GrowingInput.Repeat(FrameMutator.Write(0, [1]), n)]);
        yield return new("details", n =>
            [2, .. """{"error":{"code":"aborted","details":["""u8,
                .. GrowingInput.Repeat("""{"type":"a","value":""},"""u8, n), .. "0]}}"u8], 4096);
        yield return new("values of a trailer", n =>
            [2, .. """{"metadata":{"a":["""u8, .. GrowingInput.Repeat("\"b\","u8, n), .. "\"\"]}}"u8],
            16_384);
        yield return new("trailers", n =>
            [2, .. "{\"metadata\":{"u8, .. Encoding.UTF8.GetBytes(string.Join(
                ',', Enumerable.Range(0, n).Select(i => $"\"a{i}\":[\"\"]"))), .. "}}"u8], 4096);
        yield return new("brackets", n =>
            [2, .. "{\"metadata\":"u8, .. GrowingInput.Repeat("["u8, n)], 65_536);
        yield return new("an error in pieces", n =>
            [3, .. "{\"code\":\""u8, .. GrowingInput.Repeat("\\u0061"u8, n), .. "\"}"u8], 16_384);
    }

    public override bool Run(byte[] input, Meter meter)
    {
        Tail tail = new(input);
        int choice = tail.Next(4);
        byte[] bytes = tail.Rest.ToArray();
        switch (choice)
        {
            case 0:
                return Frames(bytes, ConnectFraming.Replies, meter);
            case 1:
                return Frames(bytes, ConnectFraming.Requests, meter);
            case 2:
                return End(bytes, meter);
            default:
                int status = bytes.Length > 0 ? 400 + bytes[0] : 200;
                using (HttpResponseMessage response = new((HttpStatusCode)status))
                {
                    RpcException error = meter.Measure(() => HttpErrorReader.Read(
                        Method, response, "application/json", bytes, rest: null, ConnectError.OfHttpStatus));
                    Require(error.Message.Length > 0, "an error says why");
                    Require(error.Code != RpcStatusCode.OK, "an error is no success");
                    return error.Details.Count > 0 || error.Code != ConnectError.OfHttpStatus(status);
                }
        }
    }

    private static bool End(byte[] bytes, Meter meter)
    {
        ConnectEnd? end = null;
        if (!Accepts(() => end = meter.Measure(() => ConnectEnd.Read(bytes)), RpcStatusCode.Internal))
        {
            return false;
        }

        ArrayBufferWriter<byte> output = new();
        ConnectEnd.Write(output, error: null, end!.Trailers);
        ConnectEnd again = ConnectEnd.Read(output.WrittenMemory);
        Require(Text(again.Trailers) == Text(end.Trailers), "trailers are read as they are written");
        if (end.Error is not null)
        {
            RpcException error = meter.Measure(() => HttpErrorReader.ReadEnd(Method, end, retryAfter: null));
            Require(error.Message.Length > 0, "an error says why");
            Require(error.Code != RpcStatusCode.OK, "an error is no success");
        }

        return true;
    }

    private static string Text(RpcMetadata trailers) => string.Join('\n', trailers
        .Select(entry => $"{entry.Key}: {entry.Value as string ?? Convert.ToHexString((byte[])entry.Value)}")
        .Order());

    private static bool Frames(byte[] bytes, FrameRules rules, Meter meter) => Frames(
        bytes, rules, meter, frame => Text(frame, rules),
        RpcStatusCode.Internal, RpcStatusCode.ResourceExhausted, RpcStatusCode.InvalidArgument);

    private static string Text(in GrpcFrame frame, FrameRules rules)
    {
        ReadOnlyMemory<byte> body = frame.IsCompressed
            ? GrpcEncoding.Decompress(frame.Body, ContentEncoding.Gzip.Name, MaxBytes, rules)
            : frame.Body.ToArray();
        return $"{frame.Flags} {body.Length}"
            + ((frame.Flags & ConnectFraming.EndStream) != 0 ? $" {ConnectEnd.Read(body).Error}" : "");
    }
}

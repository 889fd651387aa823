using System.Buffers;
using System.Globalization;
using System.Text;
using ProtoRpc.Fuzz.Engine;
using ProtoRpc.Fuzz.Inputs;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Protocols.Http;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>A listener whose callers stream anything over Connect. The first byte chooses the method, the
/// format, the compression, and whether the request has a length; the rest is its body.</summary>
internal sealed class ConnectListenerTarget : FuzzTarget
{
    private const int MaxBytes = 1 << 20;
    private const byte Json = 3;
    private const byte Gzip = 6;
    private const byte Chunked = 12;

    private static readonly string[] Methods = ["Split", "Join", "Chat"];

    // What a caller's own mistakes are.
    private static readonly HashSet<RpcStatusCode> Codes =
        [RpcStatusCode.InvalidArgument, RpcStatusCode.ResourceExhausted, RpcStatusCode.Unimplemented];

    private readonly Lazy<FuzzedListener> _server = new(static () => new FuzzedListener());

    public override string Name => "connect-listener";

    public override string Promise =>
        "whole frames, the last of which is an end without an internal error; other clients receive their "
        + "own replies, and memory does not grow";

    public override bool IsGuided => false;

    public override int MaxLength => 16 * 1024;

    public override IMutator Mutator { get; } = new FrameMutator(static _ => 1);

    public override IEnumerable<byte[]> Seeds()
    {
        byte[] item = FuzzedListener.Request("a");
        byte[] json = [.. """{"name":"a","tags":["x"],"weights":{"k":"1"},"inner":{"blob":"AAEC"}}"""u8];
        for (byte choice = 0; choice < 2 * Chunked; choice++)
        {
            byte[] message = choice / Json % 2 == 0 ? item : json;
            byte[] frame = FrameMutator.Write(0, message);
            yield return [choice, .. frame];
            yield return [choice, .. frame, .. frame];
            yield return [choice, .. FrameMutator.Write(1, ContentEncoding.Gzip.Encode(message)), .. frame];
        }
    }

    public override bool Run(byte[] input, Meter meter)
    {
        Tail tail = new(input);
        int choice = tail.Byte();
        byte[] request = Request(choice, tail.Rest.ToArray());
        byte[] answer = BareConnection.Exchange(
            _server.Value.HttpPort, request, static _ => false, BareConnection.Patience);
        string text = Encoding.Latin1.GetString(answer);
        Require(
            !text.Contains(FuzzedListener.Secret, StringComparison.Ordinal),
            $"no bytes of another client are sent: {text}");
        Require(text.StartsWith("HTTP/1.1 200 ", StringComparison.Ordinal), $"a stream is answered: {text}");
        _server.Value.Check();
        return EndOf(BodyOf(answer), text).Error is null;
    }

    public override void Dispose()
    {
        if (_server.IsValueCreated)
        {
            _server.Value.Dispose();
        }
    }

    private static byte[] Request(int choice, byte[] body)
    {
        string format = choice / Json % 2 == 0 ? "proto" : "json";
        bool isChunked = choice / Chunked % 2 != 0;
        StringBuilder head = new();
        head.Append(CultureInfo.InvariantCulture, $"POST /fuzzed.Shop/{Methods[choice % Json]} HTTP/1.1\r\n");
        head.Append("Host: 127.0.0.1\r\nConnection: close\r\n");
        head.Append(CultureInfo.InvariantCulture, $"Content-Type: application/connect+{format}\r\n");
        head.Append(choice / Gzip % 2 == 0 ? "" : "Connect-Content-Encoding: gzip\r\n");
        head.Append(isChunked
            ? "Transfer-Encoding: chunked\r\n\r\n"
            : string.Create(CultureInfo.InvariantCulture, $"Content-Length: {body.Length}\r\n\r\n"));
        return [.. Encoding.ASCII.GetBytes(head.ToString()), .. isChunked ? Chunks(body) : body];
    }

    private static byte[] Chunks(byte[] body)
    {
        List<byte> bytes = [];
        foreach (byte[] chunk in body.Chunk(7))
        {
            bytes.AddRange(Encoding.ASCII.GetBytes($"{chunk.Length:x}\r\n"));
            bytes.AddRange(chunk);
            bytes.AddRange("\r\n"u8);
        }

        return [.. bytes, .. "0\r\n\r\n"u8];
    }

    // A reply without a length is in chunks.
    private static byte[] BodyOf(ReadOnlySpan<byte> answer)
    {
        int start = answer.IndexOf("\r\n\r\n"u8) + 4;
        string head = Encoding.ASCII.GetString(answer[..start]);
        Require(
            head.Contains("Content-Type: application/connect+", StringComparison.Ordinal),
            $"a stream is one of Connect: {head}");
        if (!head.Contains("Transfer-Encoding: chunked", StringComparison.Ordinal))
        {
            return answer[start..].ToArray();
        }

        List<byte> body = [];
        while (true)
        {
            int line = answer[start..].IndexOf("\r\n"u8);
            Require(line > 0, "a chunk has a length");
            int length = int.Parse(
                Encoding.ASCII.GetString(answer.Slice(start, line)), NumberStyles.HexNumber,
                CultureInfo.InvariantCulture);
            if (length == 0)
            {
                return [.. body];
            }

            body.AddRange(answer.Slice(start + line + 2, length));
            start += line + 2 + length + 2;
        }
    }

    private static ConnectEnd EndOf(byte[] body, string answer)
    {
        ReadOnlySequence<byte> buffer = new(body);
        while (GrpcFraming.TryRead(ref buffer, MaxBytes, out GrpcFrame frame, ConnectFraming.Replies))
        {
            if ((frame.Flags & ConnectFraming.EndStream) == 0)
            {
                continue;
            }

            Require(buffer.IsEmpty, $"nothing follows the end: {answer}");
            ConnectEnd end = ConnectEnd.Read(frame.Body.ToArray());
            Require(
                end.Error is null
                    || (ConnectCodes.CodeOf(end.Error.Code) is { } code && Codes.Contains(code)),
                $"an error is the caller's: {answer}");
            return end;
        }

        throw new InvariantException($"a stream has an end: {answer}");
    }
}

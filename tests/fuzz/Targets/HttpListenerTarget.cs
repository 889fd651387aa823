using System.Globalization;
using System.IO.Compression;
using System.Text;
using System.Text.RegularExpressions;
using ProtoRpc.Fuzz.Engine;
using ProtoRpc.Fuzz.Inputs;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>The HTTP side of a listener. An input is what a client sends over one connection.</summary>
internal sealed partial class HttpListenerTarget : FuzzTarget
{
    // Those of docs/http-protocol.md that a client can cause whose handlers never fail.
    private static readonly HashSet<int> Statuses =
    [
        200, 204, 400, 401, 403, 404, 405, 406, 408, 411, 413, 414, 415, 426, 429, 431, 499, 501, 503, 504,
        505,
    ];

    private readonly Lazy<FuzzedListener> _server = new(() => new FuzzedListener());

    public override string Name => "http-listener";

    public override string Promise =>
        "documented statuses, never 500; the connection ends; other clients receive their own replies, "
        + "and memory does not grow";

    public override bool IsGuided => false;

    public override int MaxLength => 16 * 1024;

    public override IMutator Mutator { get; } = new HttpRequestMutator();

    public override IEnumerable<byte[]> Seeds()
    {
        byte[] binary = FuzzedListener.Request("a");
        const string json =
            """{"name":"a","tags":["x"],"weights":{"k":"1"},"inner":{"blob":"AAEC"},"number":1}""";
        yield return Post("Echo", "application/json", Bytes(json));
        yield return Post("Echo", "application/json", Bytes(json), "Accept: text/xml, */*;q=0.1");
        yield return Post("Echo", "application/x-protobuf", binary, "Accept: application/json");
        yield return Post(
            "Echo", "text/xml; charset=utf-8", Bytes("<root><name>a</name><tags>x</tags></root>"));
        yield return Post(
            "Echo", "application/x-www-form-urlencoded", Bytes("name=a&count=3&tags=x&tags=%41+b"));
        yield return Post("Echo", "application/json", Bytes(json), "Connect-Protocol-Version: 1");
        yield return Post("Echo", "application/json", Bytes("{"), "Connect-Protocol-Version: 1");
        yield return Post("Echo", "application/json", Gzip(Bytes(json)), "Content-Encoding: gzip");
        yield return Post("Echo", "application/json", Bytes(json), "Accept-Encoding: gzip, br;q=0.5");
        yield return Post("Echo", "application/json", Bytes(json), "Origin: http://evil.example");
        yield return Post("Echo", "application/json", Bytes(json), "Expect: 100-continue");
        yield return Post("Split", "application/json", Bytes(json), "Accept: application/x-ndjson");
        yield return Post("Split", "application/x-protobuf", binary, "Rpc-Accept-Trailers: 1");
        yield return Post("Join", "application/json", Bytes(json));
        yield return Post("Unhandled", "application/json", Bytes(json));
        yield return Post("Echo", "application/grpc-web+proto", [0, 0, 0, 0, (byte)binary.Length, .. binary]);
        yield return Post(
            "Echo", "application/grpc-web-text",
            Bytes(Convert.ToBase64String([0, 0, 0, 0, (byte)binary.Length, .. binary])), "X-Grpc-Web: 1");
        yield return Get("/fuzzed.Shop/Echo?name=a&count=1&tags=x&tags=y");
        yield return Get("/fuzzed.proto/Echo?name=%C3%A9");
        yield return Get("/fuzzed.proto");
        yield return Get("/");
        yield return Get(
            "/fuzzed.Shop/Echo?connect=v1&encoding=json&message=%7B%22name%22%3A%22a%22%7D");
        yield return Get(
            "/fuzzed.Shop/Echo?connect=v1&encoding=proto&base64=1&compression=identity&message=CgFh");
        yield return Bytes(
            "OPTIONS /fuzzed.Shop/Echo HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n"
            + "Access-Control-Request-Method: POST\r\nConnection: close\r\n\r\n");
        yield return Bytes(
            "POST /fuzzed.Shop/Echo HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            + "Transfer-Encoding: chunked\r\n\r\n"
            + "4\r\n{\"na\r\n7;x=y\r\nme\":\"a\"\r\n1\r\n}\r\n0\r\nTrailer: x\r\n"
            + "\r\nGET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
    }

    public override bool Run(byte[] input, Meter meter)
    {
        string answer = Encoding.Latin1.GetString(
            BareConnection.Exchange(_server.Value.HttpPort, input, static _ => false));
        Require(
            !answer.Contains(FuzzedListener.Secret, StringComparison.Ordinal),
            $"no bytes of another client are sent: {answer}");
        Require(
            answer.Length == 0 || answer.StartsWith("HTTP/1.1 ", StringComparison.Ordinal),
            $"an answer is one of HTTP/1.1: {answer}");
        bool isAccepted = false;
        foreach (Match match in StatusLine().Matches(answer))
        {
            int status = int.Parse(match.Groups[1].Value, CultureInfo.InvariantCulture);
            // 100 says that the body may come.
            Require(
                status == 100 || Statuses.Contains(status), $"the status {status} is documented: {answer}");
            isAccepted |= status == 200;
        }

        _server.Value.Check();
        return isAccepted;
    }

    public override void Dispose()
    {
        if (_server.IsValueCreated)
        {
            _server.Value.Dispose();
        }
    }

    private static byte[] Post(string method, string type, byte[] body, params string[] headers) =>
    [
        .. Bytes(
            $"POST /fuzzed.Shop/{method} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
            + $"Content-Type: {type}\r\nContent-Length: {body.Length}\r\n"
            + string.Concat(headers.Select(header => $"{header}\r\n")) + "\r\n"),
        .. body,
    ];

    private static byte[] Get(string target) =>
        Bytes($"GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAccept: */*\r\n\r\n");

    private static byte[] Gzip(byte[] bytes)
    {
        using MemoryStream packed = new();
        using (GZipStream gzip = new(packed, CompressionLevel.Fastest))
        {
            gzip.Write(bytes);
        }

        return packed.ToArray();
    }

    private static byte[] Bytes(string text) => Encoding.Latin1.GetBytes(text);

    [GeneratedRegex("HTTP/1\\.1 ([0-9]{3}) [A-Za-z -]*\r\n")]
    private static partial Regex StatusLine();
}

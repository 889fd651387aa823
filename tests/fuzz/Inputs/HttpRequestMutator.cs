using System.Globalization;
using System.IO.Compression;
using System.Text;

namespace ProtoRpc.Fuzz.Inputs;

/// <summary>Changes requests of HTTP/1.1: their lines, targets, headers and bodies. Mostly the length is
/// written anew, so that the change is read and not the next request.</summary>
internal sealed class HttpRequestMutator : IMutator
{
    private static readonly string[] Methods =
    [
        "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "CONNECT", "PRI", "get", "A B",
        "",
        "X-LONG-METHOD-NAME",
    ];

    private static readonly string[] Targets =
    [
        "/", "*", "//", "/fuzzed.Shop/Echo", "/FUZZED.SHOP/ECHO", "/fuzzed.Shop/Split", "/fuzzed.Shop/Join",
        "/fuzzed.Shop/Unhandled", "/fuzzed.Shop/", "/fuzzed.Shop", "/fuzzed.proto", "/fuzzed.proto/Echo",
        "/google/protobuf/any.proto", "/../fuzzed.proto", "/%2e%2e/fuzzed.proto", "/fuzzed%2EShop/Echo",
        "/fuzzed.Shop/Echo?", "/fuzzed.Shop/Echo?name", "/fuzzed.Shop/Echo?name=%ZZ",
        "/fuzzed.Shop/Echo?nope=1",
        "/fuzzed.Shop/Echo?name=a&name=b", "/fuzzed.Shop/Echo?count=99999999999", "/fuzzed.Shop/Echo#x",
        "/fuzzed.Shop/Echo?inner=x", "/fuzzed.Shop/Echo?connect=v1&encoding=json&message=",
        "/fuzzed.Shop/Echo?connect=v2&encoding=proto&message=%00",
        "/fuzzed.Shop/Echo?connect=v1&encoding=json&base64=1&message=****",
        "/fuzzed.Shop/Echo?connect=v1&encoding=proto&base64=1&compression=gzip&message=H4sI",
        "http://127.0.0.1/fuzzed.Shop/Echo?name=a", "http://evil.example/", "/fuzzed.Shop/Echo/more", "/\0",
        "/\u00e9",
        "/grpc.health.v1.Health/Check", "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        "/ProtoRpc.Ping/Ping", "/favicon.ico", "/robots.txt",
    ];

    private static readonly string[] Headers =
    [
        "Host: localhost", "Host: evil.example", "Host: ", "Host: 127.0.0.1:99999", "Host: [::1]",
        "Host: a b",
        "Content-Type: application/json", "Content-Type: application/json; charset=utf-16",
        "Content-Type: application/x-protobuf", "Content-Type: application/x-protobuf; delimited=true",
        "Content-Type: text/xml; charset=\"utf-8", "Content-Type: application/x-www-form-urlencoded",
        "Content-Type: multipart/form-data; boundary=x", "Content-Type: application/grpc",
        "Content-Type: application/grpc-web", "Content-Type: application/grpc-web-text+proto",
        "Content-Type: application/connect+json", "Content-Type: ", "Content-Type: */*",
        "Content-Type: x/y;;;=",
        "Accept: application/json", "Accept: text/xml;q=0", "Accept: */*;q=2", "Accept: ,,;;",
        "Accept: image/png",
        "Accept: application/x-www-form-urlencoded", "Accept-Encoding: gzip;q=0, *;q=0",
        "Accept-Encoding: br",
        "Content-Encoding: gzip", "Content-Encoding: br", "Content-Encoding: deflate",
        "Content-Encoding: gzip, gzip",
        "Content-Encoding: identity", "Content-Encoding: nope", "Content-Length: 0",
        "Content-Length: 99999999",
        "Content-Length: -1", "Transfer-Encoding: chunked", "Transfer-Encoding: gzip, chunked",
        "Connection: close", "Connection: keep-alive", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c",
        "HTTP2-Settings: AAMAAABkAAQAAP__", "Upgrade: websocket", "Expect: 100-continue", "Expect: nope",
        "Origin: null", "Origin: http://evil.example", "Origin: http://localhost",
        "Sec-Fetch-Site: cross-site",
        "Access-Control-Request-Method: POST", "Access-Control-Request-Headers: x,y",
        "Connect-Protocol-Version: 1", "Connect-Protocol-Version: 99", "Connect-Timeout-Ms: 10000",
        "Connect-Timeout-Ms: -1", "Connect-Timeout-Ms: 99999999999999999999", "Connect-Timeout-Ms: x",
        "Connect-Content-Encoding: gzip", "grpc-timeout: 1n", "grpc-timeout: 99999999H",
        "grpc-encoding: gzip",
        "X-Grpc-Web: 1", "TE: trailers", "Trailer: x", "Rpc-Accept-Trailers: 1", "Authorization: Basic ****",
        "Authorization: Negotiate TlRMTVNTUAABAAAA", "Authorization: Bearer ", "Cookie: a=b; c",
        "Range: bytes=0-1", "If-None-Match: *", "If-Modified-Since: x", "X-bin: ****", "x-data-bin: AAEC",
        "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "traceparent: 00--",
        "X-Forwarded-For: 1.2.3.4", "X-HTTP-Method-Override: DELETE", " folded", "NoColon", ": empty",
        "A\0: b",
    ];

    private static readonly string[] Versions =
        ["HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP/0.9", "HTTP/1.2", "HTTP/9.9", "http/1.1", "", "X"];

    private static readonly TextMutator Texts = new(
        "\r\n", "\r\n\r\n", ": ", "{", "}", "[", "]", "\"name\":", "\"inner\":{", "<root>", "</root>",
        "<name>", "&", "=",
        "%41", "0\r\n\r\n", "ffffffff\r\n", "HTTP/1.1", "{\"error\":");

    public byte[] Change(Random random, byte[] input, IReadOnlyList<byte[]> others)
    {
        int end = input.AsSpan().IndexOf("\r\n\r\n"u8);
        if (end < 0 || random.Next(6) == 0)
        {
            return Texts.Change(random, input, others);
        }

        List<string> lines = [.. Encoding.Latin1.GetString(input, 0, end).Split("\r\n")];
        byte[] body = input[(end + 4)..];
        int at = random.Next(lines.Count);
        switch (random.Next(11))
        {
            case 0 when lines.Count > 1:
                lines.RemoveAt(at);
                break;
            case 1:
                lines.Insert(at, lines[at]);
                break;
            case 2 or 3:
                lines.Insert(Math.Max(1, at), Headers[random.Next(Headers.Length)]);
                break;
            case 4 or 5:
                lines[0] = RequestLine(random, lines[0]);
                break;
            case 6:
                lines[at] = Encoding.Latin1.GetString(
                    Texts.Change(random, Encoding.Latin1.GetBytes(lines[at]), []));
                break;
            case 7:
                body = Gzip(body);
                lines.Add("Content-Encoding: gzip");
                break;
            case 8 when others.Count > 0:
                // The next request behind this one.
                return [.. input, .. others[random.Next(others.Count)]];
            case 9:
                body = Chunked(random, body);
                lines.RemoveAll(line => line.StartsWith("Content-Length",
                StringComparison.OrdinalIgnoreCase));
                lines.Add("Transfer-Encoding: chunked");
                break;
            default:
                body = Texts.Change(random, body, []);
                break;
        }

        if (random.Next(4) > 0)
        {
            SetLength(lines, body.Length);
        }

        return [.. Encoding.Latin1.GetBytes(string.Join("\r\n", lines)), .. "\r\n\r\n"u8, .. body];
    }

    private static string RequestLine(Random random, string line)
    {
        string[] parts = line.Split(' ');
        if (parts.Length != 3)
        {
            return "POST /fuzzed.Shop/Echo HTTP/1.1";
        }

        int part = random.Next(3);
        string[] choices = part switch { 0 => Methods, 1 => Targets, _ => Versions };
        parts[part] = choices[random.Next(choices.Length)];
        return string.Join(' ', parts);
    }

    private static void SetLength(List<string> lines, int length)
    {
        int at = lines.FindIndex(
            line => line.StartsWith("Content-Length:", StringComparison.OrdinalIgnoreCase));
        if (at > 0)
        {
            lines[at] = string.Create(CultureInfo.InvariantCulture, $"Content-Length: {length}");
        }
    }

    private static byte[] Chunked(Random random, byte[] body)
    {
        List<byte> chunks = [];
        for (int at = 0; at < body.Length;)
        {
            int count = Math.Min(body.Length - at, random.Next(1, 64));
            chunks.AddRange(Encoding.Latin1.GetBytes($"{count:x}\r\n"));
            chunks.AddRange(body.AsSpan(at, count));
            chunks.AddRange("\r\n"u8);
            at += count;
        }

        return [.. chunks, .. "0\r\n\r\n"u8];
    }

    private static byte[] Gzip(byte[] bytes)
    {
        using MemoryStream packed = new();
        using (GZipStream gzip = new(packed, CompressionLevel.Fastest))
        {
            gzip.Write(bytes);
        }

        return packed.ToArray();
    }
}

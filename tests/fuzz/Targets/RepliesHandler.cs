using System.Net;
using System.Text;
using ProtoRpc.Fuzz.Inputs;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>Plays an HTTP server that answers every request with the same input: a byte for the status, one
/// for the type, one for each header, then the body.</summary>
internal sealed class RepliesHandler : HttpMessageHandler
{
    private static readonly int[] Statuses = [
        200, 200, 200, 200, 204, 301, 400, 401, 404, 415, 429, 500, 503];

    private static readonly string[] Types =
    [
        "application/grpc", "application/grpc+proto", "application/x-protobuf", "application/json",
            "text/xml",
        "application/x-protobuf; delimited=true", "text/html", "application/grpc+json", "x", "",
        "application/connect+proto", "application/connect+json", "application/proto",
        "application/grpc-web+proto", "application/grpc-web-text+proto",
    ];

    /// <summary>The number of types.</summary>
    public static byte TypeCount { get; } = (byte)Types.Length;

    /// <summary>Where the types of Connect's streams begin, and behind them those of gRPC-Web.</summary>
    public static byte FirstStreamType { get; } = 10;

    /// <summary>The choice of the header of a compressed stream of Connect.</summary>
    public static byte ConnectGzip { get; } = 128 + 15;

    // Names and values that a server may send; trailers are the second half of the choices.
    private static readonly (string Name, string Value)[] Headers =
    [
        ("grpc-status", "0"), ("grpc-status", "5"), ("grpc-status", "99999999999"), ("grpc-status", "x"),
        ("grpc-message", "100 %25 %zz\u001b"), ("grpc-status-details-bin", "CAUSA2FiYw"),
            ("grpc-encoding", "gzip"),
        ("grpc-encoding", "nope"), ("x-bin", "****"), ("x-bin", "AAEC,AAE"),
            ("Retry-After", "99999999999999"),
        ("protorpc-correlation-id", "\u0001"), ("grpc-status-details-bin", "////"), ("x", ""),
            ("Content-Encoding", "gzip"), ("connect-content-encoding", "gzip"),
        ("connect-content-encoding", "nope"), ("trailer-x-bin", "AAE"),
    ];

    /// <summary>What the server answers.</summary>
    public byte[] Input { get; set; } = [];

    protected override Task<HttpResponseMessage> SendAsync(
        HttpRequestMessage request, CancellationToken cancellationToken)
    {
        Tail tail = new(Input);
        HttpResponseMessage response = new((HttpStatusCode)Statuses[tail.Next(Statuses.Length)])
        {
            Version = request.Version,
            RequestMessage = request,
        };
        string type = Types[tail.Next(Types.Length)];
        for (int i = tail.Next(4); i > 0; i--)
        {
            int choice = tail.Byte();
            (string name, string value) = Headers[choice % Headers.Length];
            _ = (choice & 128) != 0
                ? response.Headers.TryAddWithoutValidation(name, value)
                : response.TrailingHeaders.TryAddWithoutValidation(name, value);
        }

        response.Content = new ByteArrayContent(tail.Rest.ToArray());
        response.Content.Headers.TryAddWithoutValidation("Content-Type", type);
        return Task.FromResult(response);
    }

    /// <summary>An input of these parts.</summary>
    public static byte[] Reply(int status, int type, byte[] headers, byte[] body) =>
        [(byte)status, (byte)type, (byte)headers.Length, .. headers, .. body];

    /// <summary>Text as bytes.</summary>
    public static byte[] Bytes(string text) => Encoding.UTF8.GetBytes(text);
}

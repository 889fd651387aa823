using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Transports.Http;

namespace ProtoRpc.Transports;

/// <summary>Makes exceptions of servers that do not speak as the endpoint says.</summary>
internal static class WrongProtocolErrors
{
    public static RpcException WrongProtocol(RpcEndpoint endpoint, PeerGreeting greeting, string firstLine)
    {
        bool wantsTls = endpoint.IsTls;
        string place = PlaceOf(endpoint);
        string what = greeting switch
        {
            PeerGreeting.Tls => $"it speaks TLS. Use {TlsForm(endpoint)}",
            PeerGreeting.Http1 when wantsTls =>
                $"it speaks plain HTTP/1 ('{firstLine}'), without TLS. Use http://{place}/",
            PeerGreeting.Http1 => $"it speaks HTTP/1 ('{firstLine}'), and gRPC needs HTTP/2. "
                + "Check the port and any proxy",
            PeerGreeting.Http1Required => SpeaksHttp1(place),
            PeerGreeting.Http2 => $"it speaks HTTP/2 without TLS. Use {PlainForm(endpoint)}",
            _ when wantsTls => "it does not speak TLS. Check the port",
            _ => "it does not speak HTTP/2. Check the port",
        };
        return Make(endpoint, what, null);
    }

    /// <summary>A server that was found to speak something else.</summary>
    public static RpcException Other(RpcEndpoint endpoint, SpokenProtocol found, Exception? inner)
    {
        string place = PlaceOf(endpoint);
        return Make(
            endpoint,
            found switch
            {
                SpokenProtocol.Http1 => SpeaksHttp1(place),
                SpokenProtocol.Http2 => $"it speaks HTTP/2 without TLS, as gRPC does. Use grpc://{place}",
                SpokenProtocol.Native => "it speaks DCE/RPC. Use "
                    + RpcEndpoint.Tcp(endpoint.Host, endpoint.Port),
                SpokenProtocol.Unknown =>
                    "it asks for HTTP/1.1, and gRPC needs HTTP/2. Use https:// for its HTTP "
                    + "endpoint, or check the port and any proxy",
                _ => endpoint.IsNative
                    ? "it speaks TLS. Use RpcClientOptions.UseTls if DCE/RPC is served there, or "
                    + $"https://{place}/ or grpcs://{place}"
                    : $"it speaks TLS. Use {TlsForm(endpoint)}",
            },
            inner);
    }

    public static RpcException HungUp(RpcEndpoint endpoint, Exception? inner) => Make(
        endpoint,
        "it closed the connection without a reply. " + (endpoint.IsTls
            ? $"It may not speak TLS ({PlainForm(endpoint)}), or be stopping"
            : $"It may require TLS ({TlsForm(endpoint)}), or be stopping"),
        inner);

    public static RpcException Silent(RpcEndpoint endpoint, TimeSpan patience) => Make(
        endpoint,
        $"it accepted the connection, but sent nothing for {patience.TotalSeconds:0.###} s. Check the port"
        + (endpoint.IsTls ? "" : $", and whether it requires TLS ({TlsForm(endpoint)})"),
        null);

    public static RpcException NoHttp2(RpcEndpoint endpoint) => Make(
        endpoint,
        "it speaks TLS, but does not offer HTTP/2 (ALPN h2), which gRPC needs. Check the port and any proxy",
        null);

    private static RpcException Make(RpcEndpoint endpoint, string what, Exception? inner) => new(
        RpcStatusCode.Unavailable, $"The server at '{endpoint}' cannot be used: {what}.", inner)
    {
        ErrorId = RpcErrorIds.WrongProtocol,
        Endpoint = endpoint,
    };

    private static string SpeaksHttp1(string place) =>
        $"it speaks HTTP/1.1 without TLS. Use http://{place}/";

    private static string TlsForm(RpcEndpoint endpoint) =>
        endpoint is { IsTls: false, Kind.Twin: { } twin } ? $"{twin.Scheme}://{PlaceOf(endpoint)}" : "TLS";

    private static string PlainForm(RpcEndpoint endpoint) =>
        $"{endpoint.Kind.SchemeWith(tls: false)}://{PlaceOf(endpoint)}";

    private static string PlaceOf(RpcEndpoint endpoint) =>
        $"{(endpoint.Host.Contains(':') ? $"[{endpoint.Host}]" : endpoint.Host)}:{endpoint.Port}";
}

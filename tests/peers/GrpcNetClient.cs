using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;
using Grpc.Net.Client;

namespace ProtoRpc.Peers;

/// <summary>Opens channels of Grpc.Net.Client to our endpoints.</summary>
internal static class GrpcNetClient
{
    /// <param name="endpoint">One of gRPC.</param>
    /// <param name="options">Options of the channel, or null.</param>
    /// <param name="trusted">The only certificate that is trusted; null without TLS.</param>
    /// <param name="received">Sees the heads of replies; the client hides gRPC's own headers.</param>
    public static GrpcChannel Open(
        RpcEndpoint endpoint, GrpcChannelOptions? options = null, X509Certificate2? trusted = null,
        Action<HttpResponseMessage>? received = null)
    {
        SocketsHttpHandler handler = new() { UseProxy = false, EnableMultipleHttp2Connections = true };
        if (trusted is not null)
        {
            handler.SslOptions.RemoteCertificateValidationCallback =
                (_, certificate, _, _) => trusted.Equals(certificate);
        }

        string address = $"{(trusted is null ? "http" : "https")}://127.0.0.1:{endpoint.Port}";
        if (endpoint.Transport == RpcTransport.GrpcUnix)
        {
            address = "http://localhost";
            handler.ConnectCallback = async (_, cancellation) =>
            {
                Socket socket = new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
                await socket.ConnectAsync(new UnixDomainSocketEndPoint(endpoint.Name), cancellation);
                return new NetworkStream(socket, ownsSocket: true);
            };
        }

        options ??= new();
        options.HttpHandler = received is null ? handler : new ReplyHandler(handler, received);
        options.DisposeHttpClient = true;
        return GrpcChannel.ForAddress(address, options);
    }

    private sealed class ReplyHandler(HttpMessageHandler inner, Action<HttpResponseMessage> received)
        : DelegatingHandler(inner)
    {
        protected override async Task<HttpResponseMessage> SendAsync(
            HttpRequestMessage request, CancellationToken cancellationToken)
        {
            HttpResponseMessage response = await base.SendAsync(request, cancellationToken);
            received(response);
            return response;
        }
    }
}

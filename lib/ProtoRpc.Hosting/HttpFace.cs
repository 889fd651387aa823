using System.Security.Authentication;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.AspNetCore.Server.Kestrel.Https;
using ProtoRpc.Calls;
using ProtoRpc.Hosting.Http;
using ProtoRpc.Security;
using ProtoRpc.Transports;

namespace ProtoRpc.Hosting;

/// <summary>Serves methods over HTTP, in the formats that client and server agree on.</summary>
internal sealed class HttpFace(HttpServerOptions options) : IServerFace
{
    public bool Serves(RpcTransport transport) => transport is RpcTransport.Http or RpcTransport.Https;

    public IServedEndpoint Bind(RpcEndpoint endpoint, ServerHost host)
    {
        if (endpoint.Transport == RpcTransport.Https && options.Certificate is not { HasPrivateKey: true })
        {
            throw Refused(
                endpoint, "it needs a certificate with its private key", "MissingCertificate",
                "Give the certificate, or use http:// on 127.0.0.1.");
        }

        if (endpoint.Transport == RpcTransport.Http && !HttpTransport.IsLoopback(endpoint.Host) && !options.AllowUnencrypted)
        {
            throw Refused(
                endpoint, "it can be reached from other machines, and everybody on the way could read along",
                "UnencryptedEndpoint", "Use https:// with a certificate, or 127.0.0.1, or allow it expressly.");
        }

        // HTTP/2 without TLS is for gRPC alone: who speaks HTTP to http:// begins with HTTP/1.1.
        // Negotiate proves who a connection is, which HTTP/2 lets many share.
        SecurityPolicy policy = new(host.Options.Security);
        HttpProtocols protocols = endpoint.Transport == RpcTransport.Https && !policy.OffersMechanisms
            ? HttpProtocols.Http1AndHttp2
            : HttpProtocols.Http1;
        return KestrelEndpoint.Start(
            endpoint,
            host.Options.Limits,
            protocols,
            endpoint.Transport == RpcTransport.Https ? Tls() : null,
            bound => new HttpService(host, options, policy, bound).HandleAsync);
    }

    // Whether a client's certificate proves anything is for the check to say, which sees it whole.
    private HttpsConnectionAdapterOptions Tls() => new()
    {
        ServerCertificate = options.Certificate,
        SslProtocols = SslProtocols.Tls12 | SslProtocols.Tls13,
        ClientCertificateMode = options.Security.ClientCertificate is null
            ? ClientCertificateMode.NoCertificate
            : ClientCertificateMode.AllowCertificate,
        ClientCertificateValidation = static (_, _, _) => true,
    };

    private static RpcException Refused(RpcEndpoint endpoint, string why, string id, string remedy) => new(
        RpcStatusCode.FailedPrecondition, $"Cannot listen on '{endpoint}': {why}. {remedy}")
    {
        ErrorId = id,
        Endpoint = endpoint,
    };
}

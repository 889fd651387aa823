using System.Net.Security;
using Microsoft.AspNetCore.Server.Kestrel.Https;
using ProtoRpc.Transports.Http;
using ProtoRpc.Transports.Tls;

namespace ProtoRpc.AspNetCore;

/// <summary>The encryption of endpoints on Kestrel.</summary>
internal static class ServerTls
{
    /// <summary>Refuses endpoints that cannot be encrypted though they are,
    /// and those that should be and are not.</summary>
    /// <exception cref="RpcException">FailedPrecondition.</exception>
    public static void Check(RpcEndpoint endpoint, RpcServerOptions server, HttpServerOptions options)
    {
        if (endpoint.IsTls && server.Certificate is not { HasPrivateKey: true })
        {
            throw Refused(
                endpoint, "it needs a certificate with its private key", RpcErrorIds.MissingCertificate,
                $"Give the certificate, or use {endpoint.Kind.SchemeWith(tls: false)}:// on 127.0.0.1.");
        }

        if (!endpoint.IsTls
            && !endpoint.IsLocalOnly
            && !HttpTransport.IsLoopback(endpoint.Host)
            && !options.AllowUnencrypted)
        {
            throw Refused(
                endpoint, "other machines can reach it, and its traffic would be readable on the network",
                RpcErrorIds.UnencryptedEndpoint,
                $"Use {endpoint.Kind.SchemeWith(tls: true)}:// with a certificate, or 127.0.0.1, or allow "
                + "unencrypted traffic.");
        }
    }

    /// <summary>The TLS settings of an endpoint; null for an endpoint without TLS.</summary>
    /// <param name="endpoint">The endpoint.</param>
    /// <param name="server">Has the certificate that it begins with.</param>
    /// <param name="options">The options, such as whether callers need certificates.</param>
    /// <param name="replaced">Gives, for each connection, the certificate that replaced the first one; null
    /// as long as there is none.</param>
    public static HttpsConnectionAdapterOptions? CreateOptions(
        RpcEndpoint endpoint, RpcServerOptions server, HttpServerOptions options,
        Func<SslStreamCertificateContext?> replaced) =>
        endpoint.IsTls
            ? new HttpsConnectionAdapterOptions
            {
                ServerCertificate = server.Certificate,
                ServerCertificateChain = server.CertificateChain,
                SslProtocols = TlsVersions.Spoken,
                OnAuthenticate = (_, connection) =>
                {
                    Replace(connection, replaced());
                    connection.CertificateChainPolicy = CallerChain.NewPolicy();
                },
                ClientCertificateMode = options.Security.AcceptsCertificates
                    ? ClientCertificateMode.AllowCertificate
                    : ClientCertificateMode.NoCertificate,
                // HttpAuthentication decides about the certificate, because a caller that it rejects gets a
                // status and a reason.
                ClientCertificateValidation = static (_, _, _) => true,
            }
            : null;

    private static void Replace(
        SslServerAuthenticationOptions connection, SslStreamCertificateContext? certificate)
    {
        if (certificate is not null)
        {
            connection.ServerCertificate = null;
            connection.ServerCertificateContext = certificate;
        }
    }

    private static RpcException Refused(
        RpcEndpoint endpoint, string why, string errorId, string remedy) => new(
        RpcStatusCode.FailedPrecondition, errorId,
        $"Cannot listen on '{endpoint}': {why}. {remedy}", endpoint);
}

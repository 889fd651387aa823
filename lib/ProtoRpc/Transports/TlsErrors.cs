using System.Security.Authentication;

namespace ProtoRpc.Transports;

/// <summary>Makes exceptions of TLS handshakes that failed, with one id and one text for a cause on every
/// transport.</summary>
internal static class TlsErrors
{
    private const string Tls = nameof(RpcTlsOptions);

    /// <summary>The client does not trust the server's certificate.</summary>
    public static RpcException Untrusted(RpcEndpoint endpoint, string why, Exception inner) => new(
        RpcStatusCode.Unavailable,
        $"Cannot trust '{endpoint}': {why}. Set {Tls}.{nameof(RpcTlsOptions.CaCertificates)} to its "
        + $"authority or {Tls}.{nameof(RpcTlsOptions.ServerName)} to the name in its certificate, or accept "
        + $"any certificate with {Tls}.{nameof(RpcTlsOptions.SkipCertificateCheck)}.",
        inner)
    {
        ErrorId = RpcErrorIds.CertificateNotTrusted,
        Endpoint = endpoint,
    };

    /// <summary>The handshake failed for another reason.</summary>
    public static RpcException HandshakeFailed(RpcEndpoint endpoint, Exception exception)
    {
        Exception cause = exception is AuthenticationException { InnerException: { } inner }
            ? inner
            : exception;
        return new RpcException(
            RpcStatusCode.Unavailable,
            $"The TLS handshake with '{endpoint}' failed: {cause.Message.TrimEnd('.')}. "
            + "The server may require a client certificate "
+ $"({Tls}.{nameof(RpcTlsOptions.ClientCertificate)}) or another version of TLS.",
            exception)
        {
            ErrorId = RpcErrorIds.TlsHandshakeFailed,
            Endpoint = endpoint,
        };
    }
}

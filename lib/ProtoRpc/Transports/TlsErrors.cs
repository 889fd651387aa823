using System.Security.Authentication;

namespace ProtoRpc.Transports;

/// <summary>Makes exceptions of TLS handshakes that failed, with one id and one text for a cause on every
/// transport.</summary>
internal static class TlsErrors
{
    /// <summary>The client does not trust the server's certificate.</summary>
    public static RpcException Untrusted(RpcEndpoint endpoint, string why, Exception inner) => new(
        RpcStatusCode.Unavailable,
        $"Cannot trust '{endpoint}': {why}. Give its authority (-CACertificate), "
        + "the name that its certificate has (-ServerName), "
        + "or take any certificate with -SkipCertificateCheck.",
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
            + "The server may want a client certificate (-ClientCertificate) or another version of TLS.",
            exception)
        {
            ErrorId = RpcErrorIds.TlsHandshakeFailed,
            Endpoint = endpoint,
        };
    }
}

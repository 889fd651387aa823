using System.Security.Authentication;

namespace ProtoRpc.Transports;

/// <summary>The versions of TLS that clients and servers speak, also where the system would still speak older
/// ones (RFC 8996 ends TLS 1.0 and 1.1).</summary>
internal static class TlsVersions
{
    public const SslProtocols Spoken = SslProtocols.Tls12 | SslProtocols.Tls13;
}

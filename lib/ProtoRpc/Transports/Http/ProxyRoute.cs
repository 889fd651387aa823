using System.Net;

namespace ProtoRpc.Transports.Http;

/// <summary>A proxy between a client and a server.</summary>
/// <param name="Address">Its address, without a password.</param>
/// <param name="Credential">The user that it asks for; null for none.</param>
internal sealed record ProxyRoute(Uri Address, NetworkCredential? Credential)
{
    /// <summary>An address without user and password, for errors.</summary>
    public static string NameOf(Uri address) => $"{address.Scheme}://{address.Authority}";

    /// <summary>The address, for errors.</summary>
    public override string ToString() => NameOf(Address);
}

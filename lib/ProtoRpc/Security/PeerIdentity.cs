using System.Security.Principal;

namespace ProtoRpc;

/// <summary>What is known of the other side.</summary>
/// <param name="User">The user that the kernel names or who proved it, or the anonymous identity.</param>
/// <param name="Address">The remote address with port, or empty where the transport has none.</param>
/// <param name="ProcessId">The other process where the kernel tells it, else 0.</param>
/// <param name="IsLocal">Whether the kernel vouches that the peer is on this machine; not so for TCP,
/// even from 127.0.0.1.</param>
public sealed record PeerIdentity(IIdentity User, string Address, int ProcessId, bool IsLocal)
{
    /// <summary>How its calls are protected from others; what the kernel carries, nobody else sees.</summary>
    public RpcProtectionLevel ProtectionLevel { get; init; } = RpcProtectionLevel.None;

    /// <summary>An unknown peer.</summary>
    public static PeerIdentity Anonymous(string address) =>
        new(new GenericIdentity(""), address, 0, IsLocal: false);
}

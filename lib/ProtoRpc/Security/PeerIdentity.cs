using System.Security.Principal;

namespace ProtoRpc;

/// <summary>What is known of the other side.</summary>
/// <param name="User">The user that the kernel names or who proved it, or the anonymous identity.</param>
/// <param name="Address">The remote address with port, or empty if the transport has none.</param>
/// <param name="ProcessId">The peer's process, or 0 if the kernel does not report it.</param>
/// <param name="IsLocal">Whether the kernel guarantees that the peer is on this machine. False for TCP,
/// even from 127.0.0.1.</param>
public sealed record PeerIdentity(IIdentity User, string Address, int ProcessId, bool IsLocal)
{
    /// <summary>The protection of its calls.</summary>
    public RpcProtectionLevel ProtectionLevel { get; init; } = RpcProtectionLevel.None;

    /// <summary>An unknown peer.</summary>
    public static PeerIdentity Anonymous(string address) =>
        new(new GenericIdentity(""), address, 0, IsLocal: false);
}

using System.Security.Principal;

namespace ProtoRpc;

/// <summary>The identity of a peer.</summary>
/// <param name="User">The user that the kernel reports or that has authenticated, or the anonymous
/// identity.</param>
/// <param name="Address">The remote address and port; empty if the transport has none.</param>
/// <param name="ProcessId">The id of the peer's process; 0 if the kernel does not report it.</param>
/// <param name="IsLocal">Whether the kernel guarantees that the peer is on this machine. False for TCP,
/// even from 127.0.0.1.</param>
public sealed record PeerIdentity(IIdentity User, string Address, int ProcessId, bool IsLocal)
{
    /// <summary>The protection of the peer's calls.</summary>
    public RpcProtectionLevel ProtectionLevel { get; init; } = RpcProtectionLevel.None;

    /// <summary>Creates an anonymous peer.</summary>
    public static PeerIdentity Anonymous(string address) =>
        new(new GenericIdentity(""), address, 0, IsLocal: false);
}

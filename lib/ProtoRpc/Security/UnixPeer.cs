using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using System.Security.Principal;

namespace ProtoRpc.Security;

/// <summary>The peer of a Unix domain socket, as identified by the kernel.</summary>
internal static class UnixPeer
{
    /// <summary>The authentication type of peers that the kernel identifies.</summary>
    public const string AuthenticationType = "Kernel";

    // getsockopt(SOL_SOCKET, SO_PEERCRED) of Linux: process, user, group.
    private const int LinuxSocketLevel = 1;
    private const int LinuxPeerCredentials = 17;

    // getsockopt(SOL_LOCAL, ...) of macOS: struct xucred (version, user, groups), and the process.
    private const int MacLocalLevel = 0;
    private const int MacPeerCredentials = 1;
    private const int MacPeerProcess = 2;
    private const int MacCredentialsSize = 76;

    /// <summary>Whether the system identifies the peers of Unix sockets.</summary>
    public static bool IsIdentified => OperatingSystem.IsLinux() || OperatingSystem.IsMacOS();

    /// <summary>Reads user and process of the other side;
    /// the anonymous identity where the system has no way.</summary>
    public static PeerIdentity Read(Socket socket)
    {
        if (OperatingSystem.IsWindows() || ReadUserId(socket) is not { } userId)
        {
            return Unknown();
        }

        Span<byte> process = stackalloc byte[4];
        if (OperatingSystem.IsMacOS())
        {
            socket.GetRawSocketOption(MacLocalLevel, MacPeerProcess, process);
        }
        else
        {
            socket.GetRawSocketOption(LinuxSocketLevel, LinuxPeerCredentials, process);
        }

        return Known(userId, MemoryMarshal.Read<int>(process));
    }

    /// <summary>Reads the user of the other side: for a server who connected, for a client who called listen.
    /// </summary>
    /// <returns>Null where the system has no way.</returns>
    public static uint? ReadUserId(Socket socket)
    {
        Span<byte> credentials = stackalloc byte[MacCredentialsSize];
        int length =
            OperatingSystem.IsLinux()
                ? socket.GetRawSocketOption(LinuxSocketLevel, LinuxPeerCredentials, credentials)
            : OperatingSystem.IsMacOS()
                ? socket.GetRawSocketOption(MacLocalLevel, MacPeerCredentials, credentials)
            : 0;

        // The user is the second member on both.
        return length >= 8 ? MemoryMarshal.Read<uint>(credentials[4..]) : null;
    }

    [UnsupportedOSPlatform("windows")]
    private static PeerIdentity Known(uint userId, int processId) =>
        new(
            new GenericIdentity(UnixAccounts.NameOf(userId), AuthenticationType),
            "", processId, IsLocal: true)
        {
            ProtectionLevel = RpcProtectionLevel.Privacy,
        };

    private static PeerIdentity Unknown() => PeerIdentity.Anonymous("") with { IsLocal = true };
}

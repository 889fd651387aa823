using System.Buffers.Binary;
using System.Net.Sockets;
using System.Runtime.InteropServices;
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
        if (OperatingSystem.IsLinux())
        {
            Span<byte> credentials = stackalloc byte[12];
            int length = socket.GetRawSocketOption(LinuxSocketLevel, LinuxPeerCredentials, credentials);
            return length == credentials.Length
                ? Known(MemoryMarshal.Read<uint>(credentials[4..]), MemoryMarshal.Read<int>(credentials))
                : Unknown();
        }

        if (OperatingSystem.IsMacOS())
        {
            Span<byte> credentials = stackalloc byte[MacCredentialsSize];
            int length = socket.GetRawSocketOption(MacLocalLevel, MacPeerCredentials, credentials);
            Span<byte> process = stackalloc byte[4];
            socket.GetRawSocketOption(MacLocalLevel, MacPeerProcess, process);
            return length >= 8
                ? Known(
                    MemoryMarshal.Read<uint>(credentials[4..]),
                    BinaryPrimitives.ReadInt32LittleEndian(process))
                : Unknown();
        }

        return Unknown();
    }

    private static PeerIdentity Known(uint userId, int processId) => OperatingSystem.IsWindows()
        ? Unknown()
        : new PeerIdentity(
            new GenericIdentity(UnixAccounts.NameOf(userId), AuthenticationType),
            "", processId, IsLocal: true)
        {
            ProtectionLevel = RpcProtectionLevel.Privacy,
        };

    private static PeerIdentity Unknown() => PeerIdentity.Anonymous("") with { IsLocal = true };
}

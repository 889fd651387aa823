using System.IO.Pipes;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using System.Security;
using System.Security.Principal;
using Microsoft.Win32.SafeHandles;

namespace ProtoRpc;

/// <summary>The identity of a peer.</summary>
/// <example><code>
/// PeerIdentity ann = new(new GenericIdentity("ann"), "192.0.2.1:5000", ProcessId: 0, IsLocal: false);
/// RpcTestCall call = new(method) { Peer = ann };
/// </code></example>
/// <param name="User">The user that the kernel reports or that has authenticated, or anonymous.</param>
/// <param name="Address">The remote address and port; empty if the transport has none.</param>
/// <param name="ProcessId">The id of the peer's process; 0 if the kernel does not report it.</param>
/// <param name="IsLocal">Whether the kernel guarantees that the peer is on this machine. False for TCP,
/// even from 127.0.0.1.</param>
public sealed record PeerIdentity(IIdentity User, string Address, int ProcessId, bool IsLocal)
{
    /// <summary>The protection of the peer's calls.</summary>
    public RpcProtectionLevel ProtectionLevel { get; init; } = RpcProtectionLevel.None;

    /// <summary>The user id that the kernel of a Unix system reports; null if it reports none.</summary>
    internal uint? UserId { get; init; }

    /// <summary>Creates an anonymous peer.</summary>
    public static PeerIdentity Anonymous(string address) =>
        new(new GenericIdentity(""), address, 0, IsLocal: false);
}

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
            return PeerIdentity.Anonymous("") with { IsLocal = true };
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

        // The user id is the second member of both structures.
        return length >= 8 ? MemoryMarshal.Read<uint>(credentials[4..]) : null;
    }

    [UnsupportedOSPlatform("windows")]
    private static PeerIdentity Known(uint userId, int processId) =>
        new(
            new GenericIdentity(UnixAccounts.NameOf(userId), AuthenticationType),
            "", processId, IsLocal: true)
        {
            ProtectionLevel = RpcProtectionLevel.Privacy,
            UserId = userId,
        };
}

/// <summary>The peer of a Windows named pipe, as identified by the system.</summary>
[SupportedOSPlatform("windows")]
internal static partial class WindowsPeer
{
    private const int MaxComputerName = 256;
    private const int PipeIsLocal = 229;

    // SIO_AF_UNIX_GETPEERPID of afunix.h.
    private const int GetPeerProcess = 0x58000100;
    private const uint QueryLimitedInformation = 0x1000;
    private const uint TokenQuery = 0x8;

    // Wine lacks the function, so remote clients cannot be recognized there.
    private static readonly bool TellsComputers = NativeLibrary.TryLoad("kernel32", out nint kernel)
        && NativeLibrary.TryGetExport(kernel, "GetNamedPipeClientComputerNameW", out _);

    /// <summary>Reads user and process of the client; it must have sent something.</summary>
    public static PeerIdentity Read(NamedPipeServerStream pipe)
    {
        bool isLocal = IsLocal(pipe.SafePipeHandle);
        uint processId = 0;
        if (isLocal && GetNamedPipeClientProcessId(pipe.SafePipeHandle, out uint clientId) != 0)
        {
            processId = clientId;
        }

        IIdentity user = new GenericIdentity("");
        try
        {
            // GetCurrent reads the identity while this thread impersonates the client.
            pipe.RunAsClient(() =>
            {
                using WindowsIdentity? client = WindowsIdentity.GetCurrent(ifImpersonating: true);
                if (client is { IsAuthenticated: true, Name.Length: > 0 })
                {
                    // WindowsIdentity duplicates the token, so groups and impersonation work after the
                    // client's token was closed.
                    user = new WindowsIdentity(client.Token, UnixPeer.AuthenticationType);
                }
            });
        }
        catch (Exception e) when (e is IOException or SecurityException or UnauthorizedAccessException)
        {
            // A client that forbids identification is anonymous.
        }

        bool isKnown = user.IsAuthenticated;
        return new PeerIdentity(user, "", (int)processId, isLocal)
        {
            // The system does not report how it protects data from another machine.
            ProtectionLevel = !isKnown ? RpcProtectionLevel.None
                : isLocal ? RpcProtectionLevel.Privacy : RpcProtectionLevel.Connect,
        };
    }

    /// <summary>Reads the account that created the pipe that a client is connected to.</summary>
    /// <returns>Null if the system does not report it.</returns>
    public static SecurityIdentifier? ReadServer(PipeStream pipe)
    {
        try
        {
            return (SecurityIdentifier?)pipe.GetAccessControl().GetOwner(typeof(SecurityIdentifier));
        }
        catch (Exception e) when (e is IOException or SystemException)
        {
            return null;
        }
    }

    /// <summary>Reads the account of the process that listens at the other end of a Unix socket.</summary>
    /// <returns>Null if the system does not report the account, which it rarely does for processes of other
    /// accounts.</returns>
    public static SecurityIdentifier? ReadServer(Socket socket)
    {
        byte[] process = new byte[sizeof(uint)];
        try
        {
            if (socket.IOControl(GetPeerProcess, null, process) != process.Length)
            {
                return null;
            }

            using SafeProcessHandle opened = OpenProcess(
                QueryLimitedInformation, 0, BitConverter.ToUInt32(process));
            if (opened.IsInvalid || OpenProcessToken(opened, TokenQuery, out nint token) == 0)
            {
                return null;
            }

            using SafeAccessTokenHandle owned = new(token);
            using WindowsIdentity server = new(token);
            return server.User;
        }
        catch (Exception e) when (e is SocketException or SystemException)
        {
            return null;
        }
    }

    private static unsafe bool IsLocal(SafePipeHandle pipe)
    {
        if (!TellsComputers)
        {
            return false;
        }

        // The function returns the name of a remote client's computer, and fails with this error for a local
        // client.
        char* computer = stackalloc char[MaxComputerName];
        return GetNamedPipeClientComputerName(pipe, computer, MaxComputerName * sizeof(char)) == 0
            && Marshal.GetLastPInvokeError() == PipeIsLocal;
    }

    [LibraryImport("kernel32")]
    private static partial SafeProcessHandle OpenProcess(uint access, int inherits, uint processId);

    [LibraryImport("advapi32")]
    private static partial int OpenProcessToken(SafeProcessHandle process, uint access, out nint token);

    [LibraryImport("kernel32", SetLastError = true)]
    private static partial int GetNamedPipeClientProcessId(SafePipeHandle pipe, out uint processId);

    [LibraryImport("kernel32", EntryPoint = "GetNamedPipeClientComputerNameW", SetLastError = true)]
    private static unsafe partial int GetNamedPipeClientComputerName(
        SafePipeHandle pipe, char* name, uint size);
}

using System.IO.Pipes;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using System.Security;
using System.Security.Principal;
using Microsoft.Win32.SafeHandles;

namespace ProtoRpc.Security;

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

    // Wine does not have the function, so the machine of a client is unknown there.
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
            // The identity is asked for while this thread acts as the client.
            pipe.RunAsClient(() =>
            {
                using WindowsIdentity? client = WindowsIdentity.GetCurrent(ifImpersonating: true);
                if (client is { IsAuthenticated: true, Name.Length: > 0 })
                {
                    // WindowsIdentity duplicates the token, so groups and impersonation work after the
                    // client's token is closed.
                    user = new WindowsIdentity(client.Token, UnixPeer.AuthenticationType);
                }
            });
        }
        catch (Exception e) when (e is IOException or SecurityException or UnauthorizedAccessException)
        {
            // A client may forbid to be identified; then it is anonymous.
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
    /// <returns>Null if the system does not report it, as it does to few for other accounts'
    /// processes.</returns>
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

        // A remote client has a computer name; for a local one the call fails with exactly this error.
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

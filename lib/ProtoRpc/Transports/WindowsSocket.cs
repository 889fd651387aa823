using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Runtime.Versioning;

namespace ProtoRpc.Transports;

/// <summary>What sockets of Windows need beside the calls of .NET.</summary>
[SupportedOSPlatform("windows")]
internal static unsafe partial class WindowsSocket
{
    /// <summary>Ends the receives and sends that run: on Windows, shutting a socket down only rejects those
    /// that begin later, and a blocked receive would wait for the peer forever.</summary>
    public static void CancelPending(Socket socket)
    {
        try
        {
            // Without one that runs it returns an error, which does not matter.
            CancelIoEx(socket.SafeHandle, null);
        }
        catch (ObjectDisposedException)
        {
            // Disposing has ended them.
        }
    }

    [LibraryImport("kernel32")]
    private static partial int CancelIoEx(SafeHandle handle, void* overlapped);
}

using System.Net.Sockets;
using ProtoRpc.Security;

namespace ProtoRpc.Transports;

/// <summary>Asks the system who listens at the other end of a Unix socket.</summary>
internal static class LocalServer
{
    /// <summary>Requires an account that may get tokens and passwords.</summary>
    /// <param name="endpoint">The server's endpoint.</param>
    /// <param name="socket">A Unix socket that is connected to the server.</param>
    /// <param name="user">The account that the client names; null for none.</param>
    /// <exception cref="RpcException">PermissionDenied: another account runs the server.</exception>
    public static void Require(RpcEndpoint endpoint, Socket socket, string? user)
    {
        if (OperatingSystem.IsWindows())
        {
            ServerAccount.Require(endpoint, WindowsPeer.ReadServer(socket), user);
        }
        else
        {
            ServerAccount.Require(endpoint, UnixPeer.ReadUserId(socket), user);
        }
    }
}

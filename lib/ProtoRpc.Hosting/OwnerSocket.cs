using System.Net.Sockets;
using ProtoRpc.Transports;

namespace ProtoRpc.Hosting;

/// <summary>Unix sockets at a path that the user chose, open to their owner alone.</summary>
internal static class OwnerSocket
{
    /// <summary>Binds a socket; one that a process left behind is replaced.</summary>
    /// <exception cref="RpcException">AlreadyExists:
    /// somebody listens there, or the path is something else.</exception>
    public static Socket Bind(RpcEndpoint endpoint, UnixDomainSocketEndPoint path)
    {
        RemoveDead(endpoint, path);
        Socket socket = NewSocket();
        try
        {
            socket.Bind(path);
            if (!OperatingSystem.IsWindows())
            {
                // No client can connect in between, because the socket does not listen yet.
                File.SetUnixFileMode(endpoint.SocketPath, UnixFileMode.UserRead | UnixFileMode.UserWrite);
            }

            return socket;
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    public static RpcException TooLong(RpcEndpoint endpoint, Exception why) => new(
        RpcStatusCode.InvalidArgument,
        $"'{endpoint}' cannot be used here: {why.Message} Use a shorter path.", why)
    {
        ErrorId = RpcErrorIds.EndpointNameTooLong,
        Endpoint = endpoint,
    };

    private static Socket NewSocket() => new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);

    // The socket of a process that ended is still there as a file, but refuses.
    private static void RemoveDead(RpcEndpoint endpoint, UnixDomainSocketEndPoint path)
    {
        if (!File.Exists(endpoint.SocketPath))
        {
            return;
        }

        using Socket probe = NewSocket();
        try
        {
            // Off Windows, a Unix socket answers at once. Where too many connections wait to be accepted, a
            // blocking call would wait as well.
            probe.Blocking = OperatingSystem.IsWindows();
            probe.Connect(path);
        }
        catch (SocketException e)
            when (e.SocketErrorCode == SocketError.ConnectionRefused && IsSocket(endpoint.SocketPath))
        {
            File.Delete(endpoint.SocketPath);
            return;
        }
        catch (SocketException)
        {
            // Not for us to judge: binding says what is wrong.
        }

        throw EndpointErrors.InUse(endpoint);
    }

    // A file that is no socket refuses as well, and is not to be lost; a socket cannot be opened as a file.
    private static bool IsSocket(string path)
    {
        try
        {
            File.OpenHandle(path).Dispose();
            return false;
        }
        catch (IOException)
        {
            return true;
        }
    }
}

using System.Net.Sockets;
using System.Runtime.Versioning;
using System.Text;
using ProtoRpc;
using ProtoRpc.Transports;

[assembly: Transport<UnixSocketTransport>(RpcTransport.Local)]
[assembly: Transport<UnixSocketTransport>(RpcTransport.NamedPipe)]

namespace ProtoRpc.Transports;

/// <summary><c>ncalrpc</c> and <c>ncacn_np</c> off Windows:
/// Unix domain sockets in a directory of the user's own.</summary>
[UnsupportedOSPlatform("windows")]
internal sealed class UnixSocketTransport : INativeTransport
{
    private const int Backlog = 512;

    // sun_path with its closing NUL: 108 octets on Linux, 104 on macOS and the BSDs.
    private static readonly int MaxPathBytes = (OperatingSystem.IsLinux() ? 108 : 104) - 1;

    /// <inheritdoc/>
    public bool IsOfThisSystem => !OperatingSystem.IsWindows();

    /// <inheritdoc/>
    public TransportListener Listen(RpcEndpoint endpoint)
    {
        string directory = LocalSocketDirectory.Prepare(endpoint, endpoint.Kind.Scheme);
        string path = PathOf(endpoint, directory);
        try
        {
            using (LocalSocketLock.Take(endpoint, directory))
            {
                Socket socket = Bind(endpoint, path);
                return new SocketListener(
                    socket, endpoint, $@"\PIPE\{endpoint.Name}", s => Close(s, endpoint, directory));
            }
        }
        catch (SocketException e)
        {
            throw EndpointErrors.CannotListen(endpoint, e);
        }
    }

    /// <inheritdoc/>
    public TransportConnection Connect(RpcEndpoint endpoint, TimeSpan timeout, CancellationToken cancellation)
    {
        if (endpoint.Host.Length > 0)
        {
            throw RemotePipe(endpoint);
        }

        string path = LocalSocketDirectory.Find(endpoint, endpoint.Kind.Scheme)
            .Select(directory => PathOf(endpoint, directory)).FirstOrDefault(File.Exists)
            ?? throw EndpointErrors.NoSuchName(endpoint, $"user '{Environment.UserName}'");

        try
        {
            Socket socket = NewSocket();
            SocketDialer.Connect(socket, new UnixDomainSocketEndPoint(path), timeout, cancellation);
            return new SocketConnection(socket);
        }
        catch (SocketException e)
        {
            throw EndpointErrors.CannotConnect(endpoint, e);
        }
        catch (OperationCanceledException e)
        {
            throw EndpointErrors.ConnectGivenUp(endpoint, timeout, e, cancellation);
        }
    }

    private static Socket NewSocket() => new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);

    // Called under the directory's lock, so that no other process replaces the same socket meanwhile.
    private static Socket Bind(RpcEndpoint endpoint, string path)
    {
        if (File.Exists(path))
        {
            if (IsAlive(path))
            {
                throw EndpointErrors.InUse(endpoint);
            }

            File.Delete(path);
        }

        Socket socket = NewSocket();
        try
        {
            socket.Bind(new UnixDomainSocketEndPoint(path));
            socket.Listen(Backlog);
            return socket;
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    // The socket of a process that ended is still there as a file, but refuses.
    private static bool IsAlive(string path)
    {
        using Socket probe = NewSocket();
        try
        {
            probe.Blocking = false;
            probe.Connect(new UnixDomainSocketEndPoint(path));
            return true;
        }
        catch (SocketException e)
        {
            return e.SocketErrorCode != SocketError.ConnectionRefused;
        }
    }

    // Closing removes the file; under the lock it cannot be the file of the next listener.
    private static void Close(Socket socket, RpcEndpoint endpoint, string directory)
    {
        try
        {
            using (LocalSocketLock.Take(endpoint, directory))
            {
                socket.Dispose();
            }
        }
        catch (RpcException)
        {
            socket.Dispose();
        }
    }

    // Endpoints are equal without regard to case, so their file names are as well.
    internal static string PathOf(RpcEndpoint endpoint, string directory)
    {
        string path = Path.Combine(directory, endpoint.Name.ToLowerInvariant());
        int length = Encoding.UTF8.GetByteCount(path);
        return length <= MaxPathBytes
            ? path
            : throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"'{endpoint}' cannot be used here: its socket '{path}' has {length} bytes, "
                + $"and the system takes {MaxPathBytes}. "
                + "Use a shorter name, or set XDG_RUNTIME_DIR or TMPDIR to a shorter directory.")
            {
                ErrorId = RpcErrorIds.EndpointNameTooLong,
                Endpoint = endpoint,
            };
    }

    private static RpcException RemotePipe(RpcEndpoint endpoint) => new(
        RpcStatusCode.Unimplemented,
        $"'{endpoint}' is a named pipe of another machine, which only Windows can reach. "
        + "Use ncacn_ip_tcp, or leave out the host for a pipe of this machine.")
    {
        ErrorId = RpcErrorIds.RemotePipeNotSupported,
        Endpoint = endpoint,
    };
}

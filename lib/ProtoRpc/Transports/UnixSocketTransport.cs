using System.Net.Sockets;
using System.Runtime.Versioning;
using ProtoRpc;
using ProtoRpc.Security;
using ProtoRpc.Transports;

[assembly: Transport<UnixSocketTransport>(RpcTransport.Local)]

[assembly: Transport<UnixSocketTransport>(RpcTransport.NamedPipe)]

namespace ProtoRpc.Transports;

/// <summary><c>ncalrpc</c> and <c>ncacn_np</c> outside Windows: Unix domain sockets in a private directory of
/// the user, or in one that others can enter if the listener allows other accounts.</summary>
[UnsupportedOSPlatform("windows")]
internal sealed class UnixSocketTransport : INativeTransport
{
    private const int Backlog = 512;
    private const uint Root = 0;

    // sun_path with its closing NUL: 108 octets on Linux, 104 on macOS and the BSDs.
    private static readonly int MaxPathBytes = (OperatingSystem.IsLinux() ? 108 : 104) - 1;

    public bool IsOfThisSystem => !OperatingSystem.IsWindows();

    public TransportListener Listen(RpcEndpoint endpoint, AllowedAccounts? allowed = null)
    {
        string folder = endpoint.Kind.Scheme;
        string directory = allowed is null
            ? LocalSocketDirectory.Prepare(endpoint, folder)
            : SharedSocketDirectory.Prepare(endpoint, folder);
        string path = PathOf(endpoint, directory);
        try
        {
            using (LocalSocketLock.Take(endpoint, directory))
            {
                RequireFree(endpoint, path);
                Socket socket = Bind(path, allowed);
                return new SocketListener(
                    socket, endpoint, $@"\PIPE\{endpoint.Name}", s => Close(s, endpoint, directory));
            }
        }
        catch (SocketException e)
        {
            throw EndpointErrors.CannotListen(endpoint, e);
        }
    }

    public TransportConnection Connect(
        RpcEndpoint endpoint, string? serverUser, TimeSpan timeout, CancellationToken cancellation)
    {
        if (endpoint.Host.Length > 0)
        {
            throw new RpcException(
                RpcStatusCode.Unimplemented, RpcErrorIds.RemotePipeNotSupported,
                $"'{endpoint}' is a named pipe of another machine, which only Windows can reach. "
                + "Use ncacn_ip_tcp, or leave out the host for a pipe of this machine.", endpoint);
        }

        List<Place> places = Find(endpoint, serverUser);
        List<Place> found = places.FindAll(place => File.Exists(place.PathOf(endpoint)));
        if (found.Count == 0)
        {
            places.ForEach(place => PathOf(endpoint, place.Directory));
            throw EndpointErrors.NoSuchName(
                endpoint, $"user '{Environment.UserName}'",
                serverUser is null ? $" If another account runs it, set {ServerAccount.Member}." : "");
        }

        // The socket of a killed process still exists.
        Place place = found.Find(place => found.Count == 1 || IsAlive(place.PathOf(endpoint))) ?? found[0];
        try
        {
            return Dial(endpoint, place, serverUser, timeout, cancellation);
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

    // The server that the client names is first, then the servers of the user's own account, then those of
    // root.
    private static List<Place> Find(RpcEndpoint endpoint, string? serverUser)
    {
        string folder = endpoint.Kind.Scheme;
        uint own = UnixAccounts.EffectiveUserId;
        uint? named = serverUser is null ? null : ServerAccount.FindUserId(serverUser);
        IEnumerable<Place> places =
        [
            .. named is { } user ? Shared(user) : [],
            .. LocalSocketDirectory.Find(endpoint, folder)
                .Select(directory => new Place(directory, IsShared: false)),
            .. Shared(own),
            .. Shared(Root),
        ];
        return [.. places.Distinct()];

        IEnumerable<Place> Shared(uint user) =>
            SharedSocketDirectory.Find(user, folder)
                .Select(directory => new Place(directory, IsShared: true));
    }

    private static SocketConnection Dial(
        RpcEndpoint endpoint, Place place, string? serverUser, TimeSpan timeout,
        CancellationToken cancellation)
    {
        Socket socket = NewSocket();
        SocketDialer.Connect(
            socket, new UnixDomainSocketEndPoint(PathOf(endpoint, place.Directory)), timeout, cancellation);
        try
        {
            if (place.IsShared)
            {
                LocalServer.Require(endpoint, socket, serverUser);
            }

            return new SocketConnection(socket);
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    private static Socket NewSocket() => new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);

    // Called under the directory's lock, so that no other process replaces the socket at the same time. The
    // name may also belong to a listener of this account in the other directory: private or shared.
    private static void RequireFree(RpcEndpoint endpoint, string path)
    {
        string folder = endpoint.Kind.Scheme;
        if (LocalSocketDirectory.Find(endpoint, folder)
            .Concat(SharedSocketDirectory.Find(UnixAccounts.EffectiveUserId, folder))
            .Select(directory => Path.Combine(directory, Path.GetFileName(path)))
            .Any(used => File.Exists(used) && IsAlive(used)))
        {
            throw EndpointErrors.InUse(endpoint);
        }

        File.Delete(path);
    }

    private static Socket Bind(string path, AllowedAccounts? allowed)
    {
        Socket socket = NewSocket();
        try
        {
            socket.Bind(new UnixDomainSocketEndPoint(path));
            if (allowed is not null)
            {
                // No client can connect in between, because the socket does not listen yet.
                SharedSocketDirectory.Open(path, allowed);
            }

            socket.Listen(Backlog);
            return socket;
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    // The socket file of an ended process still exists, but rejects connections.
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

    // Closing deletes the file. Under the lock, the file cannot belong to the next listener.
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

    // A possible directory of an endpoint's socket, and whether other accounts can use the directory.
    private sealed record Place(string Directory, bool IsShared)
    {
        public string PathOf(RpcEndpoint endpoint) => SocketOf(endpoint, Directory);
    }

    internal static string PathOf(RpcEndpoint endpoint, string directory)
    {
        string path = SocketOf(endpoint, directory);
        int length = Encoding.UTF8.GetByteCount(path);
        return length <= MaxPathBytes
            ? path
            : throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.EndpointNameTooLong,
                $"'{endpoint}' cannot be used here: its socket '{path}' has {length} bytes, "
                + $"and the system allows {MaxPathBytes}. "
                + "Use a shorter name, or set XDG_RUNTIME_DIR or TMPDIR to a shorter directory.", endpoint);
    }

    // Endpoints compare without regard to case, so their file names are lower case.
    private static string SocketOf(RpcEndpoint endpoint, string directory) =>
        Path.Combine(directory, endpoint.Name.ToLowerInvariant());
}

/// <summary>The directory of a user's local sockets. Other users cannot enter it, so they can neither connect
/// nor replace a socket.</summary>
[UnsupportedOSPlatform("windows")]
internal static class LocalSocketDirectory
{
    private const UnixFileMode OwnerOnly =
        UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute;

    private const UnixFileMode Others =
        UnixFileMode.GroupRead | UnixFileMode.GroupWrite | UnixFileMode.GroupExecute
        | UnixFileMode.OtherRead | UnixFileMode.OtherWrite | UnixFileMode.OtherExecute;

    /// <summary>Where sockets of a kind may be, the likeliest first. Folders of other accounts are left
    /// out.</summary>
    /// <exception cref="RpcException">PermissionDenied: a folder of this account is open to
    /// others.</exception>
    public static IReadOnlyList<string> Find(RpcEndpoint endpoint, string folder) =>
        Find(endpoint, folder, Roots());

    /// <inheritdoc cref="Find(RpcEndpoint, string)"/>
    /// <param name="endpoint">The endpoint, for errors.</param>
    /// <param name="folder">The kind of the sockets.</param>
    /// <param name="roots">The folders of this account, the best first.</param>
    internal static IReadOnlyList<string> Find(
        RpcEndpoint endpoint, string folder, IEnumerable<string> roots)
    {
        List<string> found = [];
        foreach (string root in roots)
        {
            if (IsForeign(root))
            {
                continue;
            }

            string directory = Path.Combine(root, folder);
            foreach (string path in new[] { root, directory })
            {
                if (Path.Exists(path) && FindFault(path) is { } fault)
                {
                    throw NotOurs(endpoint, path, fault);
                }
            }

            found.Add(directory);
        }

        return found;
    }

    /// <summary>Makes the directory for the sockets of a kind, if it does not exist.</summary>
    /// <exception cref="RpcException">PermissionDenied: the directory is accessible to others, or cannot be
    /// created.</exception>
    public static string Prepare(RpcEndpoint endpoint, string folder) =>
        Prepare(endpoint, folder, [.. Roots()]);

    /// <inheritdoc cref="Prepare(RpcEndpoint, string)"/>
    /// <param name="endpoint">The endpoint, for errors.</param>
    /// <param name="folder">The kind of the sockets.</param>
    /// <param name="roots">The folders of this account, the best first.</param>
    internal static string Prepare(RpcEndpoint endpoint, string folder, string[] roots)
    {
        // Another account may have created a folder with this name in the temporary folder.
        string root = Array.Find(roots, root => !IsForeign(root)) ?? roots[0];
        string directory = Path.Combine(root, folder);
        foreach (string path in new[] { root, directory })
        {
            try
            {
                Directory.CreateDirectory(path, OwnerOnly);
            }
            catch (Exception e) when (e is IOException or UnauthorizedAccessException)
            {
                throw NotOurs(endpoint, path, e.Message.TrimEnd('.'));
            }

            if (FindFault(path) is { } fault)
            {
                throw NotOurs(endpoint, path, fault);
            }
        }

        return directory;
    }

    // The home folder is second, because its path is often too long for a socket.
    private static IEnumerable<string> Roots()
    {
        string? runtime = Environment.GetEnvironmentVariable("XDG_RUNTIME_DIR");
        if (!string.IsNullOrEmpty(runtime) && Path.IsPathRooted(runtime) && Directory.Exists(runtime)
            && FindFault(runtime) is null)
        {
            yield return Path.Combine(runtime, "protorpc");
            yield break;
        }

        yield return Path.Combine(Path.GetTempPath(), $"protorpc-{UnixAccounts.EffectiveUserId}");
        string home = Environment.GetFolderPath(Environment.SpecialFolder.UserProfile);
        if (UnixFileStatus.Read(home) is { } status && status.Owner == UnixAccounts.EffectiveUserId
            && (status.Permissions & (UnixFileMode.GroupWrite | UnixFileMode.OtherWrite)) == 0)
        {
            yield return Path.Combine(home, ".protorpc");
        }
    }

    private static bool IsForeign(string path) =>
        UnixFileStatus.Read(path) is { } status && status.Owner != UnixAccounts.EffectiveUserId;

    /// <summary>Why a directory is not private; null if it is.</summary>
    /// <returns>Null when nothing does.</returns>
    internal static string? FindFault(string path)
    {
        if (new FileInfo(path).LinkTarget is not null)
        {
            return "it is a symbolic link";
        }

        if (!Directory.Exists(path))
        {
            return "it is not a directory";
        }

        if (UnixFileStatus.Read(path)?.Owner != UnixAccounts.EffectiveUserId)
        {
            return "it belongs to another user";
        }

        UnixFileMode open = File.GetUnixFileMode(path) & Others;
        return open == 0 ? null : $"others may use it ({open}); its mode must be 0700";
    }

    private static RpcException NotOurs(RpcEndpoint endpoint, string path, string fault) => new(
        RpcStatusCode.PermissionDenied, RpcErrorIds.SocketDirectoryNotSafe,
        $"'{endpoint}' needs the directory '{path}' for this account alone, but {fault}. Remove it, or set "
        + "XDG_RUNTIME_DIR or TMPDIR to a directory of your own.", endpoint);
}

/// <summary>Keeps other processes from binding or removing sockets in a directory for a moment.</summary>
[UnsupportedOSPlatform("windows")]
internal static class LocalSocketLock
{
    // No socket has this name: endpoint names do not start with a dot.
    private const string FileName = ".lock";
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(5);

    /// <summary>Waits for the lock; disposing gives it back.</summary>
    /// <exception cref="RpcException">Unavailable when another process keeps it,
    /// PermissionDenied.</exception>
    public static IDisposable Take(RpcEndpoint endpoint, string directory)
    {
        string path = Path.Combine(directory, FileName);
        long end = Environment.TickCount64 + (long)Patience.TotalMilliseconds;
        while (true)
        {
            try
            {
                // The system releases the lock when its process ends or crashes. The file is private, because
                // another account that can open it could keep it locked.
                return new FileStream(path, new FileStreamOptions
                {
                    Mode = FileMode.OpenOrCreate,
                    Access = FileAccess.ReadWrite,
                    Share = FileShare.None,
                    BufferSize = 0,
                    UnixCreateMode = UnixFileMode.UserRead | UnixFileMode.UserWrite,
                });
            }
            catch (IOException) when (Environment.TickCount64 < end)
            {
                Thread.Sleep(2);
            }
            catch (Exception e) when (e is IOException or UnauthorizedAccessException)
            {
                throw new RpcException(
                    e is IOException ? RpcStatusCode.Unavailable : RpcStatusCode.PermissionDenied,
                    $"Cannot lock '{path}' for '{endpoint}': {FileProblem.Describe(e, path)}.", endpoint, e);
            }
        }
    }
}

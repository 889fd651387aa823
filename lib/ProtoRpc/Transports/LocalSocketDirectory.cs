using System.Runtime.Versioning;

namespace ProtoRpc.Transports;

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
    /// <exception cref="RpcException">PermissionDenied: it is open to others, or cannot be made.</exception>
    public static string Prepare(RpcEndpoint endpoint, string folder) =>
        Prepare(endpoint, folder, [.. Roots()]);

    /// <inheritdoc cref="Prepare(RpcEndpoint, string)"/>
    /// <param name="endpoint">The endpoint, for errors.</param>
    /// <param name="folder">The kind of the sockets.</param>
    /// <param name="roots">The folders of this account, the best first.</param>
    internal static string Prepare(RpcEndpoint endpoint, string folder, string[] roots)
    {
        // Any account can make a folder of this name in the temporary folder first.
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

    /// <summary>What keeps a directory from being ours alone.</summary>
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
        RpcStatusCode.PermissionDenied,
        $"'{endpoint}' needs the directory '{path}' for this account alone, but {fault}. Remove it, or set "
        + "XDG_RUNTIME_DIR or TMPDIR to a directory of your own.")
    {
        ErrorId = RpcErrorIds.SocketDirectoryNotSafe,
        Endpoint = endpoint,
    };
}

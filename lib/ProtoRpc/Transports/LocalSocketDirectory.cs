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

    /// <summary>Where sockets of a kind are; checked to be ours where it exists.</summary>
    /// <exception cref="RpcException">PermissionDenied when it is not ours.</exception>
    public static string Find(RpcEndpoint endpoint, string folder)
    {
        string directory = Path.Combine(Root(), folder);
        foreach (string path in new[] { Root(), directory })
        {
            if (Path.Exists(path) && FindFault(path) is { } fault)
            {
                throw NotOurs(endpoint, path, fault);
            }
        }

        return directory;
    }

    /// <summary>The same, and it exists afterwards.</summary>
    /// <exception cref="RpcException">PermissionDenied when it is not ours, or cannot be made.</exception>
    public static string Prepare(RpcEndpoint endpoint, string folder)
    {
        string directory = Path.Combine(Root(), folder);
        foreach (string path in new[] { Root(), directory })
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

    private static string Root()
    {
        string? runtime = Environment.GetEnvironmentVariable("XDG_RUNTIME_DIR");
        return !string.IsNullOrEmpty(runtime) && Path.IsPathRooted(runtime) && Directory.Exists(runtime)
            && FindFault(runtime) is null
            ? Path.Combine(runtime, "protorpc")
            : Path.Combine(Path.GetTempPath(), $"protorpc-{UnixAccounts.EffectiveUserId}");
    }

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

        if (UnixAccounts.OwnerOf(path) != UnixAccounts.EffectiveUserId)
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

using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using ProtoRpc.Security;

namespace ProtoRpc.Transports;

/// <summary>The directory of the local sockets that an account opens to others. Other accounts can pass
/// through it, but neither list nor change it.</summary>
/// <remarks>Its path contains the account's user id, so that clients that know the account find it. Another
/// account can create a directory with this name in the temporary folder, so clients and servers require that
/// it belongs to the account.</remarks>
[UnsupportedOSPlatform("windows")]
internal static partial class SharedSocketDirectory
{
    private const UnixFileMode PassThrough =
        UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute
        | UnixFileMode.GroupExecute | UnixFileMode.OtherExecute;

    /// <summary>The permissions that other accounts must not have in a directory whose sockets they can
    /// use.</summary>
    private const UnixFileMode Changes = UnixFileMode.GroupWrite | UnixFileMode.OtherWrite;

    // The maximum number of links that Linux follows.
    private const int MaxLinks = 40;

    // /run is first: it belongs to root, and root may have prepared the folder. TMPDIR is not used, because
    // it differs between accounts.
    private static readonly string[] Bases = ["/run", "/tmp"];

    /// <summary>Where the sockets of an account may be, the likeliest first. Directories of other accounts
    /// are left out.</summary>
    /// <param name="user">The account.</param>
    /// <param name="folder">The kind of the sockets.</param>
    /// <param name="bases">The folders that all accounts know; null for those of the system.</param>
    public static IEnumerable<string> Find(uint user, string folder, string[]? bases = null) =>
        (bases ?? Bases)
            .Select(place => RootOf(place, user))
            .Where(root => FindFault(root, user) is null
                && FindFault(Path.Combine(root, folder), user) is null)
            .Select(root => Path.Combine(root, folder));

    /// <summary>Makes the directory for the sockets of a kind, if it does not exist.</summary>
    /// <param name="endpoint">The endpoint, for errors.</param>
    /// <param name="folder">The kind of the sockets.</param>
    /// <param name="bases">The folders that all accounts know; null for those of the system.</param>
    /// <exception cref="RpcException">PermissionDenied: it belongs to another account or can be changed by
    /// others, or it cannot be made.</exception>
    public static string Prepare(RpcEndpoint endpoint, string folder, string[]? bases = null)
    {
        uint own = UnixAccounts.EffectiveUserId;
        RpcException? failure = null;
        foreach (string place in bases ?? Bases)
        {
            string root = RootOf(place, own);
            string directory = Path.Combine(root, folder);
            failure = Make(endpoint, root, own) ?? Make(endpoint, directory, own);
            if (failure is null)
            {
                return directory;
            }
        }

        throw failure!;
    }

    /// <summary>Allows accounts to connect to a bound socket, before it listens.</summary>
    /// <remarks>A mode cannot name users. If there are any, every account may connect, and the listener
    /// rejects the connections of others. The mode is set by the path: the socket's directory must be one
    /// that others cannot change.</remarks>
    /// <param name="path">The socket.</param>
    /// <param name="allowed">The accounts; null for only the listener's own.</param>
    public static void Open(string path, AllowedAccounts? allowed)
    {
        UnixFileMode mode = UnixFileMode.UserRead | UnixFileMode.UserWrite;
        if (allowed is not null)
        {
            mode |= UnixFileMode.GroupRead | UnixFileMode.GroupWrite;

            // Only root and members of a group can assign a file to the group.
            if (allowed.OnlyGroup is not { } group || lchown(path, uint.MaxValue, group) != 0)
            {
                mode |= UnixFileMode.OtherRead | UnixFileMode.OtherWrite;
            }
        }

        File.SetUnixFileMode(path, mode);
    }

    /// <summary>Requires that other accounts cannot replace a socket at a path that the user chose.</summary>
    /// <remarks>Links are followed as the system does: an account that can change a folder above the target
    /// of a link can replace the target.</remarks>
    /// <exception cref="RpcException">PermissionDenied: they can.</exception>
    public static void RequireSafe(RpcEndpoint endpoint, string path)
    {
        uint own = UnixAccounts.EffectiveUserId;
        string folder = "/";
        Stack<string> parts = [];
        Follow(Path.Combine(Environment.CurrentDirectory, Path.GetDirectoryName(path) ?? ""));
        for (int links = 0; ;)
        {
            UnixFileStatus? status = UnixFileStatus.Read(folder);
            if (status is { } found && FindThreat(found, own) is { } threat)
            {
                throw NotSafe(endpoint, folder, threat);
            }

            if (status is { IsLink: true })
            {
                if (++links > MaxLinks)
                {
                    throw NotSafe(endpoint, folder, "it leads from link to link");
                }

                string target = new FileInfo(folder).LinkTarget ?? "";
                folder = Path.IsPathRooted(target) ? "/" : Path.GetDirectoryName(folder) ?? "/";
                Follow(target);
            }
            else if (parts.TryPop(out string? part))
            {
                folder = part == ".." ? Path.GetDirectoryName(folder) ?? "/" : Path.Combine(folder, part);
            }
            else
            {
                return;
            }
        }

        void Follow(string target)
        {
            foreach (string part in target.Split('/').Where(part => part is not ("" or ".")).Reverse())
            {
                parts.Push(part);
            }
        }
    }

    private static string RootOf(string place, uint user) =>
        Path.Combine(place, $"protorpc-shared-{user.ToString(CultureInfo.InvariantCulture)}");

    private static string? FindThreat(UnixFileStatus status, uint own) =>
        status.Owner != 0 && status.Owner != own ? "it belongs to another account"
        : !status.IsLink && (status.Permissions & Changes) != 0
            && !status.Permissions.HasFlag(UnixFileMode.StickyBit) ? "other accounts can change it"
        : null;

    private static RpcException? Make(RpcEndpoint endpoint, string path, uint own)
    {
        try
        {
            Directory.CreateDirectory(path, PassThrough);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            return NotSafe(endpoint, path, e.Message.TrimEnd('.'));
        }

        if (FindFault(path, own) is { } fault)
        {
            return NotSafe(endpoint, path, fault);
        }

        // The process's umask may have removed permissions for other accounts.
        File.SetUnixFileMode(path, PassThrough);
        return null;
    }

    private static string? FindFault(string path, uint owner) =>
        UnixFileStatus.Read(path) is not { } status ? "it does not exist"
        : status.IsLink ? "it is a symbolic link"
        : !Directory.Exists(path) ? "it is not a directory"
        : status.Owner != owner ? "it belongs to another account"
        : (status.Permissions & Changes) != 0 ? "other accounts can change it"
        : null;

    private static RpcException NotSafe(RpcEndpoint endpoint, string path, string fault) => new(
        RpcStatusCode.PermissionDenied, RpcErrorIds.SocketDirectoryNotSafe,
        $"'{endpoint}' cannot be opened to other accounts: its socket would be in the directory '{path}', "
        + $"but {fault}. Remove it, or use a grpc+unix endpoint with a path that only this account and root "
        + "can change.", endpoint);

#pragma warning disable SYSLIB1054, IDE1006 // Named as in the C library.
    [LibraryImport("libc", StringMarshalling = StringMarshalling.Utf8)]
    private static partial int lchown(string path, uint user, uint group);
#pragma warning restore SYSLIB1054, IDE1006
}

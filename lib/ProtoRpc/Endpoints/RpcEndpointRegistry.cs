using System.IO.Enumeration;
using System.Runtime.Versioning;
using System.Security.AccessControl;
using System.Security.Principal;
using System.Text.Json.Nodes;
using Microsoft.Win32.SafeHandles;
using ProtoRpc.Endpoints;

namespace ProtoRpc;

/// <summary>The named endpoints of a user, in a JSON file. Safe for many threads and processes.</summary>
/// <remarks>
/// Each call reads the file. A change locks the file against other processes and replaces it in one step, so
/// that readers see either the old or the new file. Members that this version does not use are kept. On Unix,
/// the file is written with mode 0600, and rejected if others can write to it.
/// </remarks>
/// <example><code>
/// RpcEndpointRegistry registry = new(file);
/// registry.Register(new RpcNamedEndpoint("orders", RpcEndpoint.Parse("grpc://127.0.0.1:50051")));
/// RpcNamedEndpoint found = registry.Find("orders")[0];
/// await using RpcClient client = await RpcClient.ConnectAsync(found.Endpoint);
/// </code></example>
/// <param name="path">The file, which may not exist yet.</param>
public sealed class RpcEndpointRegistry(string path)
{
    /// <summary>The environment variable with the path of another file.</summary>
    public const string PathVariable = "PROTORPC_ENDPOINTS";

    private const int Listed = 10;

    private readonly EndpointFile _file = new(System.IO.Path.GetFullPath(path));

    /// <summary>The registry of this user: <c>$PROTORPC_ENDPOINTS</c>, otherwise
    /// <c>$XDG_CONFIG_HOME/ProtoRpc/endpoints.json</c> or <c>~/.config/ProtoRpc/endpoints.json</c>; on
    /// macOS <c>~/Library/Application Support/ProtoRpc/endpoints.json</c>, on Windows
    /// <c>%APPDATA%\ProtoRpc\endpoints.json</c>.</summary>
    public static RpcEndpointRegistry OfUser => new(
        Environment.GetEnvironmentVariable(PathVariable) is { Length: > 0 } given
            ? given
            : System.IO.Path.Combine(
                Environment.GetFolderPath(
                    Environment.SpecialFolder.ApplicationData, Environment.SpecialFolderOption.DoNotVerify),
                "ProtoRpc",
                "endpoints.json"));

    /// <summary>The path of the file.</summary>
    public string Path => _file.Path;

    /// <summary>All endpoints, by name.</summary>
    /// <exception cref="RpcException">FailedPrecondition or PermissionDenied: the file is damaged, from a
    /// newer version, or writable by others.</exception>
    public IReadOnlyList<RpcNamedEndpoint> Read() =>
        [.. _file.Read().Endpoints.OrderBy(endpoint => endpoint.Name, StringComparer.OrdinalIgnoreCase)];

    /// <summary>Finds the endpoints whose name matches a pattern and that have a tag.</summary>
    /// <param name="pattern">A name, or a pattern with <c>*</c> and <c>?</c>; case-insensitive.</param>
    /// <param name="tag">The tag, which may also contain wildcards; null for any.</param>
    /// <exception cref="RpcException">See <see cref="Read"/>.</exception>
    public IReadOnlyList<RpcNamedEndpoint> Find(string pattern, string? tag = null)
    {
        ArgumentNullException.ThrowIfNull(pattern);
        return
        [
            .. Read().Where(endpoint => Matches(pattern, endpoint.Name)
                && (tag is null || endpoint.Tag.Any(own => Matches(tag, own)))),
        ];
    }

    /// <summary>Finds the endpoints for a name or a pattern; at least one.</summary>
    /// <exception cref="RpcException">InvalidArgument: the text is neither a registered name nor an endpoint.
    /// NotFound: no name matches the pattern. For others, see <see cref="Read"/>.</exception>
    /// <param name="text">The text.</param>
    /// <param name="all">The result of <see cref="Read"/>, which is read once for many texts.</param>
    internal IReadOnlyList<RpcNamedEndpoint> Resolve(string text, Lazy<IReadOnlyList<RpcNamedEndpoint>> all)
    {
        IReadOnlyList<RpcNamedEndpoint> found = RpcNamedEndpoint.MayBeName(text)
            ? [.. all.Value.Where(endpoint => Matches(text, endpoint.Name))]
            : [];
        return found.Count > 0 ? found
            : RpcNamedEndpoint.IsPattern(text) ? throw NotFound(text)
            : throw NotAnEndpoint(text);
    }

    /// <summary>The error for a name that is not registered.</summary>
    internal RpcException NotFound(string name) => new(
        RpcStatusCode.NotFound, RpcErrorIds.EndpointNameNotFound,
        $"No endpoint is registered as '{TerminalText.Neutralize(name)}'. {Known(name)}");

    /// <summary>Adds an endpoint, or replaces the one with the same name.</summary>
    /// <param name="endpoint">The endpoint.</param>
    /// <param name="replace">Whether to replace an endpoint with the same name. Its members that this version
    /// does not use are kept.</param>
    /// <exception cref="RpcException">AlreadyExists: the name is registered. InvalidArgument: a secret is not
    /// a reference. For others, see <see cref="Read"/>.</exception>
    public void Register(RpcNamedEndpoint endpoint, bool replace = false)
    {
        ArgumentNullException.ThrowIfNull(endpoint);
        EndpointEntry.Check(endpoint);
        _file.Change(content =>
        {
            JsonObject? old = content.Remove(endpoint.Name);
            if (old is not null && !replace)
            {
                throw new RpcException(
                    RpcStatusCode.AlreadyExists, RpcErrorIds.EndpointNameTaken,
                    $"'{Path}' already has an endpoint with the name '{endpoint.Name}'.");
            }

            content.Add(endpoint, old);
            return true;
        });
    }

    /// <summary>Removes an endpoint.</summary>
    /// <returns>Whether the endpoint was registered.</returns>
    /// <exception cref="RpcException">See <see cref="Read"/>.</exception>
    public bool Unregister(string name)
    {
        ArgumentNullException.ThrowIfNull(name);
        return File.Exists(Path) && _file.Change(content => content.Remove(name) is not null);
    }

    private static bool Matches(string pattern, string text) =>
        FileSystemName.MatchesSimpleExpression(pattern, text, ignoreCase: true);

    private RpcException NotAnEndpoint(string text)
    {
        try
        {
            RpcEndpoint.Parse(text);
            return NotFound(text);
        }
        catch (RpcException e)
        {
            // Without a registered name, the user probably meant an endpoint, so its error is reported.
            return RpcNamedEndpoint.MayBeName(text) && Read().Any()
                ? new(e.Code, e.ErrorId, $"{e.Message} It is not a registered name either. {Known(text)}", e)
                : e;
        }
    }

    private string Known(string text)
    {
        IReadOnlyList<string> names = [.. Read().Select(endpoint => endpoint.Name)];
        return names.Count == 0 ? $"'{Path}' has no endpoints."
            : NearestName.Hint(text, names) is { Length: > 0 } hint ? hint.TrimStart()
            : $"'{Path}' has {string.Join(", ", names.Take(Listed))}{(names.Count > Listed ? ", ..." : ".")}";
    }
}

/// <summary>The file of named endpoints: read if it is safe, changed under a lock, and replaced in one
/// step.</summary>
internal sealed class EndpointFile(string path)
{
    private const int MaxBytes = 4 * 1024 * 1024;
    private const UnixFileMode OwnerOnly = UnixFileMode.UserRead | UnixFileMode.UserWrite;

    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(5);

    public string Path => path;

    /// <summary>Reads the file. A missing file is empty.</summary>
    /// <exception cref="RpcException">FailedPrecondition or PermissionDenied.</exception>
    public EndpointContent Read()
    {
        string target = Target();
        try
        {
            using FileStream stream = new(
                target, FileMode.Open, FileAccess.Read, FileShare.ReadWrite | FileShare.Delete);
            EndpointFileSafety.Check(path, target, stream.SafeFileHandle);
            byte[] bytes = new byte[MaxBytes + 1];
            int count = stream.ReadAtLeast(bytes, bytes.Length, throwOnEndOfStream: false);
            return count <= MaxBytes
                ? EndpointContent.Parse(path, bytes.AsSpan(0, count))
                : throw EndpointContent.Damaged(path, $"it has more than {MaxBytes:N0} bytes");
        }
        catch (Exception e) when (e is FileNotFoundException or DirectoryNotFoundException)
        {
            return EndpointContent.Empty(path);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw EndpointContent.Damaged(path, FileProblem.Describe(e, path), e);
        }
    }

    /// <summary>Changes the file, while no other process does.</summary>
    /// <param name="change">Changes the content; returns false to keep the file unchanged.</param>
    /// <returns>The result of the change.</returns>
    /// <exception cref="RpcException">FailedPrecondition, PermissionDenied or Unavailable. Also the
    /// exceptions of the change.</exception>
    public bool Change(Func<EndpointContent, bool> change)
    {
        try
        {
            string target = Target();
            Prepare(System.IO.Path.GetDirectoryName(target)!);
            using FileStream fileLock = Lock($"{target}.lock");
            EndpointContent content = Read();
            // Reading the endpoints rejects a damaged file, which its user must correct.
            _ = content.Endpoints;
            bool changed = change(content);
            if (changed)
            {
                Replace(target, content.ToBytes());
            }

            return changed;
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw new RpcException(
                e is IOException ? RpcStatusCode.FailedPrecondition : RpcStatusCode.PermissionDenied,
                RpcErrorIds.CannotWriteFile,
                $"The file of named endpoints '{path}' cannot be written: {FileProblem.Describe(e, path)}.",
                e);
        }
    }

    private static void Prepare(string folder)
    {
        if (OperatingSystem.IsWindows())
        {
            Directory.CreateDirectory(folder);
        }
        else
        {
            Directory.CreateDirectory(folder, OwnerOnly | UnixFileMode.UserExecute);
        }
    }

    // The system releases the lock when its process ends or crashes.
    private static FileStream Lock(string path)
    {
        long end = Environment.TickCount64 + (long)Patience.TotalMilliseconds;
        while (true)
        {
            try
            {
                return Open(path, FileMode.OpenOrCreate);
            }
            catch (IOException) when (Environment.TickCount64 < end)
            {
                Thread.Sleep(5);
            }
        }
    }

    private static FileStream Open(string path, FileMode mode)
    {
        FileStreamOptions options = new()
        {
            Mode = mode,
            Access = FileAccess.ReadWrite,
            Share = FileShare.None,
            BufferSize = 0,
        };
        if (!OperatingSystem.IsWindows())
        {
            options.UnixCreateMode = OwnerOnly;
        }

        return new FileStream(path, options);
    }

    // Written to a new file and then renamed, so that a crash or a concurrent reader only sees complete
    // content.
    private static void Replace(string target, byte[] bytes)
    {
        string fresh = $"{target}.{Guid.NewGuid():N}.tmp";
        try
        {
            using (FileStream stream = Open(fresh, FileMode.CreateNew))
            {
                stream.Write(bytes);
                stream.Flush(flushToDisk: true);
            }

            Move(fresh, target);
        }
        catch
        {
            File.Delete(fresh);
            throw;
        }
    }

    // On Windows, a file that another process reads cannot be replaced at that moment.
    private static void Move(string fresh, string target)
    {
        long end = Environment.TickCount64 + (long)Patience.TotalMilliseconds;
        while (true)
        {
            try
            {
                File.Move(fresh, target, overwrite: true);
                return;
            }
            catch (Exception e) when (OperatingSystem.IsWindows() && Environment.TickCount64 < end
                && e is (IOException and not FileNotFoundException) or UnauthorizedAccessException)
            {
                Thread.Sleep(5);
            }
        }
    }

    // Some tools replace the settings files of a user by links. The link stays and its target is replaced.
    private string Target()
    {
        try
        {
            return File.ResolveLinkTarget(path, returnFinalTarget: true)?.FullName ?? path;
        }
        catch (Exception e) when (e is FileNotFoundException or DirectoryNotFoundException)
        {
            return path;
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw EndpointContent.Damaged(path, FileProblem.Describe(e, path), e);
        }
    }
}

/// <summary>Refuses a file that others can change: they could send the user's calls and credentials to a
/// server of their own.</summary>
internal static class EndpointFileSafety
{
    private const UnixFileMode OthersWrite = UnixFileMode.GroupWrite | UnixFileMode.OtherWrite;
    private const uint Root = 0;

    /// <summary>Checks an open file.</summary>
    /// <param name="path">The path as the user wrote it.</param>
    /// <param name="target">The file itself.</param>
    /// <param name="handle">The open file.</param>
    /// <exception cref="RpcException">PermissionDenied.</exception>
    public static void Check(string path, string target, SafeFileHandle handle)
    {
        string? fault = OperatingSystem.IsWindows() ? FindFaultOnWindows(target) : FindFault(target, handle);
        if (fault is not null)
        {
            throw new RpcException(
                RpcStatusCode.PermissionDenied, RpcErrorIds.EndpointFileNotSafe,
                TerminalText.Neutralize(
                    $"The file of named endpoints '{path}' is not used: {fault} and send your calls "
                    + "and credentials to another server. Let only your account write to it "
                    + $"({(OperatingSystem.IsWindows() ? "icacls" : "chmod go-w")}), "
                    + "and check its content."));
        }
    }

    [UnsupportedOSPlatform("windows")]
    private static string? FindFault(string target, SafeFileHandle handle)
    {
        if ((File.GetUnixFileMode(handle) & OthersWrite) != 0)
        {
            return "others can write to it";
        }

        if (!IsOurs(target))
        {
            return "it belongs to another user";
        }

        // The group is not checked, because on many systems each user has a private group that may write to
        // the user's folders.
        string folder = Path.GetDirectoryName(target)!;
        UnixFileMode mode = File.GetUnixFileMode(folder);
        return mode.HasFlag(UnixFileMode.OtherWrite) && !mode.HasFlag(UnixFileMode.StickyBit)
            ? $"others can replace it, because they can write to '{folder}'"
            : null;
    }

    [UnsupportedOSPlatform("windows")]
    private static bool IsOurs(string target) =>
        UnixFileStatus.Read(target)?.Owner is not { } owner || owner == UnixAccounts.EffectiveUserId
        || owner == Root;

    [SupportedOSPlatform("windows")]
    private static string? FindFaultOnWindows(string target)
    {
        const FileSystemRights writing = FileSystemRights.WriteData | FileSystemRights.AppendData
            | FileSystemRights.ChangePermissions | FileSystemRights.TakeOwnership;
        SecurityIdentifier[] others =
        [
            new(WellKnownSidType.WorldSid, null), new(WellKnownSidType.AuthenticatedUserSid, null),
            new(WellKnownSidType.BuiltinUsersSid, null), new(WellKnownSidType.AnonymousSid, null),
        ];
        AuthorizationRuleCollection rules = new FileInfo(target).GetAccessControl()
            .GetAccessRules(includeExplicit: true, includeInherited: true, typeof(SecurityIdentifier));
        return rules.OfType<FileSystemAccessRule>().Any(
            rule => rule.AccessControlType == AccessControlType.Allow
                && (rule.FileSystemRights & writing) != 0
                && others.Contains(rule.IdentityReference))
            ? "others can write to it"
            : null;
    }
}

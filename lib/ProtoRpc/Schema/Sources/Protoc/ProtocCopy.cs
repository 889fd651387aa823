using System.Runtime.Versioning;
using System.Security.Cryptography;

namespace ProtoRpc.Schema.Sources.Protoc;

/// <summary>A copy of the shipped protoc in the user's cache, for where the shipped file cannot be executed:
/// another user installed it without the execute bit, or its file system forbids to execute.</summary>
[UnsupportedOSPlatform("windows")]
internal static class ProtocCopy
{
    private const UnixFileMode OwnerOnly =
        UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute;

    private static readonly Lock Copying = new();

    /// <summary>Returns the path of a copy with the same content. Creates the copy if it does not
    /// exist.</summary>
    /// <param name="shipped">The file to copy.</param>
    /// <param name="cacheHome">The value of XDG_CACHE_HOME.</param>
    /// <param name="home">The value of HOME.</param>
    /// <exception cref="RpcException">FailedPrecondition: no copy can be made that only this user can
    /// change.</exception>
    public static string Prepare(string shipped, string? cacheHome, string? home)
    {
        lock (Copying)
        {
            try
            {
                string folder = PrepareFolder(CacheOf(cacheHome, home));
                byte[] hash = HashOf(shipped);
                string copy = Path.Combine(folder, $"protoc-{Convert.ToHexStringLower(hash)}");
                if (!IsCopy(copy, hash))
                {
                    Copy(shipped, copy, hash);
                }

                return copy;
            }
            catch (Exception e) when (e is IOException or UnauthorizedAccessException)
            {
                throw ProtocLocator.Missing(
                    $"'{shipped}' is not executable for this user, and it cannot be copied to the "
                    + $"user's cache: {e.Message.TrimEnd('.')}. Run 'chmod +x' on it as its owner, set "
                    + "XDG_CACHE_HOME to a folder of this user that allows execution, or set PROTOC to "
                    + "another protoc.",
                    e);
            }
        }
    }

    // As the XDG base directory specification has it: relative paths are ignored.
    private static string CacheOf(string? cacheHome, string? home) =>
        Path.IsPathRooted(cacheHome) ? cacheHome
        : Path.IsPathRooted(home) ? Path.Combine(home, ".cache")
        : throw new IOException("neither XDG_CACHE_HOME nor HOME names a folder");

    private static string PrepareFolder(string cache)
    {
        Directory.CreateDirectory(cache, OwnerOnly);
        string real = new DirectoryInfo(cache).ResolveLinkTarget(returnFinalTarget: true)?.FullName ?? cache;
        CheckNotReplaceable(Path.TrimEndingDirectorySeparator(real));

        string folder = Path.Combine(cache, "protorpc");
        Directory.CreateDirectory(folder, OwnerOnly);
        // CreateDirectory also succeeds where something exists; that may be another user's.
        FileAttributes attributes = File.GetAttributes(folder);
        if ((attributes & FileAttributes.Directory) == 0 || (attributes & FileAttributes.ReparsePoint) != 0)
        {
            throw new IOException($"'{folder}' is a link or a file, not a folder");
        }

        if (UnixFileStatus.Read(folder)?.Owner != UnixAccounts.EffectiveUserId)
        {
            throw new IOException($"'{folder}' belongs to another user");
        }

        File.SetUnixFileMode(folder, OwnerOnly);
        return folder;
    }

    // Another user who can rename a folder could replace it after this check. With sudo, HOME may be the
    // folder of the other user.
    private static void CheckNotReplaceable(string cache)
    {
        foreach (string folder in new[] { cache, Path.GetDirectoryName(cache) ?? "/" }.Where(f => f != "/"))
        {
            if (UnixFileStatus.Read(folder)?.Owner is not { } owner
                || (owner != 0 && owner != UnixAccounts.EffectiveUserId))
            {
                throw new IOException($"'{folder}' belongs to another user, who can replace what is in it");
            }

            // In a folder like /tmp the sticky bit keeps others from replacing what is in it.
            UnixFileMode mode = File.GetUnixFileMode(folder);
            if ((mode & UnixFileMode.OtherWrite) != 0 && (mode & UnixFileMode.StickyBit) == 0)
            {
                throw new IOException($"every user can replace what is in '{folder}'");
            }
        }
    }

    // The folder may have been open to others before, so nothing in it is used by its name alone.
    private static bool IsCopy(string path, byte[] hash)
    {
        FileInfo file = new(path);
        return file.Exists
            && file.LinkTarget is null
            && UnixFileStatus.Read(path)?.Owner == UnixAccounts.EffectiveUserId
            && file.UnixFileMode == OwnerOnly
            && HashOf(path).AsSpan().SequenceEqual(hash);
    }

    private static void Copy(string shipped, string copy, byte[] hash)
    {
        string part = $"{copy}.{Guid.NewGuid():N}";
        try
        {
            FileStreamOptions create = new()
            {
                Mode = FileMode.CreateNew,
                Access = FileAccess.Write,
                UnixCreateMode = OwnerOnly,
            };
            using (FileStream target = new(part, create))
            using (FileStream source = File.OpenRead(shipped))
            {
                source.CopyTo(target);
            }

            // The umask may have taken bits away.
            File.SetUnixFileMode(part, OwnerOnly);
            if (!HashOf(part).AsSpan().SequenceEqual(hash))
            {
                throw new IOException("the file changed during the copy");
            }

            // Replaces a link instead of following it; a process that runs the old copy keeps it.
            File.Move(part, copy, overwrite: true);
        }
        finally
        {
            File.Delete(part);
        }
    }

    private static byte[] HashOf(string path)
    {
        using FileStream stream = File.OpenRead(path);
        return SHA256.HashData(stream);
    }
}

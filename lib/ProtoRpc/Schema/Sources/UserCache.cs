using System.Runtime.Versioning;

namespace ProtoRpc.Schema.Sources;

/// <summary>The folder for what programs can make again at any time.</summary>
internal static class UserCache
{
    /// <summary>ProtoRpc's folder in it.</summary>
    public const string Name = "protorpc";

    /// <summary>The folder of this user.</summary>
    /// <exception cref="IOException">The environment names none.</exception>
    public static string Find() => OperatingSystem.IsWindows()
        ? Environment.GetFolderPath(
            Environment.SpecialFolder.LocalApplicationData, Environment.SpecialFolderOption.DoNotVerify)
            is { Length: > 0 } local ? local : throw new IOException("LOCALAPPDATA names no folder")
        : Find(
            Environment.GetEnvironmentVariable("XDG_CACHE_HOME"), Environment.GetEnvironmentVariable("HOME"));

    /// <summary>The folder on Unix: that of the XDG base directory specification, by which relative paths are
    /// ignored, or that of macOS.</summary>
    /// <param name="cacheHome">The value of XDG_CACHE_HOME.</param>
    /// <param name="home">The value of HOME.</param>
    /// <exception cref="IOException">Neither names a folder.</exception>
    [UnsupportedOSPlatform("windows")]
    public static string Find(string? cacheHome, string? home) =>
        Path.IsPathRooted(cacheHome) ? cacheHome
        : !Path.IsPathRooted(home)
            ? throw new IOException("neither XDG_CACHE_HOME nor HOME names a folder")
        : OperatingSystem.IsMacOS() ? Path.Combine(home, "Library", "Caches")
        : Path.Combine(home, ".cache");
}

/// <summary>Folders of Unix that only this account can change, and in whose place others cannot put another
/// one.</summary>
[UnsupportedOSPlatform("windows")]
internal static class OwnFolder
{
    /// <summary>The mode of a new folder.</summary>
    public const UnixFileMode Mode =
        UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute;

    /// <summary>Makes the folder if it does not exist.</summary>
    /// <param name="parent">The folder above, which may be a link. It is also made.</param>
    /// <param name="name">The name of the folder.</param>
    /// <exception cref="IOException">It is a link, belongs to another account, or others can replace
    /// it.</exception>
    public static string Prepare(string parent, string name)
    {
        string existing = parent;
        while (!Directory.Exists(existing) && Path.GetDirectoryName(existing) is { } above)
        {
            existing = above;
        }

        // Checked before the folder is created: with sudo, root would create it in another user's folder.
        CheckNotReplaceable(existing);
        Directory.CreateDirectory(parent, Mode);
        CheckNotReplaceable(parent);

        string folder = Path.Combine(parent, name);
        Directory.CreateDirectory(folder, Mode);
        // CreateDirectory also succeeds for an existing folder, which may belong to another user.
        FileAttributes attributes = File.GetAttributes(folder);
        if ((attributes & FileAttributes.Directory) == 0 || (attributes & FileAttributes.ReparsePoint) != 0)
        {
            throw new IOException($"'{folder}' is a link or a file, not a folder");
        }

        return UnixFileStatus.Read(folder)?.Owner == UnixAccounts.EffectiveUserId
            ? folder
            : throw new IOException($"'{folder}' belongs to another user");
    }

    // Another user who can rename a folder could replace it after this check. With sudo, HOME may be the
    // folder of the other user.
    private static void CheckNotReplaceable(string path)
    {
        string parent = Path.TrimEndingDirectorySeparator(
            new DirectoryInfo(path).ResolveLinkTarget(returnFinalTarget: true)?.FullName ?? path);
        foreach (string folder in new[] { parent, Path.GetDirectoryName(parent) ?? "/" }.Where(f => f != "/"))
        {
            if (UnixFileStatus.Read(folder)?.Owner is not { } owner
                || (owner != 0 && owner != UnixAccounts.EffectiveUserId))
            {
                throw new IOException($"'{folder}' belongs to another user, who can replace what is in it");
            }

            // The sticky bit of a folder such as /tmp keeps other users from replacing files in it.
            UnixFileMode mode = File.GetUnixFileMode(folder);
            if ((mode & UnixFileMode.OtherWrite) != 0 && (mode & UnixFileMode.StickyBit) == 0)
            {
                throw new IOException($"every user can replace what is in '{folder}'");
            }
        }
    }
}

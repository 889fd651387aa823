using System.Runtime.Versioning;
using System.Security.AccessControl;
using System.Security.Principal;

namespace ProtoRpc.Schema.Sources;

/// <summary>A cache folder of files. Only this account can read and change them. Processes share it without
/// locks: a file is written under a temporary name and then renamed.</summary>
/// <remarks>An error only costs time, so errors are not reported.</remarks>
/// <param name="path">The full path of the folder.</param>
internal sealed class CacheFolder(string path)
{
    /// <summary>The extension of the files. Files with other extensions are not touched.</summary>
    public const string Ending = ".rpcschema";

    private const UnixFileMode OwnerOnly = UnixFileMode.UserRead | UnixFileMode.UserWrite;

    // A file that was used within this time is not marked as used again.
    private static readonly TimeSpan Mark = TimeSpan.FromHours(1);

    /// <summary>The full path.</summary>
    public string Path => path;

    /// <summary>How many files the folder may have.</summary>
    public int MaxFiles { get; init; } = 256;

    /// <summary>How many bytes the files may have together.</summary>
    public long MaxBytes { get; init; } = 64 * 1024 * 1024;

    /// <summary>How many bytes a file may have.</summary>
    public int MaxFileBytes { get; init; } = 16 * 1024 * 1024;

    /// <summary>Reads a file.</summary>
    /// <param name="name">The name, without the ending.</param>
    /// <returns>Null if it does not exist, is not safe to use, or cannot be read.</returns>
    public byte[]? Read(string name)
    {
        string file = FileOf(name);
        try
        {
            if (!File.Exists(file))
            {
                return null;
            }

            Prepare();
            // A pipe would wait for a writer when it is opened.
            if (!OperatingSystem.IsWindows() && !IsOwn(UnixFileStatus.Read(file)))
            {
                return null;
            }

            using FileStream stream = new(
                file, FileMode.Open, FileAccess.Read, FileShare.ReadWrite | FileShare.Delete, bufferSize: 0);
            if (stream.Length > MaxFileBytes || !IsOwn(stream, file))
            {
                return null;
            }

            byte[] bytes = new byte[stream.Length];
            stream.ReadExactly(bytes);
            MarkAsUsed(file);
            return bytes;
        }
        catch (Exception e) when (IsRefusal(e))
        {
            return null;
        }
    }

    /// <summary>Writes a file. If the folder has too many files, deletes those that were unused for the
    /// longest time.</summary>
    /// <param name="name">The name, without the ending.</param>
    /// <param name="bytes">The content.</param>
    public void Write(string name, byte[] bytes)
    {
        if (bytes.Length > MaxFileBytes)
        {
            return;
        }

        // The temporary file has the same ending, so that Trim also counts and deletes the file of a killed
        // process.
        string temporary = FileOf($"{Guid.NewGuid():N}");
        try
        {
            Prepare();
            try
            {
                WriteNew(temporary, bytes);
                File.Move(temporary, FileOf(name), overwrite: true);
            }
            catch (Exception e) when (IsRefusal(e))
            {
                File.Delete(temporary);
                return;
            }

            Trim();
        }
        catch (Exception e) when (IsRefusal(e))
        {
        }
    }

    private static bool IsRefusal(Exception e) =>
        e is IOException or UnauthorizedAccessException or ArgumentException or NotSupportedException
            or System.Security.SecurityException;

    private static void WriteNew(string file, byte[] bytes)
    {
        FileStreamOptions options = new()
        {
            Mode = FileMode.CreateNew,
            Access = FileAccess.Write,
            BufferSize = 0,
        };
        if (!OperatingSystem.IsWindows())
        {
            options.UnixCreateMode = OwnerOnly;
        }

        using FileStream stream = new(file, options);
        stream.Write(bytes);
    }

    private string FileOf(string name) => System.IO.Path.Combine(path, name + Ending);

    private void Prepare()
    {
        if (OperatingSystem.IsWindows())
        {
            WindowsCacheFolder.Prepare(path);
            return;
        }

        string parent = System.IO.Path.GetDirectoryName(path) ?? "/";
        string folder = OwnFolder.Prepare(parent, System.IO.Path.GetFileName(path));
        if ((File.GetUnixFileMode(folder) & (UnixFileMode.GroupWrite | UnixFileMode.OtherWrite)) != 0)
        {
            throw new IOException($"others can write to '{folder}'");
        }
    }

    private static bool IsOwn(FileStream stream, string file) => OperatingSystem.IsWindows()
        ? WindowsCacheFolder.IsOwn(stream, file)
        : IsOwn(UnixFileStatus.Read(stream.SafeFileHandle));

    [UnsupportedOSPlatform("windows")]
    private static bool IsOwn(UnixFileStatus? status) =>
        status is { IsRegular: true, Links: 1, Permissions: OwnerOnly } file
        && file.Owner == UnixAccounts.EffectiveUserId;

    private static void MarkAsUsed(string file)
    {
        DateTime now = DateTime.UtcNow;
        try
        {
            if (now - File.GetLastWriteTimeUtc(file) > Mark)
            {
                File.SetLastWriteTimeUtc(file, now);
            }
        }
        catch (Exception e) when (IsRefusal(e))
        {
            // A file whose time cannot be changed can still be read.
        }
    }

    private void Trim()
    {
        // Other processes may delete files at the same time.
        FileInfo[] files =
            [.. new DirectoryInfo(path).GetFiles($"*{Ending}").Where(file => file.Exists)];
        long bytes = files.Sum(file => file.Length);
        int count = files.Length;
        foreach (FileInfo file in files.OrderBy(file => file.LastWriteTimeUtc))
        {
            if (count <= MaxFiles && bytes <= MaxBytes)
            {
                break;
            }

            bytes -= file.Length;
            count--;
            file.Delete();
        }
    }
}

/// <summary>The same on Windows, where the folder's access list decides.</summary>
[SupportedOSPlatform("windows")]
internal static class WindowsCacheFolder
{
    private const FileSystemRights Writing =
        FileSystemRights.WriteData | FileSystemRights.AppendData
        | FileSystemRights.DeleteSubdirectoriesAndFiles
        | FileSystemRights.ChangePermissions | FileSystemRights.TakeOwnership;

    /// <summary>Creates the folder for this account only, if it does not exist.</summary>
    /// <exception cref="IOException">It is a link, belongs to another account, or others can write to
    /// it.</exception>
    public static void Prepare(string path)
    {
        DirectoryInfo folder = new(path);
        using WindowsIdentity self = WindowsIdentity.GetCurrent();
        if (!folder.Exists)
        {
            const InheritanceFlags all = InheritanceFlags.ContainerInherit | InheritanceFlags.ObjectInherit;
            DirectorySecurity security = new();
            security.SetAccessRuleProtection(isProtected: true, preserveInheritance: false);
            foreach (SecurityIdentifier account in new[]
                { self.User!, new SecurityIdentifier(WellKnownSidType.BuiltinAdministratorsSid, null) })
            {
                security.AddAccessRule(new FileSystemAccessRule(
                    account, FileSystemRights.FullControl, all, PropagationFlags.None,
                    AccessControlType.Allow));
            }

            folder.Create(security);
            folder.Refresh();
        }

        if (folder.LinkTarget is not null || (folder.Attributes & FileAttributes.ReparsePoint) != 0)
        {
            throw new IOException($"'{path}' is a link");
        }

        if (!IsOwn(folder.GetAccessControl(), self))
        {
            throw new IOException($"'{path}' belongs to others, or others can write to it");
        }
    }

    /// <summary>Whether an open file belongs to this account, and is no link.</summary>
    public static bool IsOwn(FileStream stream, string file)
    {
        using WindowsIdentity self = WindowsIdentity.GetCurrent();
        return new FileInfo(file).LinkTarget is null && IsOwn(stream.GetAccessControl(), self);
    }

    private static bool IsOwn(FileSystemSecurity security, WindowsIdentity self)
    {
        SecurityIdentifier[] others =
        [
            new(WellKnownSidType.WorldSid, null), new(WellKnownSidType.AuthenticatedUserSid, null),
            new(WellKnownSidType.BuiltinUsersSid, null), new(WellKnownSidType.AnonymousSid, null),
        ];
        return security.GetOwner(typeof(SecurityIdentifier)) is SecurityIdentifier owner
            && (owner == self.User || owner == self.Owner
                || owner.IsWellKnown(WellKnownSidType.BuiltinAdministratorsSid)
                || owner.IsWellKnown(WellKnownSidType.LocalSystemSid))
            && !security.GetAccessRules(
                    includeExplicit: true, includeInherited: true, typeof(SecurityIdentifier))
                .OfType<FileSystemAccessRule>().Any(
                    rule => rule.AccessControlType == AccessControlType.Allow
                        && (rule.FileSystemRights & Writing) != 0
                        && others.Contains(rule.IdentityReference));
    }
}

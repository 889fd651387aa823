using System.Collections.Concurrent;
using System.Runtime.Versioning;
using System.Security.AccessControl;
using System.Security.Principal;
using IOPath = System.IO.Path;

namespace ProtoRpc.Transports.Files;

/// <summary>A file to which lines are appended. It is opened again by its path if it was moved. For one
/// thread.</summary>
internal sealed class AppendedFile(string path) : IDisposable
{
    // A new file at the path can have the same length by chance, so the file is reopened after this time.
    private static readonly TimeSpan LongestOpen = TimeSpan.FromSeconds(1);

    // .NET opens files on Unix without O_APPEND, so writers of this process take turns to seek to the end.
    private static readonly ConcurrentDictionary<string, Lock> Gates = new();

    private readonly Lock _gate = Gates.GetOrAdd(IOPath.GetFullPath(path), static _ => new Lock());
    private FileStream? _stream;
    private long _opened;

    /// <summary>The full path.</summary>
    public string Path { get; } = IOPath.GetFullPath(path);

    /// <summary>Whether an exception means that a file cannot be opened or written.</summary>
    public static bool IsRefusal(Exception error) =>
        error is IOException or UnauthorizedAccessException or NotSupportedException or ArgumentException
            or System.Security.SecurityException;

    /// <summary>Appends whole lines: all of them, or none.</summary>
    /// <exception cref="IOException">And others; see <see cref="IsRefusal"/>.</exception>
    public void Append(ReadOnlyMemory<byte> lines)
    {
        lock (_gate)
        {
            FileStream stream = Open();
            long end = stream.CanSeek ? stream.Seek(0, SeekOrigin.End) : 0;
            try
            {
                stream.Write(lines.Span);
            }
            catch (Exception)
            {
                CutOff(stream, end);
                throw;
            }
        }
    }

    public void Dispose()
    {
        lock (_gate)
        {
            Close();
        }
    }

    private FileStream Open()
    {
        if (_stream is not null && IsStillThere(_stream))
        {
            return _stream;
        }

        Close();
        _stream = OwnFile.OpenToAppend(Path);
        _opened = Environment.TickCount64;
        if (_stream.CanSeek && !EndsWithLine(_stream.Length))
        {
            // A killed process or a full disk left an incomplete line.
            _stream.Seek(0, SeekOrigin.End);
            _stream.WriteByte((byte)'\n');
        }

        return _stream;
    }

    // After log rotation, the path has no file or a new one, which has another length.
    private bool IsStillThere(FileStream stream) => !stream.CanSeek
        || (Environment.TickCount64 - _opened < LongestOpen.TotalMilliseconds
            && new FileInfo(Path) is { Exists: true } found && found.Length == stream.Length);

    private bool EndsWithLine(long length)
    {
        if (length == 0)
        {
            return true;
        }

        try
        {
            using FileStream read = new(
                Path, FileMode.Open, FileAccess.Read, FileShare.ReadWrite | FileShare.Delete, bufferSize: 0);
            read.Seek(length - 1, SeekOrigin.Begin);
            return read.ReadByte() == '\n';
        }
        catch (Exception e) when (IsRefusal(e))
        {
            // The file can be written but not read, so its last byte is unknown.
            return true;
        }
    }

    private void CutOff(FileStream stream, long end)
    {
        try
        {
            if (stream.CanSeek)
            {
                stream.SetLength(end);
            }
        }
        catch (Exception e) when (IsRefusal(e))
        {
        }

        Close();
    }

    private void Close()
    {
        try
        {
            _stream?.Dispose();
        }
        catch (Exception e) when (IsRefusal(e))
        {
            // The stream has no buffer, so no data is lost.
        }

        _stream = null;
    }
}

/// <summary>Opens a file for appending that only its owner can read, because it may contain messages of
/// others. A file that another account created at the path is rejected.</summary>
internal static class OwnFile
{
    // The permissions that other accounts must not have. The group may read, because log rotation with
    // "create 0640" allows it.
    private const UnixFileMode OfOthers = UnixFileMode.OtherRead | UnixFileMode.OtherWrite;

    private static readonly string[] Streams = ["/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/self/fd/"];

    /// <summary>Opens or creates the file, which only its owner can read and write.</summary>
    /// <exception cref="IOException">The file belongs to others, is a link, or cannot be opened.</exception>
    /// <exception cref="UnauthorizedAccessException">This account may not write it.</exception>
    public static FileStream OpenToAppend(string path) =>
        OperatingSystem.IsWindows() ? OpenOnWindows(path) : OpenOnUnix(path);

    // A new file is only created if the path does not exist, not even as a link without a target. Between the
    // two checks, log rotation may create or remove the file, so there are several attempts.
    [UnsupportedOSPlatform("windows")]
    private static FileStream OpenOnUnix(string path)
    {
        const int Attempts = 3;
        for (int attempt = 1; ; attempt++)
        {
            bool isThere = UnixFileStatus.Read(path) is not null;
            try
            {
                // New files are checked as well: some file systems assign all files to one account, or allow
                // access to all.
                return RequireOwn(new(path, OptionsOf(isThere ? FileMode.Open : FileMode.CreateNew)), path);
            }
            catch (IOException e) when (attempt < Attempts
                && (isThere ? e is FileNotFoundException : UnixFileStatus.Read(path) is not null))
            {
                // The path is a link whose target does not exist.
                if (isThere && UnixFileStatus.Read(path) is { IsLink: true })
                {
                    throw Rejected("it is a symbolic link");
                }
            }
        }
    }

    [UnsupportedOSPlatform("windows")]
    private static FileStreamOptions OptionsOf(FileMode mode)
    {
        FileStreamOptions options = new()
        {
            Mode = mode,
            Access = FileAccess.Write,
            Share = FileShare.ReadWrite | FileShare.Delete,
            BufferSize = 0,
        };
        if (mode == FileMode.CreateNew)
        {
            options.UnixCreateMode = UnixFileMode.UserRead | UnixFileMode.UserWrite;
        }

        return options;
    }

    [UnsupportedOSPlatform("windows")]
    private static FileStream RequireOwn(FileStream stream, string path)
    {
        try
        {
            return FindFault(stream, path) is { } fault ? throw Rejected(fault) : stream;
        }
        catch
        {
            stream.Dispose();
            throw;
        }
    }

    [UnsupportedOSPlatform("windows")]
    private static string? FindFault(FileStream stream, string path)
    {
        // The process's starter chooses the standard streams, and their pipes may belong to another account.
        if (IsStandardStream(path))
        {
            return null;
        }

        if (UnixFileStatus.Read(stream.SafeFileHandle) is not { } file)
        {
            return "the system does not report who owns it";
        }

        UnixFileStatus? named = UnixFileStatus.Read(path);
        if (named is { IsLink: true } link)
        {
            // Container images log to links to /dev/stdout that belong to root.
            return FindForeignOwner(link) is not null ? "it is a symbolic link of another account"
                : !file.IsRegular || IsStandardStream(new FileInfo(path).LinkTarget ?? "") ? null
                : "it is a symbolic link";
        }

        if (!file.IsRegular)
        {
            // A terminal or /dev/null is allowed. The owner of a named pipe can read from it, so the owner is
            // checked.
            return file.IsFifo ? FindForeignOwner(file) : null;
        }

        return named is not { } now || (now.Inode, now.Device) != (file.Inode, file.Device)
                ? "it was replaced while it was opened"
            : FindForeignOwner(file) is { } foreign ? foreign
            : file.Links > 1 ? "it has another name (a hard link), under which others may read it"
            : (file.Permissions & OfOthers) != 0
                || (file.Owner == UnixAccounts.EffectiveUserId
                    && file.Permissions.HasFlag(UnixFileMode.GroupWrite))
                ? "other accounts may read or write it; set its mode to 0600"
            : null;
    }

    [UnsupportedOSPlatform("windows")]
    private static string? FindForeignOwner(UnixFileStatus file) =>
        file.Owner == UnixAccounts.EffectiveUserId || file.Owner == 0
            ? null
            : $"it belongs to the account {TerminalText.Neutralize(UnixAccounts.NameOf(file.Owner))}";

    private static bool IsStandardStream(string path) => Array.Exists(
        Streams, stream => path.StartsWith(stream, StringComparison.Ordinal)
            && (!stream.EndsWith('/')
                ? path.Length == stream.Length
                : int.TryParse(path.AsSpan(stream.Length), out _)));

    private static IOException Rejected(string fault) => new(fault);

    [SupportedOSPlatform("windows")]
    private static FileStream OpenOnWindows(string path)
    {
        FileInfo file = new(path);
        if (file.LinkTarget is not null)
        {
            throw Rejected("it is a symbolic link");
        }

        FileStream stream = file.Create(
            FileMode.OpenOrCreate,
            FileSystemRights.Write | FileSystemRights.ReadAttributes | FileSystemRights.ReadPermissions
            | FileSystemRights.Synchronize,
            FileShare.ReadWrite | FileShare.Delete,
            bufferSize: 1,
            FileOptions.None,
            OwnerOnly());
        try
        {
            return FindFault(stream) is { } fault ? throw Rejected(fault) : stream;
        }
        catch
        {
            stream.Dispose();
            throw;
        }
    }

    [SupportedOSPlatform("windows")]
    private static string? FindFault(FileStream stream)
    {
        // NUL and the console are devices that belong to the system.
        if (!stream.CanSeek
            || stream.GetAccessControl().GetOwner(typeof(SecurityIdentifier)) is not SecurityIdentifier owner)
        {
            return null;
        }

        using WindowsIdentity self = WindowsIdentity.GetCurrent();
        return owner == self.User || owner == self.Owner
            || owner.IsWellKnown(WellKnownSidType.LocalSystemSid)
            || owner.IsWellKnown(WellKnownSidType.BuiltinAdministratorsSid)
                ? null
                : $"it belongs to the account {owner.Value}";
    }

    [SupportedOSPlatform("windows")]
    private static FileSecurity OwnerOnly()
    {
        using WindowsIdentity owner = WindowsIdentity.GetCurrent();
        FileSecurity security = new();
        security.SetAccessRuleProtection(isProtected: true, preserveInheritance: false);
        security.AddAccessRule(new FileSystemAccessRule(
            owner.User!, FileSystemRights.FullControl, AccessControlType.Allow));
        security.AddAccessRule(new FileSystemAccessRule(
            new SecurityIdentifier(WellKnownSidType.BuiltinAdministratorsSid, null),
            FileSystemRights.FullControl, AccessControlType.Allow));
        return security;
    }
}

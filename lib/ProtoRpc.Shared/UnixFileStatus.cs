using System.Buffers;
using System.Globalization;
using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using System.Text;
using Microsoft.Win32.SafeHandles;

namespace ProtoRpc;

/// <summary>The status of a file on Unix.</summary>
/// <param name="Owner">The user id of the owner.</param>
/// <param name="Mode">Type and permissions, as in <c>st_mode</c>.</param>
/// <param name="Links">The number of its names.</param>
/// <param name="Inode">Identifies the file on its device.</param>
/// <param name="Device">The device.</param>
/// <param name="Changed">When its content, names or permissions changed last.</param>
[UnsupportedOSPlatform("windows")]
internal readonly unsafe partial record struct UnixFileStatus(
    uint Owner, int Mode, uint Links, ulong Inode, ulong Device, DateTime Changed)
{
    private const int TypeMask = 0xF000;
    private const int RegularType = 0x8000;
    private const int LinkType = 0xA000;
    private const int FifoType = 0x1000;
    private const int PermissionMask = 0xFFF;

    // statx(2): its structure is the same on all Linux architectures, unlike that of stat.
    private const int CurrentDirectory = -100;
    private const int NoFollow = 0x100;
    private const int EmptyPath = 0x1000;
    private const uint BasicStatus = 0x7FF;
    private const int StatusSize = 256;

    // The last second of the year 9999, and the last nanosecond of a second.
    private const long MaxSeconds = 253_402_300_799;
    private const long MaxNanoseconds = 999_999_999;

    /// <summary>Whether it is a regular file, and not a pipe, a device or a folder.</summary>
    public bool IsRegular => (Mode & TypeMask) == RegularType;

    /// <summary>Whether it is a symbolic link.</summary>
    public bool IsLink => (Mode & TypeMask) == LinkType;

    /// <summary>Whether it is a pipe.</summary>
    public bool IsFifo => (Mode & TypeMask) == FifoType;

    /// <summary>The permissions of the owner, the group and others.</summary>
    public UnixFileMode Permissions => (UnixFileMode)(Mode & PermissionMask);

    /// <summary>Reads the status of a file or folder, of a link itself.</summary>
    /// <returns>Null if the path has none, or the system does not report it.</returns>
    public static UnixFileStatus? Read(string path)
    {
        byte* result = stackalloc byte[StatusSize];
        fixed (byte* name = Encoding.UTF8.GetBytes(path + "\0"))
        {
            int error =
                OperatingSystem.IsLinux() ? statx(CurrentDirectory, name, NoFollow, BasicStatus, result)
                : RuntimeInformation.ProcessArchitecture == Architecture.X64 ? lstat_inode64(name, result)
                : lstat(name, result);
            return error == 0 ? Parse(result) : null;
        }
    }

    /// <summary>Reads the status of an open file.</summary>
    /// <returns>Null if the system does not report it.</returns>
    public static UnixFileStatus? Read(SafeFileHandle file)
    {
        byte* result = stackalloc byte[StatusSize];
        byte none = 0;
        bool isHeld = false;
        try
        {
            file.DangerousAddRef(ref isHeld);
            int descriptor = (int)file.DangerousGetHandle();
            int error =
                OperatingSystem.IsLinux() ? statx(descriptor, &none, EmptyPath, BasicStatus, result)
                : RuntimeInformation.ProcessArchitecture == Architecture.X64
                    ? fstat_inode64(descriptor, result)
                : fstat(descriptor, result);
            return error == 0 ? Parse(result) : null;
        }
        finally
        {
            if (isHeld)
            {
                file.DangerousRelease();
            }
        }
    }

    // The layouts of struct statx, and of macOS' struct stat with 64-bit inodes.
    private static UnixFileStatus Parse(byte* status) => OperatingSystem.IsLinux()
        ? new(
            Owner: *(uint*)(status + 20), Mode: *(ushort*)(status + 28), Links: *(uint*)(status + 16),
            Inode: *(ulong*)(status + 32), Device: *(ulong*)(status + 136),
            Changed: TimeOf(*(long*)(status + 96), *(uint*)(status + 104)))
        : new(
            Owner: *(uint*)(status + 16), Mode: *(ushort*)(status + 4), Links: *(ushort*)(status + 6),
            Inode: *(ulong*)(status + 8), Device: *(uint*)status,
            Changed: TimeOf(*(long*)(status + 64), *(long*)(status + 72)));

    // A file system can report years that DateTime does not support.
    private static DateTime TimeOf(long seconds, long nanoseconds) => DateTime.UnixEpoch.AddTicks(
        (Math.Clamp(seconds, 0, MaxSeconds) * TimeSpan.TicksPerSecond)
        + (Math.Clamp(nanoseconds, 0, MaxNanoseconds) / TimeSpan.NanosecondsPerTick));

#pragma warning disable SYSLIB1054, IDE1006 // Named as in the C library.
    [LibraryImport("libc")]
    private static partial int statx(int directory, byte* path, int flags, uint mask, byte* result);

    [LibraryImport("libc")]
    private static partial int lstat(byte* path, byte* result);

    [LibraryImport("libc", EntryPoint = "lstat$INODE64")]
    private static partial int lstat_inode64(byte* path, byte* result);

    [LibraryImport("libc")]
    private static partial int fstat(int file, byte* result);

    [LibraryImport("libc", EntryPoint = "fstat$INODE64")]
    private static partial int fstat_inode64(int file, byte* result);
#pragma warning restore SYSLIB1054, IDE1006
}

/// <summary>Users of a Unix system, from its C library.</summary>
[UnsupportedOSPlatform("windows")]
internal static unsafe partial class UnixAccounts
{
    private const int PasswordEntrySize = 256;
    private const int OutOfRange = 34;
    private const int MaxTextSize = 1 << 20;
    private const uint UsualUnmappedUserId = 65534;

    /// <summary>The user that this process acts as.</summary>
    public static uint EffectiveUserId => geteuid();

    /// <summary>The id that the kernel reports for all users that have no id in this container; null if each
    /// user has one.</summary>
    public static uint? UnmappedUserId
    {
        get
        {
            if (!OperatingSystem.IsLinux())
            {
                return null;
            }

            try
            {
                // user_namespaces(7): id inside, id outside, count. Outside containers, a single line maps
                // all ids.
                string[] map = File.ReadAllText("/proc/self/uid_map").Split(
                    (char[]?)null, StringSplitOptions.RemoveEmptyEntries);
                return map is ["0", "0", "4294967295"]
                    ? null
                    : uint.Parse(
                        File.ReadAllText("/proc/sys/kernel/overflowuid"), CultureInfo.InvariantCulture);
            }
            catch (Exception e) when (e is IOException or UnauthorizedAccessException or FormatException)
            {
                return UsualUnmappedUserId;
            }
        }
    }

    /// <summary>The id of a user.</summary>
    /// <returns>Null if the system has no user of this name.</returns>
    public static uint? FindUserId(string name)
    {
        byte* entry = stackalloc byte[PasswordEntrySize];
        byte[] nameBytes = Encoding.UTF8.GetBytes(name + "\0");
        for (int size = 1024; size <= MaxTextSize; size *= 4)
        {
            byte[] text = new byte[size];
            void* found = null;
            int error;
            fixed (byte* namePointer = nameBytes, textPointer = text)
            {
                error = getpwnam_r(namePointer, entry, textPointer, (nuint)size, &found);
            }

            if (error != OutOfRange)
            {
                // On every system, the id follows the pointers to name and password.
                return error == 0 && found != null ? *(uint*)(entry + (2 * sizeof(nint))) : null;
            }
        }

        return null;
    }

    /// <summary>The name of a user, or its number where the system has no name for it.</summary>
    public static string NameOf(uint userId)
    {
        byte* entry = stackalloc byte[PasswordEntrySize];
        for (int size = 1024; size <= MaxTextSize; size *= 4)
        {
            byte[] text = ArrayPool<byte>.Shared.Rent(size);
            try
            {
                fixed (byte* textPointer = text)
                {
                    void* found = null;
                    int error = getpwuid_r(userId, entry, textPointer, (nuint)text.Length, &found);
                    if (error == OutOfRange)
                    {
                        continue;
                    }

                    // The name is the first member of struct passwd on every system.
                    return error == 0 && found != null
                        ? Marshal.PtrToStringUTF8(*(nint*)entry)!
                        : userId.ToString(CultureInfo.InvariantCulture);
                }
            }
            finally
            {
                ArrayPool<byte>.Shared.Return(text);
            }
        }

        return userId.ToString(CultureInfo.InvariantCulture);
    }

#pragma warning disable SYSLIB1054, IDE1006 // Named as in the C library.
    [LibraryImport("libc")]
    private static partial uint geteuid();

    [LibraryImport("libc")]
    private static partial int getpwuid_r(uint uid, void* entry, byte* text, nuint size, void** result);

    [LibraryImport("libc")]
    private static partial int getpwnam_r(
        byte* name, void* entry, byte* text, nuint size, void** result);
#pragma warning restore SYSLIB1054, IDE1006
}

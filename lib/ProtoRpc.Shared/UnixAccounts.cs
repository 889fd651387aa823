using System.Buffers;
using System.Globalization;
using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using System.Text;

namespace ProtoRpc;

/// <summary>Users of a Unix system, from its C library.</summary>
[UnsupportedOSPlatform("windows")]
internal static unsafe partial class UnixAccounts
{
    private const int PasswordEntrySize = 256;
    private const int OutOfRange = 34;
    private const int MaxTextSize = 1 << 20;

    // statx(2), whose result looks the same on every Linux architecture, unlike that of stat.
    private const int CurrentDirectory = -100;
    private const int NoFollow = 0x100;
    private const uint UserIdMask = 0x08;
    private const int StatxSize = 256;
    private const int StatxUserId = 20;

    // struct stat of macOS with 64-bit inodes.
    private const int MacStatUserId = 16;

    /// <summary>The user that this process acts as.</summary>
    public static uint EffectiveUserId => geteuid();

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

    /// <summary>The owner of a file or directory, of a link itself.</summary>
    /// <returns>Null if the system does not report it.</returns>
    public static uint? OwnerOf(string path)
    {
        byte[] name = Encoding.UTF8.GetBytes(path + "\0");
        byte* result = stackalloc byte[StatxSize];
        fixed (byte* namePointer = name)
        {
            if (OperatingSystem.IsLinux())
            {
                return statx(CurrentDirectory, namePointer, NoFollow, UserIdMask, result) == 0
                    ? *(uint*)(result + StatxUserId)
                    : null;
            }

            int error = RuntimeInformation.ProcessArchitecture == Architecture.X64
                ? lstat_inode64(namePointer, result)
                : lstat(namePointer, result);
            return error == 0 ? *(uint*)(result + MacStatUserId) : null;
        }
    }

#pragma warning disable SYSLIB1054, IDE1006 // Named as in the C library.
    [LibraryImport("libc")]
    private static partial uint geteuid();

    [LibraryImport("libc")]
    private static partial int getpwuid_r(uint uid, void* entry, byte* text, nuint size, void** result);

    [LibraryImport("libc")]
    private static partial int statx(int directory, byte* path, int flags, uint mask, byte* result);

    [LibraryImport("libc")]
    private static partial int lstat(byte* path, byte* result);

    [LibraryImport("libc", EntryPoint = "lstat$INODE64")]
    private static partial int lstat_inode64(byte* path, byte* result);
#pragma warning restore SYSLIB1054, IDE1006
}

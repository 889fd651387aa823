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
                // user_namespaces(7): id here, id outside, count. Outside of containers, the only line maps
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
                // The id is behind the name and the password on every system.
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

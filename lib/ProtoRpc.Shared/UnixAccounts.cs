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

#pragma warning disable SYSLIB1054, IDE1006 // Named as in the C library.
    [LibraryImport("libc")]
    private static partial uint geteuid();

    [LibraryImport("libc")]
    private static partial int getpwuid_r(uint uid, void* entry, byte* text, nuint size, void** result);
#pragma warning restore SYSLIB1054, IDE1006
}

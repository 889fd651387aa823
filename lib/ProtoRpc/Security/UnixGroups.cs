using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using System.Text;

namespace ProtoRpc.Security;

/// <summary>Groups of a Unix system, from its C library.</summary>
[UnsupportedOSPlatform("windows")]
internal static unsafe partial class UnixGroups
{
    private const int MaxGroups = 65536;
    private const int EntrySize = 64;
    private const int TextSize = 1 << 16;
    private const int MaxPasswordEntry = 256;

    // The group id follows name, password and user id in struct passwd, on Linux and on macOS.
    private const int GroupIdOffset = 20;

    /// <summary>The names of a user's groups; empty for a user that the system does not know.</summary>
    public static string[] Of(string user)
    {
        byte[] name = Encoding.UTF8.GetBytes(user + "\0");
        byte* entry = stackalloc byte[MaxPasswordEntry];
        byte[] text = new byte[TextSize];
        fixed (byte* namePointer = name)
        fixed (byte* textPointer = text)
        {
            void* found = null;
            if (getpwnam_r(namePointer, entry, textPointer, (nuint)text.Length, &found) != 0 || found == null)
            {
                return [];
            }

            uint primary = *(uint*)(entry + GroupIdOffset);
            for (int room = 64; room <= MaxGroups; room *= 4)
            {
                uint[] groups = new uint[room];
                int count = room;
                fixed (uint* groupPointer = groups)
                {
                    if (getgrouplist(namePointer, primary, groupPointer, &count) >= 0)
                    {
                        return
                        [
                            .. groups.Take(Math.Clamp(count, 0, room)).Select(NameOf).OfType<string>(),
                        ];
                    }
                }
            }
        }

        return [];
    }

    private static string? NameOf(uint group)
    {
        byte* entry = stackalloc byte[EntrySize];
        byte[] text = new byte[TextSize];
        fixed (byte* textPointer = text)
        {
            void* found = null;
            return getgrgid_r(group, entry, textPointer, (nuint)text.Length, &found) == 0 && found != null
                ? Marshal.PtrToStringUTF8(*(nint*)entry)
                : null;
        }
    }

#pragma warning disable SYSLIB1054, IDE1006 // Named as in the C library.
    [LibraryImport("libc")]
    private static partial int getpwnam_r(byte* name, void* entry, byte* text, nuint size, void** result);

    [LibraryImport("libc")]
    private static partial int getgrouplist(byte* user, uint group, uint* groups, int* count);

    [LibraryImport("libc")]
    private static partial int getgrgid_r(uint gid, void* entry, byte* text, nuint size, void** result);
#pragma warning restore SYSLIB1054, IDE1006
}

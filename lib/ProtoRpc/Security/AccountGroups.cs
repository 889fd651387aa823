using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using System.Security.Principal;

namespace ProtoRpc.Security;

/// <summary>Finds the groups of a user, from this machine.</summary>
internal static class AccountGroups
{
    /// <summary>Whether a user is in a group of that name.</summary>
    /// <remarks>On Windows, groups come from the user's token. On other systems, they come from the group
    /// database, only for users that the kernel identifies: a name from the network could belong to
    /// another user.</remarks>
    public static bool Contains(IIdentity user, string group)
    {
        if (OperatingSystem.IsWindows())
        {
            return user is WindowsIdentity identity && IsInRole(identity, group);
        }

        return user is { IsAuthenticated: true, Name: { } name }
            && user.AuthenticationType == UnixPeer.AuthenticationType
            && UnixGroups.Get(name).Contains(group, StringComparer.Ordinal);
    }

    [SupportedOSPlatform("windows")]
    private static bool IsInRole(WindowsIdentity identity, string group)
    {
        try
        {
            return new WindowsPrincipal(identity).IsInRole(group);
        }
        catch (Exception e) when (e is SystemException and not OutOfMemoryException)
        {
            // The system cannot look up the name, for example because the domain is unreachable.
            return false;
        }
    }
}

/// <summary>Groups of a Unix system, from its C library.</summary>
[UnsupportedOSPlatform("windows")]
internal static unsafe partial class UnixGroups
{
    private const int MaxGroups = 65536;
    private const int EntrySize = 256;
    private const int TextSize = 1 << 16;
    private const int MaxTextSize = 1 << 26;
    private const int OutOfRange = 34;

    // The offsets of the group id on Linux and macOS. In struct passwd it follows the pointers to name and
    // password, and the user id; in struct group, the pointers to name and password.
    private const int PrimaryOffset = 20;
    private const int GroupOffset = 16;

    // Reads an entry of the user or group database into the two buffers.
    private delegate int Query(nint entry, byte[] text, out bool isFound);

    /// <summary>The names of a user's groups; empty for a user that the system does not know.</summary>
    /// <param name="user">The user.</param>
    /// <param name="textSize">The initial buffer size for an entry. The entry of a group has the names of all
    /// its members, which may be many.</param>
    public static string[] Get(string user, int textSize = TextSize)
    {
        byte[] text = new byte[textSize];
        return [.. IdsOf(user, ref text).Select(group => NameOf(group, ref text)).OfType<string>()];
    }

    /// <summary>The ids of a user's groups; empty for a user id without a name.</summary>
    public static uint[] IdsOf(uint userId)
    {
        // A user whose name is the number of another user must not get that user's groups.
        string name = UnixAccounts.NameOf(userId);
        byte[] text = new byte[TextSize];
        return UnixAccounts.FindUserId(name) == userId ? IdsOf(name, ref text) : [];
    }

    /// <summary>The id of a group.</summary>
    /// <returns>Null if the system has no group of this name.</returns>
    public static uint? FindId(string group)
    {
        byte[] name = Encoding.UTF8.GetBytes(group + "\0");
        byte* entry = stackalloc byte[EntrySize];
        byte[] text = new byte[TextSize];
        return TryRead((nint)entry, ref text, (nint place, byte[] buffer, out bool isFound) =>
        {
            void* found = null;
            fixed (byte* namePointer = name)
            fixed (byte* textPointer = buffer)
            {
                int error = getgrnam_r(namePointer, (void*)place, textPointer, (nuint)buffer.Length, &found);
                isFound = found != null;
                return error;
            }
        })
            ? *(uint*)(entry + GroupOffset)
            : null;
    }

    private static uint[] IdsOf(string user, ref byte[] text)
    {
        byte[] name = Encoding.UTF8.GetBytes(user + "\0");
        byte* entry = stackalloc byte[EntrySize];
        if (!TryRead((nint)entry, ref text, (nint place, byte[] buffer, out bool isFound) =>
        {
            void* found = null;
            fixed (byte* namePointer = name)
            fixed (byte* textPointer = buffer)
            {
                int error = getpwnam_r(namePointer, (void*)place, textPointer, (nuint)buffer.Length, &found);
                isFound = found != null;
                return error;
            }
        }))
        {
            return [];
        }

        uint primary = *(uint*)(entry + PrimaryOffset);
        for (int room = 64; room <= MaxGroups; room *= 4)
        {
            uint[] groups = new uint[room];
            int count = room;
            fixed (byte* namePointer = name)
            fixed (uint* groupPointer = groups)
            {
                if (getgrouplist(namePointer, primary, groupPointer, &count) < 0)
                {
                    continue;
                }
            }

            return groups[..Math.Clamp(count, 0, room)];
        }

        return [];
    }

    private static string? NameOf(uint group, ref byte[] text)
    {
        byte* entry = stackalloc byte[EntrySize];
        string? name = null;
        TryRead((nint)entry, ref text, (nint place, byte[] buffer, out bool isFound) =>
        {
            void* found = null;
            fixed (byte* textPointer = buffer)
            {
                int error = getgrgid_r(group, (void*)place, textPointer, (nuint)buffer.Length, &found);
                isFound = found != null;

                // The name points into the buffer, so it is read before the buffer can move.
                name = error == 0 && isFound ? Marshal.PtrToStringUTF8(*(nint*)place) : null;
                return error;
            }
        });
        return name;
    }

    // Enlarges the buffer until the entry fits.
    private static bool TryRead(nint entry, ref byte[] text, Query query)
    {
        while (true)
        {
            int error = query(entry, text, out bool isFound);
            if (error != OutOfRange || text.Length >= MaxTextSize)
            {
                return error == 0 && isFound;
            }

            text = new byte[text.Length * 4];
        }
    }

#pragma warning disable SYSLIB1054, IDE1006 // Named as in the C library.
    [LibraryImport("libc")]
    private static partial int getpwnam_r(byte* name, void* entry, byte* text, nuint size, void** result);

    [LibraryImport("libc")]
    private static partial int getgrouplist(byte* user, uint group, uint* groups, int* count);

    [LibraryImport("libc")]
    private static partial int getgrnam_r(byte* name, void* entry, byte* text, nuint size, void** result);

    [LibraryImport("libc")]
    private static partial int getgrgid_r(uint gid, void* entry, byte* text, nuint size, void** result);
#pragma warning restore SYSLIB1054, IDE1006
}

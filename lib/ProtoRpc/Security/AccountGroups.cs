using System.Runtime.Versioning;
using System.Security.Principal;

namespace ProtoRpc.Security;

/// <summary>Which groups a user is in, as this machine knows it.</summary>
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
            && UnixGroups.Of(name).Contains(group, StringComparer.Ordinal);
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
            // The system cannot look up the name, for example because the domain is not reachable.
            return false;
        }
    }
}

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
            return user is WindowsIdentity identity && new WindowsPrincipal(identity).IsInRole(group);
        }

        return user is { IsAuthenticated: true, Name: { } name }
            && user.AuthenticationType == UnixPeer.AuthenticationType
            && UnixGroups.Of(name).Contains(group, StringComparer.Ordinal);
    }
}

using System.Security.Principal;

namespace ProtoRpc.Security;

/// <summary>Which groups a user is in, as this machine knows it.</summary>
internal static class AccountGroups
{
    /// <summary>Whether a user is in a group of that name.</summary>
    /// <remarks>On Windows the user's own token is asked. Elsewhere the group database is, for users that the
    /// kernel vouches for; a name that came over the network is not looked up here,
    /// or a namesake would do.</remarks>
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

using System.Runtime.Versioning;
using System.Security.AccessControl;
using System.Security.Principal;
using Microsoft.Win32.SafeHandles;

namespace ProtoRpc.Endpoints;

/// <summary>Refuses a file that others can change: they could send the user's calls and credentials to a
/// server of their own.</summary>
internal static class EndpointFileSafety
{
    private const UnixFileMode OthersWrite = UnixFileMode.GroupWrite | UnixFileMode.OtherWrite;
    private const uint Root = 0;

    /// <summary>Checks an open file.</summary>
    /// <param name="path">What the user calls it.</param>
    /// <param name="target">The file itself.</param>
    /// <param name="handle">The open file.</param>
    /// <exception cref="RpcException">PermissionDenied.</exception>
    public static void Check(string path, string target, SafeFileHandle handle)
    {
        string? fault = OperatingSystem.IsWindows() ? FindFaultOnWindows(target) : FindFault(target, handle);
        if (fault is not null)
        {
            throw new RpcException(
                RpcStatusCode.PermissionDenied,
                TerminalText.Neutralize(
                    $"The file of named endpoints '{path}' is not used: {fault} and send your calls "
                    + "and credentials to another server. Let only your account write to it "
                    + $"({(OperatingSystem.IsWindows() ? "icacls" : "chmod go-w")}), and check its content."))
            {
                ErrorId = RpcErrorIds.EndpointFileNotSafe,
            };
        }
    }

    [UnsupportedOSPlatform("windows")]
    private static string? FindFault(string target, SafeFileHandle handle)
    {
        if ((File.GetUnixFileMode(handle) & OthersWrite) != 0)
        {
            return "others can write to it";
        }

        if (!IsOurs(target))
        {
            return "it belongs to another user";
        }

        // On many systems, each user has a private group, which may write to the user's folders.
        string folder = Path.GetDirectoryName(target)!;
        UnixFileMode mode = File.GetUnixFileMode(folder);
        return mode.HasFlag(UnixFileMode.OtherWrite) && !mode.HasFlag(UnixFileMode.StickyBit)
            ? $"others can replace it, because they can write to '{folder}'"
            : null;
    }

    [UnsupportedOSPlatform("windows")]
    private static bool IsOurs(string target) =>
        UnixFileStatus.Read(target)?.Owner is not { } owner || owner == UnixAccounts.EffectiveUserId
        || owner == Root;

    [SupportedOSPlatform("windows")]
    private static string? FindFaultOnWindows(string target)
    {
        const FileSystemRights writing = FileSystemRights.WriteData | FileSystemRights.AppendData
            | FileSystemRights.ChangePermissions | FileSystemRights.TakeOwnership;
        SecurityIdentifier[] others =
        [
            new(WellKnownSidType.WorldSid, null), new(WellKnownSidType.AuthenticatedUserSid, null),
            new(WellKnownSidType.BuiltinUsersSid, null), new(WellKnownSidType.AnonymousSid, null),
        ];
        AuthorizationRuleCollection rules = new FileInfo(target).GetAccessControl()
            .GetAccessRules(includeExplicit: true, includeInherited: true, typeof(SecurityIdentifier));
        return rules.OfType<FileSystemAccessRule>().Any(
            rule => rule.AccessControlType == AccessControlType.Allow
                && (rule.FileSystemRights & writing) != 0
                && others.Contains(rule.IdentityReference))
            ? "others can write to it"
            : null;
    }
}

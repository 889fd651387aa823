using System.Security.Principal;

namespace ProtoRpc.TestServers;

/// <summary>The account of this process, as the kernel names it to a listener.</summary>
internal static class LocalUser
{
    public static string Name { get; } = Find();

    private static string Find()
    {
        if (!OperatingSystem.IsWindows())
        {
            return Environment.UserName;
        }

        using WindowsIdentity self = WindowsIdentity.GetCurrent();
        return self.Name;
    }
}

using System.Diagnostics;

namespace ProtoRpc.LongRun.Measures;

/// <summary>The open files, sockets and the like of this process.</summary>
internal static class OpenHandles
{
    private const string Descriptors = "/proc/self/fd";

    /// <summary>How many there are, on Linux without those of assemblies: the runtime keeps two for each that
    /// it loads, whenever that is.</summary>
    public static int Count()
    {
        using Process process = Process.GetCurrentProcess();
        return OperatingSystem.IsLinux() ? Count(target => !target.EndsWith(".dll", StringComparison.Ordinal))
            : process.HandleCount;
    }

    /// <summary>How many of them are sockets; 0 where the system does not show them.</summary>
    public static int CountSockets() => OperatingSystem.IsLinux()
        ? Count(target => target.StartsWith("socket:", StringComparison.Ordinal))
        : 0;

    private static int Count(Func<string, bool> isOne) =>
        Directory.EnumerateFileSystemEntries(Descriptors).Count(path =>
        {
            try
            {
                return new FileInfo(path).LinkTarget is { } target && isOne(target);
            }
            catch (IOException)
            {
                // It has gone meanwhile.
                return false;
            }
        });
}

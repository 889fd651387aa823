using System.Diagnostics;

namespace ProtoRpc.LongRun.Measures;

/// <summary>The open handles and the threads of this process, as Linux lists them.</summary>
internal static class ProcessEntries
{
    private const string Tasks = "/proc/self/task";
    private const string Descriptors = "/proc/self/fd";

    /// <summary>The number of open files, sockets and the like; on Linux without those of assemblies: the
    /// runtime keeps two for each that it loads, whenever that is.</summary>
    public static int CountHandles()
    {
        if (OperatingSystem.IsLinux())
        {
            return Count(Descriptors, TargetOf, target => !target.EndsWith(".dll", StringComparison.Ordinal));
        }

        using Process process = Process.GetCurrentProcess();
        return process.HandleCount;
    }

    /// <summary>The number of open sockets; 0 where the system does not show them.</summary>
    public static int CountSockets() =>
        Count(Descriptors, TargetOf, target => target.StartsWith("socket:", StringComparison.Ordinal));

    /// <summary>The number of threads of ProtoRpc; 0 where the system does not show them.</summary>
    public static int CountThreads() => Count(
        Tasks, path => File.ReadAllText(Path.Combine(path, "comm")),
        name => name.StartsWith("ProtoRpc", StringComparison.Ordinal));

    private static string? TargetOf(string path) => new FileInfo(path).LinkTarget;

    private static int Count(string folder, Func<string, string?> read, Func<string, bool> isOne)
    {
        if (!Directory.Exists(folder))
        {
            return 0;
        }

        return Directory.EnumerateFileSystemEntries(folder).Count(path =>
        {
            try
            {
                return read(path) is { } text && isOne(text);
            }
            catch (IOException)
            {
                // It has gone meanwhile.
                return false;
            }
        });
    }
}

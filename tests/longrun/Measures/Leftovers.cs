namespace ProtoRpc.LongRun.Measures;

/// <summary>What listeners would leave if they did not clean up.</summary>
/// <param name="Sockets">Open ones; 0 where the system does not show them.</param>
/// <param name="Threads">Threads of ProtoRpc; 0 where the system does not show them.</param>
/// <param name="Handles">All open files, sockets and the like.</param>
/// <param name="Files">Sockets and temporary files, by their names.</param>
internal sealed record Leftovers(int Sockets, int Threads, int Handles, IReadOnlyList<string> Files)
{
    private const string Tasks = "/proc/self/task";
    private const string Descriptors = "/proc/self/fd";

    // Assemblies, pools and timers of the runtime open at their own time, and far fewer than listeners.
    private const int MoreHandles = 20;

    /// <summary>What there is now.</summary>
    /// <param name="folder">Where this process has its sockets and temporary files.</param>
    public static Leftovers Now(string folder)
    {
        using System.Diagnostics.Process process = System.Diagnostics.Process.GetCurrentProcess();
        return new Leftovers(
            Count(Descriptors, path => new FileInfo(path).LinkTarget, "socket:"),
            Count(Tasks, path => File.ReadAllText(Path.Combine(path, "comm")), "ProtoRpc"),
            process.HandleCount,
            [.. Directory.EnumerateFiles(folder, "*", SearchOption.AllDirectories).Order()]);
    }

    /// <summary>The same with any number of handles: the runtime keeps some of each assembly that it loaded
    /// meanwhile.</summary>
    public Leftovers WithAnyHandles() => this with { Handles = int.MaxValue - MoreHandles };

    /// <summary>What there is more than before, in words; null for nothing.</summary>
    public string? Beyond(Leftovers before)
    {
        string[] files = [.. Files.Except(before.Files)];
        return Sockets > before.Sockets ? $"{Sockets - before.Sockets} sockets"
            : Threads > before.Threads ? $"{Threads - before.Threads} threads"
            : Handles > before.Handles + MoreHandles ? $"{Handles - before.Handles} handles"
            : files.Length > 0 ? $"files: {string.Join(", ", files)}"
            : null;
    }

    private static int Count(string folder, Func<string, string?> text, string start)
    {
        if (!Directory.Exists(folder))
        {
            return 0;
        }

        return Directory.EnumerateFileSystemEntries(folder).Count(path =>
        {
            try
            {
                return text(path)?.StartsWith(start, StringComparison.Ordinal) == true;
            }
            catch (IOException)
            {
                // It has gone meanwhile.
                return false;
            }
        });
    }
}

namespace ProtoRpc.LongRun.Measures;

/// <summary>What listeners would leave if they did not clean up.</summary>
/// <param name="Sockets">Open ones; 0 where the system does not show them.</param>
/// <param name="Threads">Threads of ProtoRpc; 0 where the system does not show them.</param>
/// <param name="Handles">All open files, sockets and the like.</param>
/// <param name="Files">Sockets and temporary files, by their names.</param>
internal sealed record Leftovers(int Sockets, int Threads, int Handles, IReadOnlyList<string> Files)
{
    // Pools and timers of the runtime open at their own time, and far fewer than listeners.
    private const int MoreHandles = 20;

    /// <summary>What there is now.</summary>
    /// <param name="folder">Where this process has its sockets and temporary files.</param>
    public static Leftovers Now(string folder) => new(
        ProcessEntries.CountSockets(), ProcessEntries.CountThreads(), ProcessEntries.CountHandles(),
        [.. Directory.EnumerateFiles(folder, "*", SearchOption.AllDirectories).Order()]);

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
}

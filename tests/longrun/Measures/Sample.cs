namespace ProtoRpc.LongRun.Measures;

/// <summary>What a process has at a moment.</summary>
/// <param name="Seconds">Since the load began.</param>
/// <param name="Calls">That ended as they should, until then.</param>
/// <param name="Handles">Open files, sockets and the like.</param>
/// <param name="Threads">Of the system.</param>
/// <param name="HeapMiB">Managed objects that are reachable.</param>
/// <param name="ResidentMiB">Memory of the machine.</param>
/// <param name="Runspaces">Of PowerShell; null in a process without it.</param>
internal sealed record Sample(
    double Seconds, long Calls, double Handles, double Threads, double HeapMiB, double ResidentMiB,
    double? Runspaces = null);

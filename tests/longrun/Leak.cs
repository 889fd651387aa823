namespace ProtoRpc.LongRun;

/// <summary>What the run leaks on purpose, to show that its checks see it.</summary>
internal enum Leak
{
    None,

    /// <summary>One listener in five is not stopped, with its sockets.</summary>
    Handles,

    /// <summary>A thread for one listener in five never ends.</summary>
    Threads,

    /// <summary>Four kilobytes of each call are kept.</summary>
    Memory,
}

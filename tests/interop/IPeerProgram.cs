namespace ProtoRpc.Interop;

/// <summary>A program of others that runs; ended when this is disposed.</summary>
internal interface IPeerProgram : IDisposable
{
    TextWriter Input { get; }

    TextReader Output { get; }

    TextReader Errors { get; }

    /// <returns>The exit code, or null if it still runs.</returns>
    int? WaitForExit(TimeSpan limit);
}

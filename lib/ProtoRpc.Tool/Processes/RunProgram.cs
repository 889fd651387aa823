namespace ProtoRpc.Tool.Processes;

/// <summary>Runs a program, as <see cref="ChildProcess.RunAsync"/> does; tests pass one that only
/// answers.</summary>
internal delegate Task<ChildProcess.Result> RunProgram(
    string fileName, IEnumerable<string> arguments, string folder, TimeSpan limit,
    Action<string>? onLine, CancellationToken cancellation);

namespace ProtoRpc.Tool.Processes;

/// <summary>A PowerShell that can load the module.</summary>
/// <param name="FileName">The program.</param>
/// <param name="Arguments">What comes before pwsh's own arguments.</param>
/// <param name="Version">Its version.</param>
/// <param name="Where">Where it was found, for people.</param>
internal sealed record PowerShellHost(
    string FileName, IReadOnlyList<string> Arguments, Version Version, string Where)
{
    /// <summary>Looks for a PowerShell, as <see cref="PowerShellSearch"/> does.</summary>
    /// <returns>A shell, or none and why not.</returns>
    public static Task<(PowerShellHost? Shell, string WhyNot)> FindAsync(
        string folder, CancellationToken cancellation = default) =>
        new PowerShellSearch(folder, ChildProcess.RunAsync).FindAsync(cancellation);

    /// <summary>The arguments that run pwsh without profile and questions.</summary>
    public IReadOnlyList<string> ArgumentsFor(IEnumerable<string> arguments) =>
        [.. Arguments, "-NoProfile", "-NonInteractive", .. arguments];

    /// <summary>Runs pwsh without profile and questions.</summary>
    public Task<ChildProcess.Result> RunAsync(
        IEnumerable<string> arguments, string folder, TimeSpan limit, Action<string>? onLine = null,
        CancellationToken cancellation = default) =>
        ChildProcess.RunAsync(FileName, ArgumentsFor(arguments), folder, limit, onLine, cancellation);
}

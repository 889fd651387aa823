namespace ProtoRpc.Tool.Processes;

/// <summary>A PowerShell that can load the module.</summary>
/// <param name="FileName">The program.</param>
/// <param name="Arguments">What comes before pwsh's own arguments.</param>
/// <param name="Version">Its version.</param>
/// <param name="Where">Where it was found, for people.</param>
internal sealed record PowerShellHost(
    string FileName, IReadOnlyList<string> Arguments, Version Version, string Where)
{
    // The first that runs on .NET 10, as the module does.
    private static readonly Version Minimum = new(7, 6);

    private static readonly TimeSpan StartLimit = TimeSpan.FromSeconds(60);
    private static readonly TimeSpan RestoreLimit = TimeSpan.FromMinutes(3);

    /// <summary>Looks on PATH, then restores the local tool that the folder's manifest names.</summary>
    /// <returns>A shell, or none and why not.</returns>
    public static async Task<(PowerShellHost? Shell, string WhyNot)> FindAsync(
        string folder, CancellationToken cancellation = default)
    {
        (PowerShellHost? shell, string whyNotPath) = await TryAsync(
            "pwsh", [], folder, "on PATH", cancellation);
        if (shell is not null)
        {
            return (shell, "");
        }

        ChildProcess.Result restored = await ChildProcess.RunAsync(
            "dotnet", ["tool", "restore"], folder, RestoreLimit, cancellation: cancellation);
        if (!restored.Succeeded)
        {
            return (null, $"{whyNotPath}, and 'dotnet tool restore' could not bring it");
        }

        (shell, string whyNotTool) = await TryAsync(
            "dotnet", ["tool", "run", "pwsh", "--"], folder, "as a local dotnet tool", cancellation);
        return shell is not null ? (shell, "") : (null, $"{whyNotPath}, and {whyNotTool}");
    }

    /// <summary>Runs pwsh without profile and questions.</summary>
    public Task<ChildProcess.Result> RunAsync(
        IEnumerable<string> arguments, string folder, TimeSpan limit, Action<string>? onLine = null,
        CancellationToken cancellation = default) =>
        ChildProcess.RunAsync(
            FileName, [.. Arguments, "-NoProfile", "-NonInteractive", .. arguments],
            folder, limit, onLine, cancellation);

    private static async Task<(PowerShellHost? Shell, string WhyNot)> TryAsync(
        string fileName, IReadOnlyList<string> arguments,
        string folder, string where, CancellationToken cancellation)
    {
        ChildProcess.Result result = await ChildProcess.RunAsync(
            fileName, [.. arguments, "--version"], folder, StartLimit, cancellation: cancellation);
        if (!result.Succeeded)
        {
            return (null, $"no pwsh runs {where}");
        }

        // "PowerShell 7.6.5", or with a label: "PowerShell 7.6.0-rc.1".
        string? line = result.Lines.FirstOrDefault(
            l => l.StartsWith("PowerShell ", StringComparison.Ordinal));
        string text = line ?? "";
        string number = text.Replace("PowerShell ", "").Split('-', '+')[0].Trim();
        return !Version.TryParse(number, out Version? version)
            ? (null, $"the pwsh {where} does not show its version")
            : version < Minimum
                ? (null, $"the pwsh {where} is {version}, and {Minimum} is needed")
                : (new PowerShellHost(fileName, arguments, version, where), "");
    }
}

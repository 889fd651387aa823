using System.Text.Json;

namespace ProtoRpc.Tool.Processes;

/// <summary>Finds a PowerShell that can load the module: the local tool that a folder's manifest names,
/// because the tests run on that version, then pwsh on PATH. The tool is restored only if neither is there,
/// because that downloads 43 MB.</summary>
/// <param name="folder">The folder with the tool manifest.</param>
/// <param name="run">Runs a program.</param>
/// <param name="onStep">Receives a line before a long step.</param>
internal sealed class PowerShellSearch(string folder, RunProgram run, Action<string>? onStep = null)
{
    // The first version on .NET 10, which the module requires.
    private static readonly Version Minimum = new(7, 6);

    private static readonly TimeSpan StartLimit = TimeSpan.FromSeconds(60);
    private static readonly TimeSpan RestoreLimit = TimeSpan.FromMinutes(3);

    private string Manifest => Path.Combine(folder, ".config", "dotnet-tools.json");

    /// <summary>Looks for a shell, and restores the local tool if no other can load the module.</summary>
    /// <returns>A shell, or none and why not.</returns>
    public async Task<(PowerShellHost? Shell, string WhyNot)> FindAsync(CancellationToken cancellation)
    {
        string? pinned = ReadVersion();
        if (pinned is not null && await TryToolAsync(cancellation) is { Shell: not null } restored)
        {
            return restored;
        }

        (PowerShellHost? shell, string whyNot) = await TryAsync("pwsh", [], "on PATH", cancellation);
        if (shell is not null || pinned is null)
        {
            return (shell, whyNot);
        }

        onStep?.Invoke($"Restoring PowerShell {pinned} with 'dotnet tool restore' ...");
        ChildProcess.Result restore = await run(
            "dotnet", ["tool", "restore"], folder, RestoreLimit, null, cancellation);
        (shell, string whyNotTool) = restore switch
        {
            { Succeeded: true } => await TryToolAsync(cancellation),
            { TimedOut: true } =>
                (null, $"'dotnet tool restore' did not end in {RestoreLimit.TotalMinutes} minutes"),
            _ => (null, $"'dotnet tool restore' failed ({ErrorOf(restore)})"),
        };
        return shell is not null ? (shell, "") : (null, $"{whyNot}, and {whyNotTool}");
    }

    private Task<(PowerShellHost? Shell, string WhyNot)> TryToolAsync(CancellationToken cancellation) =>
        TryAsync("dotnet", ["tool", "run", "pwsh", "--"], "of the tool manifest", cancellation);

    private async Task<(PowerShellHost? Shell, string WhyNot)> TryAsync(
        string fileName, IReadOnlyList<string> arguments, string where, CancellationToken cancellation)
    {
        ChildProcess.Result result = await run(
            fileName, [.. arguments, "--version"], folder, StartLimit, null, cancellation);
        if (!result.Succeeded)
        {
            return (null, $"no pwsh {where} runs");
        }

        // The output is "PowerShell 7.6.5", or with a label "PowerShell 7.6.0-rc.1".
        string? line = result.Lines.FirstOrDefault(
            l => l.StartsWith("PowerShell ", StringComparison.Ordinal));
        string text = line ?? "";
        string number = text.Replace("PowerShell ", "").Split('-', '+')[0].Trim();
        return !Version.TryParse(number, out Version? version)
            ? (null, $"the pwsh {where} does not show its version")
            : version < Minimum
                ? (null, $"the pwsh {where} is {version}, older than {Minimum}")
                : (new PowerShellHost(fileName, arguments, version, where), "");
    }

    private string? ReadVersion()
    {
        try
        {
            using JsonDocument manifest = JsonDocument.Parse(File.ReadAllBytes(Manifest));
            return manifest.RootElement.GetProperty("tools").GetProperty("powershell")
                .GetProperty("version").GetString();
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException or JsonException
            or KeyNotFoundException or InvalidOperationException)
        {
            return null;
        }
    }

    private static string ErrorOf(ChildProcess.Result restored)
    {
        string[] lines = [.. restored.Lines.Select(line => line.Trim()).Where(line => line.Length > 0)];
        string? error = lines.FirstOrDefault(IsError) ?? lines.FirstOrDefault();
        return error?.Replace("Unhandled exception: ", "", StringComparison.Ordinal).TrimEnd('.')
            ?? $"exit code {restored.ExitCode}";
    }

    private static bool IsError(string line) =>
        line.Contains("error", StringComparison.OrdinalIgnoreCase)
        || line.Contains("exception", StringComparison.OrdinalIgnoreCase);
}

/// <summary>A PowerShell that can load the module.</summary>
/// <param name="FileName">The program.</param>
/// <param name="Arguments">The arguments before pwsh's own.</param>
/// <param name="Version">Its version.</param>
/// <param name="Where">The place where it was found, as a text for the user.</param>
internal sealed record PowerShellHost(
    string FileName, IReadOnlyList<string> Arguments, Version Version, string Where)
{
    /// <summary>The arguments that run pwsh without profile and questions.</summary>
    public IReadOnlyList<string> ArgumentsFor(IEnumerable<string> arguments) =>
        [.. Arguments, "-NoProfile", "-NonInteractive", .. arguments];
}

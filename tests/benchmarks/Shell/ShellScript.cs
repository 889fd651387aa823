using System.Diagnostics;
using System.Globalization;
using System.Text.Json;

namespace ProtoRpc.Benchmarks.Shell;

/// <summary>Runs shell.ps1, which measures the module in PowerShell.</summary>
internal static class ShellScript
{
    private const string Manifest = "ProtoRpc.psd1";

    /// <summary>The program, where it is on PATH.</summary>
    public static string? Shell { get; } = FindShell();

    /// <summary>Why the module cannot be measured; null where it can.</summary>
    public static string? WhyNot() => Shell is null
        ? "pwsh is not on the PATH. Install PowerShell 7.6 to measure the module."
        : FindRoot() is null
            ? $"no folder above {AppContext.BaseDirectory} has {Manifest}. "
                + "Run the program from the repository."
            : null;

    /// <summary>Runs measurements.</summary>
    /// <param name="options">How long, with how many callers, and where Pode is.</param>
    /// <param name="only">One measurement of the script; null for all.</param>
    /// <exception cref="InvalidOperationException">The script failed, or <see cref="WhyNot"/> says why it
    /// cannot run.</exception>
    public static IReadOnlyList<ShellResult> Run(BenchmarkOptions options, string? only = null)
    {
        if (WhyNot() is string reason)
        {
            throw new InvalidOperationException(reason);
        }

        string script = Path.Combine(FindRoot()!, "tests", "benchmarks", "shell.ps1");
        ProcessStartInfo start = new(Shell!, ["-NoProfile", "-NonInteractive", "-File", script, "-AsJson"])
        {
            RedirectStandardOutput = true,
        };
        Add("-Program", typeof(ShellScript).Assembly.Location);
        Add("-WarmUp", Text(options.WarmUp.TotalSeconds));
        Add("-Seconds", Text(options.Round.TotalSeconds));
        Add("-Rounds", Text(options.Rounds));
        Add("-Clients", Text(options.Clients));
        Add("-Callers", Text(options.Callers));
        if (options.Pode is not null)
        {
            Add("-Pode", options.Pode);
        }

        if (only is not null)
        {
            Add("-Only", only);
        }

        using Process process = Process.Start(start)!;
        string output = process.StandardOutput.ReadToEnd();
        process.WaitForExit();
        return process.ExitCode == 0
            ? JsonSerializer.Deserialize<ShellResult[]>(output)!
            : throw new InvalidOperationException($"{script} failed with exit code {process.ExitCode}.");

        void Add(string name, string value)
        {
            start.ArgumentList.Add(name);
            start.ArgumentList.Add(value);
        }
    }

    private static string? FindShell() => (Environment.GetEnvironmentVariable("PATH") ?? "")
        .Split(Path.PathSeparator)
        .Select(folder => Path.Combine(folder, OperatingSystem.IsWindows() ? "pwsh.exe" : "pwsh"))
        .FirstOrDefault(File.Exists);

    private static string? FindRoot()
    {
        DirectoryInfo? folder = new(AppContext.BaseDirectory);
        while (folder is not null && !File.Exists(Path.Combine(folder.FullName, Manifest)))
        {
            folder = folder.Parent;
        }

        return folder?.FullName;
    }

    private static string Text(double value) => value.ToString(CultureInfo.InvariantCulture);
}

using ProtoRpc.Tool.Processes;

namespace ProtoRpc.Tool.Demo;

/// <summary>The first example in PowerShell: builds the module of a repository and runs the script.</summary>
/// <param name="folder">The repository.</param>
/// <param name="console">Gets a line for each step, and the output of the script.</param>
/// <param name="run">Runs a program.</param>
internal sealed class ModuleDemo(string folder, ToolConsole console, RunProgram run)
{
    private const string Project = "cmdlets/ProtoRpc.PowerShell";

    private static readonly TimeSpan BuildLimit = TimeSpan.FromMinutes(10);
    private static readonly TimeSpan ScriptLimit = TimeSpan.FromMinutes(2);

    /// <summary>Runs the example.</summary>
    /// <returns>The exit code; or none and why there is no PowerShell to run it in.</returns>
    public async Task<(int? ExitCode, string WhyNot)> RunAsync(CancellationToken cancellation)
    {
        console.WriteLine("This demo serves and calls a service on three transports, in PowerShell.");
        (PowerShellHost? shell, string whyNot) =
            await new PowerShellSearch(folder, run, console.WriteLine).FindAsync(cancellation);
        return shell is null ? (null, whyNot)
            : (await BuildAsync(cancellation) && await RunAsync(shell, cancellation)
                ? ExitCode.Success
                : ExitCode.Failed, "");
    }

    private async Task<bool> BuildAsync(CancellationToken cancellation)
    {
        console.WriteLine($"Building the module with 'dotnet build {Project}' ...");
        ChildProcess.Result build = await run(
            "dotnet", ["build", Project, "--nologo", "-v", "q", "-clp:NoSummary"],
            folder, BuildLimit, null, cancellation);
        if (!build.Succeeded)
        {
            // The summary repeats each error.
            foreach (string line in build.Lines.Where(line => line.Length > 0).Distinct())
            {
                console.WriteErrorLine(line);
            }

            Fail("The module cannot be built", $"'dotnet build {Project}'", build, BuildLimit);
        }

        return build.Succeeded;
    }

    private async Task<bool> RunAsync(PowerShellHost shell, CancellationToken cancellation)
    {
        console.WriteLine(
            $"Running {ModuleFolder.ExampleScript} in the PowerShell {shell.Version} {shell.Where} ...");
        ChildProcess.Result script = await run(
            shell.FileName,
            shell.ArgumentsFor(["-File", Path.Combine(folder, ModuleFolder.ExampleScript)]),
            folder, ScriptLimit, console.WriteLine, cancellation);
        if (!script.Succeeded)
        {
            Fail("The demo failed", ModuleFolder.ExampleScript, script, ScriptLimit);
        }

        return script.Succeeded;
    }

    private void Fail(string what, string program, ChildProcess.Result result, TimeSpan limit)
    {
        string end = result.TimedOut
            ? $"did not end in {limit.TotalMinutes} minutes"
            : $"ended with {result.ExitCode?.ToString() ?? "no exit code"}";
        console.WriteError($"{what}: {program} {end}, in {folder}. To run the demo in C#, add --native.");
    }
}

using System.CommandLine;
using ProtoRpc.Tool.Demo;
using ProtoRpc.Tool.Processes;

namespace ProtoRpc.Tool.Verbs;

/// <summary><c>protorpc demo</c>: a service on three transports,
/// in PowerShell if it is installed, otherwise in C#.</summary>
internal static class DemoVerb
{
    private static readonly TimeSpan ScriptLimit = TimeSpan.FromMinutes(2);

    public static Command Create(ToolConsole console)
    {
        Option<bool> native = new("--native", "--no-pwsh")
        {
            Description = "Runs in C# even where PowerShell is at hand.",
        };
        Command command = new("demo", "Serves a service on three transports and says hello over each.")
        {
            native,
        };

        command.SetAction(async (parsed, cancellation) =>
        {
            string? folder = ModuleFolder.Find();
            (PowerShellHost? shell, string whyNot) = (parsed.GetValue(native), folder) switch
            {
                (true, _) => (null, "--native asks for it"),
                (_, null) => (null, "the PowerShell module is not in this folder or one above"),
                _ => await PowerShellHost.FindAsync(folder, cancellation),
            };

            if (shell is null)
            {
                console.WriteLine($"Running in C#: {whyNot}.");
                HelloDemo.Run(console);
                return ExitCode.Success;
            }

            console.WriteLine(
                $"Running {ModuleFolder.ExampleScript} in pwsh {shell.Version}, found {shell.Where}.");
            ChildProcess.Result result = await shell.RunAsync(
                ["-File", Path.Combine(folder!, ModuleFolder.ExampleScript)],
                folder!,
                ScriptLimit,
                console.WriteLine,
                cancellation);
            if (!result.Succeeded)
            {
                string end = result.TimedOut
                    ? $"did not end in {ScriptLimit.TotalSeconds} seconds"
                    : "failed";
                console.WriteError(
                    $"{ModuleFolder.ExampleScript} {end}; 'protorpc demo --native' shows the same in C#.");
            }

            return result.Succeeded ? ExitCode.Success : ExitCode.Failed;
        });
        return command;
    }
}

using System.CommandLine;
using ProtoRpc.Tool.Demo;
using ProtoRpc.Tool.Processes;

namespace ProtoRpc.Tool.Verbs;

/// <summary><c>protorpc demo</c>: a service on three transports. In a clone of the repository the module runs
/// it in PowerShell, elsewhere it runs in C#.</summary>
internal static class DemoVerb
{
    public static Command Create(ToolConsole console)
    {
        Option<bool> native = new("--native", "--no-pwsh")
        {
            Description = "Runs in C#, also in a clone of the repository.",
        };
        Command command = new("demo", "Serves a service on three transports and says hello over each.")
        {
            native,
        };

        command.SetAction((parsed, cancellation) => RunAsync(
            console, parsed.GetValue(native), ModuleFolder.Find(), ChildProcess.RunAsync, cancellation));
        return command;
    }

    /// <summary>Runs the demo.</summary>
    /// <param name="console">Gets what the demo writes.</param>
    /// <param name="native">Whether the user asks for C#.</param>
    /// <param name="folder">The repository, or null outside of one.</param>
    /// <param name="run">Runs a program.</param>
    /// <param name="cancellation">Ends the demo.</param>
    /// <returns>The exit code.</returns>
    internal static async Task<int> RunAsync(
        ToolConsole console, bool native, string? folder, RunProgram run, CancellationToken cancellation)
    {
        if (native || folder is null)
        {
            string reason = native
                ? "--native asks for it"
                : "the PowerShell module is not in this folder or one above";
            console.WriteLine($"Running in C#: {reason}.");
        }
        else
        {
            (int? code, string whyNot) =
                await new ModuleDemo(folder, console, run).RunAsync(cancellation);
            if (code is { } ended)
            {
                return ended;
            }

            console.WriteError(
                $"There is no PowerShell to run the module in: {whyNot}. "
                + "Install PowerShell 7.6 or newer, or download it: "
                + $"run 'dotnet tool restore' in {folder}.");
            console.WriteLine("Running in C# instead.");
        }

        HelloDemo.Run(console);
        return ExitCode.Success;
    }
}

using System.CommandLine;

namespace ProtoRpc.Tool.Completion;

/// <summary><c>protorpc completion</c>: the script with which a shell completes the tool's command
/// lines.</summary>
internal static class CompletionVerb
{
    public static Command Create(ToolConsole console)
    {
        Argument<string> shell = new("SHELL") { Description = "bash, zsh, fish or pwsh." };
        shell.AcceptOnlyFromAmong("bash", "zsh", "fish", "pwsh");
        Command command = new("completion", "Writes the script that completes protorpc in a shell.")
        {
            shell,
        };
        command.SetAction(parsed =>
        {
            console.Output.Write(CompletionScripts.Of(parsed.GetRequiredValue(shell)));
            console.Output.Flush();
            return ExitCode.Success;
        });
        return command;
    }
}

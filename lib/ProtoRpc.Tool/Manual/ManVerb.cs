using System.CommandLine;
using System.Reflection;

namespace ProtoRpc.Tool.Manual;

/// <summary><c>protorpc man</c>: the manual page.</summary>
internal static class ManVerb
{
    public static Command Create(ToolConsole console)
    {
        Command command = new("man", "Writes the manual page: protorpc man | man -l -");
        command.SetAction(parsed =>
        {
            string version = Assembly.GetExecutingAssembly()
                .GetCustomAttribute<AssemblyInformationalVersionAttribute>()?.InformationalVersion ?? "";
            console.Output.Write(ManualPage.Write(
                (RootCommand)parsed.RootCommandResult.Command, version.Split('+')[0]));
            console.Output.Flush();
            return ExitCode.Success;
        });
        return command;
    }
}

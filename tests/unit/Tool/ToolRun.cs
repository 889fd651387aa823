using ProtoRpc.Tool;

namespace ProtoRpc.Tests.Tool;

/// <summary>Runs the tool in this process and keeps what it wrote.</summary>
internal sealed record ToolRun(int ExitCode, string Output, string Error)
{
    public static readonly string Protos = Path.Combine(AppContext.BaseDirectory, "protos");

    public static Task<ToolRun> RunAsync(params string[] arguments) =>
        RunAsync(console => ToolCommand.RunAsync(arguments, console));

    /// <summary>Runs a part of the tool.</summary>
    public static async Task<ToolRun> RunAsync(Func<ToolConsole, Task<int>> action)
    {
        using StringWriter output = new() { NewLine = "\n" };
        using StringWriter error = new() { NewLine = "\n" };
        int code = await action(new ToolConsole(TextReader.Null, output, error));
        return new ToolRun(
            code, output.ToString().ReplaceLineEndings("\n"), error.ToString().ReplaceLineEndings("\n"));
    }
}

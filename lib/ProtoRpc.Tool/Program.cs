using ProtoRpc.Tool;

return await ToolCommand.RunAsync(args, new ToolConsole(Console.In, StandardOutput.OpenText(), Console.Error)
{
    IsOutputTerminal = !Console.IsOutputRedirected,
    IsErrorTerminal =
        !Console.IsErrorRedirected && Environment.GetEnvironmentVariable("NO_COLOR") is null or "",
    AskSecret = Console.IsInputRedirected || Console.IsErrorRedirected ? null : SecretPrompt.Ask,
});

// Declared, because otherwise a source generator of ASP.NET Core makes the class public.
internal sealed partial class Program;

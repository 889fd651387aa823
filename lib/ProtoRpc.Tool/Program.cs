using ProtoRpc.Tool;

return await ToolCommand.RunAsync(args, new ToolConsole(Console.In, Console.Out, Console.Error));

// Else a generator of ASP.NET Core makes the class public, for tests of web applications.
internal sealed partial class Program;

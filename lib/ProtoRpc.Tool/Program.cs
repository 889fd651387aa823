using ProtoRpc.Tool;

return await ToolCommand.RunAsync(args, new ToolConsole(Console.In, Console.Out, Console.Error));

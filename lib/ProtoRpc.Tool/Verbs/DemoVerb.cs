using ProtoRpc.Tool.Processes;

namespace ProtoRpc.Tool.Verbs;

/// <summary><c>protorpc demo</c>: a service on three transports. In a clone of the repository the module runs
/// it in PowerShell, elsewhere it runs in C#.</summary>
internal static class DemoVerb
{
    public static Command Create(ToolConsole console)
    {
        ToolFlag native = new("--native", "Runs in C#, also in a clone of the repository.", "--no-pwsh");
        Command command = new("demo", "Serves a service on three transports and says hello over each.")
        {
            native,
        };

        command.SetAction((parsed, cancellation) => RunAsync(
            console, parsed.GetValue(native), ModulePath.Find(), ChildProcess.RunAsync, cancellation));
        return command;
    }

    /// <summary>Runs the demo.</summary>
    /// <param name="console">Receives the output of the demo.</param>
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
            (int? code, string whyNot) = await new ModuleDemo(folder, console, run).RunAsync(cancellation);
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

/// <summary>The first example in C#: one service on three transports, and a message over each.</summary>
internal static class HelloDemo
{
    private const string ServiceName = "Sample.MyService";

    public static void Run(ToolConsole console)
    {
        RpcSchema schema = RpcSchema.Load([Path.Combine(AppContext.BaseDirectory, "protos", "sample.proto")]);

        // The process id keeps two demos from using the same endpoint.
        string name = $"ProtoRpcDemo{Environment.ProcessId}";
        using RpcServer server = RpcServer.Create(schema, ServiceName)
            .Handle("Send", (context, request) => Show(console, context, (DynamicMessage)request))
            .AddEndpoint(RpcEndpoint.Local(name))
            .AddEndpoint(RpcEndpoint.Tcp("127.0.0.1", 0))
            .AddEndpoint(RpcEndpoint.NamedPipe(name))
            .StartListening();

        string[] words = ["Hello via LRPC!", "Hello via TCP!", "Hello via NP!"];
        foreach ((RpcEndpoint endpoint, string text) in server.Endpoints.Zip(words))
        {
            console.WriteLine($"Sending over {endpoint}");
            Send(schema, endpoint, text);
        }
    }

    private static void Send(RpcSchema schema, RpcEndpoint endpoint, string text)
    {
        using RpcClient client = RpcClient.Connect(
            endpoint, schema, new RpcClientOptions { Service = ServiceName });
        RpcMethodInfo send = client.GetMethod("Send");
        Dictionary<string, object?> request = new() { ["message"] = text };
        client.Invoke(send, new MessageMapper().ToMessage(send.RequestType, request));
    }

    private static ValueTask<IMessage> Show(
        ToolConsole console, RpcServerCallContext context, DynamicMessage request)
    {
        string who = context.User.Name is { Length: > 0 } name ? name : "anonymous";
        object? text = request.Get(request.Type.FindField("message")!);
        console.WriteLine($"{who} says: {text}");
        return new ValueTask<IMessage>(new DynamicMessage(context.Method.ReplyType));
    }
}

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
    /// <returns>The exit code; if PowerShell was not found, no exit code and the reason.</returns>
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
            // MSBuild repeats each error in its summary.
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
            $"Running {ModulePath.ExampleScript} in the PowerShell {shell.Version} {shell.Where} ...");
        ChildProcess.Result script = await run(
            shell.FileName,
            shell.ArgumentsFor(["-File", Path.Combine(folder, ModulePath.ExampleScript)]),
            folder, ScriptLimit, console.WriteLine, cancellation);
        if (!script.Succeeded)
        {
            Fail("The demo failed", ModulePath.ExampleScript, script, ScriptLimit);
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

/// <summary>Finds the folder of the PowerShell module with its examples.</summary>
internal static class ModulePath
{
    public const string ExampleScript = "examples/hello.ps1";

    /// <summary>The nearest folder upwards of the working folder or of the tool
    /// that has both, or null.</summary>
    public static string? Find() =>
        new[] { Environment.CurrentDirectory, AppContext.BaseDirectory }
            .SelectMany(Upwards)
            .FirstOrDefault(folder => File.Exists(Path.Combine(folder, "ProtoRpc.psd1"))
                && File.Exists(Path.Combine(folder, ExampleScript)));

    private static IEnumerable<string> Upwards(string folder)
    {
        for (DirectoryInfo? at = new(folder); at is not null; at = at.Parent)
        {
            yield return at.FullName;
        }
    }
}

using System.Diagnostics;

namespace ProtoRpc.Http.Tests.Faults;

/// <summary>Clients whose processes are killed or sent to sleep in the middle of a call.</summary>
public static class KilledClientTests
{
    private static readonly string Words = string.Join(' ', Enumerable.Repeat("word", 20_000));

    [LinuxTheory]
    [InlineData("tcp://127.0.0.1:0")]
    [InlineData("local://")]
    [InlineData("http://127.0.0.1:0/")]
    [InlineData("grpc://127.0.0.1:0")]
    public static async Task A_call_of_a_killed_client_is_cancelled_and_its_connection_is_gone(
        string endpoint)
    {
        using WordsServer server = new(Named(endpoint));
        using Process client = Call(server, "Say", "wait");
        await server.Waiting.Task.WaitAsync(ToolServer.Patience);

        ToolServer.SignalTo(client, "KILL");
        await client.WaitForExitAsync();

        Assert.Equal("cancelled", await server.Ended.Task.WaitAsync(ToolServer.Patience));
        await IsFreeAsync(server);
    }

    [LinuxTheory]
    [InlineData("http://127.0.0.1:0/")]
    [InlineData("grpc://127.0.0.1:0")]
    public static async Task A_stream_that_a_killed_client_read_ends(string endpoint)
    {
        using WordsServer server = new(endpoint);
        using Process client = Call(server, "Split", Words);
        Assert.NotNull(await client.StandardOutput.ReadLineAsync());

        ToolServer.SignalTo(client, "KILL");
        await client.WaitForExitAsync();

        await IsFreeAsync(server);
    }

    [LinuxTheory]
    [InlineData("http://127.0.0.1:0/")]
    [InlineData("grpc://127.0.0.1:0")]
    public static async Task A_client_that_sleeps_holds_up_no_other_and_gets_all_when_it_wakes(
        string endpoint)
    {
        using WordsServer server = new(endpoint);
        using Process client = Call(server, "Split", Words);
        Assert.NotNull(await client.StandardOutput.ReadLineAsync());

        ToolServer.SignalTo(client, "STOP");
        using RpcClient other = server.Connect();
        DynamicMessage reply = await other.InvokeAsync("Say", WordsServer.Text("meanwhile"))
            .WaitAsync(ToolServer.Patience);
        Assert.Equal("meanwhile", WordsServer.TextOf(reply));
        ToolServer.SignalTo(client, "CONT");

        string rest = await client.StandardOutput.ReadToEndAsync().WaitAsync(ToolServer.Patience);
        await client.WaitForExitAsync();
        Assert.Equal(0, client.ExitCode);
        Assert.Equal(20_000 - 1, rest.Split('\n', StringSplitOptions.RemoveEmptyEntries).Length);
    }

    private static async Task IsFreeAsync(WordsServer server)
    {
        await ToolServer.UntilAsync(
            () => server.Server.Counters is { InFlight: 0, Connections: 0 }, "the end of the connection");
        using RpcClient next = server.Connect();
        Assert.Equal("next", WordsServer.TextOf(next.Invoke("Say", WordsServer.Text("next"))));
    }

    private static string Named(string endpoint) =>
        endpoint == "local://" ? $"{endpoint}t{Guid.NewGuid():N}"[..24] : endpoint;

    private static Process Call(WordsServer server, string method, string text)
    {
        ProcessStartInfo start = new("dotnet")
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            ArgumentList =
            {
                "exec", Path.Combine(AppContext.BaseDirectory, "ProtoRpc.Tool.dll"), "call",
                server.Endpoint.Uri, $"streams.Words/{method}", "-d", $"{{\"text\":\"{text}\"}}", "--compact",
                "--schema", Path.Combine(AppContext.BaseDirectory, "protos", "streams.proto"),
            },
        };
        Process process = Process.Start(start)!;
        process.StandardInput.Close();
        return process;
    }
}

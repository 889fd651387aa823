using System.Diagnostics;

namespace ProtoRpc.Http.Tests.Tool;

/// <summary><c>protorpc health</c> and <c>ping</c>.</summary>
public sealed class HealthVerbTests : IDisposable
{
    private readonly WordsServer _server = new(further: ["http://127.0.0.1:0/", "tcp://127.0.0.1:0"]);

    private string Grpc => _server.Endpoint.ToString();

    public void Dispose() => _server.Dispose();

    [Fact]
    public async Task Health_is_that_of_the_server_or_of_a_service()
    {
        ClientRun server = await ClientRun.RunAsync(["health", Grpc]);
        ClientRun service = await ClientRun.RunAsync(["health", Grpc, "streams.Words"]);
        ClientRun unknown = await ClientRun.RunAsync(["health", Grpc, "no.Such"]);
        ClientRun http = await ClientRun.RunAsync(["health", $"{_server.Server.Endpoints[1]}"]);

        Assert.Equal(("SERVING\n", 0), (server.Output, server.Code));
        Assert.Equal(("SERVING\n", 0), (service.Output, service.Code));
        Assert.Equal(64 + (int)RpcStatusCode.NotFound, unknown.Code);
        Assert.Equal(2, http.Code);
        Assert.Contains("protorpc ping", http.Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_watched_service_that_is_not_known_is_told_and_ends_with_3()
    {
        await using ClientRun run = ClientRun.Start("health", Grpc, "no.Such", "--watch");

        await run.WaitForAsync("SERVICE_UNKNOWN\n");
        run.Stop();

        Assert.Equal(3, await run.EndAsync());
        Assert.Equal("", run.Error);
    }

    [Fact]
    public async Task Health_is_watched_until_Ctrl_C_or_until_the_server_is_gone()
    {
        await using ClientRun stopped = ClientRun.Start("health", Grpc, "--watch");
        await using ClientRun left = ClientRun.Start("health", Grpc, "--watch");
        await stopped.WaitForAsync("SERVING\n");
        await left.WaitForAsync("SERVING\n");

        long start = Stopwatch.GetTimestamp();
        stopped.Stop();
        Assert.Equal(0, await stopped.EndAsync());
        Assert.InRange(Stopwatch.GetElapsedTime(start).TotalSeconds, 0, 10);
        await _server.Server.StopAsync();
        int code = await left.EndAsync();

        Assert.True(code is 3 or 64 + (int)RpcStatusCode.Unavailable, $"{code}: {left.Error}");
    }

    [Fact]
    public async Task A_ping_tells_what_a_server_says_of_itself_on_each_endpoint()
    {
        foreach (RpcEndpoint endpoint in _server.Server.Endpoints)
        {
            ClientRun run = await ClientRun.RunAsync(["ping", $"{endpoint}", "--service", "streams.Words"]);
            ClientRun other = await ClientRun.RunAsync(["ping", $"{endpoint}", "--service", "no.Such"]);

            Assert.Equal(("", 0), (run.Error, run.Code));
            Assert.Contains("serves streams.Words", run.Output, StringComparison.Ordinal);
            Assert.Equal(64 + (int)RpcStatusCode.NotFound, other.Code);
        }
    }

    [Fact]
    public async Task Pings_go_on_until_Ctrl_C_and_tell_when_the_server_is_gone()
    {
        await using ClientRun run = ClientRun.Start("ping", Grpc, "--watch", "--interval", "0.01");
        await run.WaitForAsync("answered in");
        await _server.Server.StopAsync();
        DateTime end = DateTime.UtcNow.AddSeconds(30);
        while (!run.Error.Contains("protorpc: Unavailable: ", StringComparison.Ordinal))
        {
            Assert.True(DateTime.UtcNow < end, run.Error);
            await Task.Delay(5);
        }

        run.Stop();

        Assert.Equal(64 + (int)RpcStatusCode.Unavailable, await run.EndAsync());
    }
}

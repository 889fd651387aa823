namespace ProtoRpc.Http.Tests.Faults;

/// <summary>A server whose process is killed, stopped or sent to sleep while it is called.</summary>
public static class KilledServerTests
{
    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(20);
    private static readonly TimeSpan ShortDeadline = TimeSpan.FromSeconds(1);

    public static TheoryData<string> Endpoints =>
    [
        "tcp://127.0.0.1:0", "local://", "http://127.0.0.1:0/", "grpc://127.0.0.1:0",
    ];

    [LinuxTheory]
    [InlineData("tcp://127.0.0.1:0", 0)]
    [InlineData("tcp://127.0.0.1:0", 3)]
    [InlineData("local://", 0)]
    [InlineData("pipe://./", 3)]
    [InlineData("http://127.0.0.1:0/", 0)]
    [InlineData("http://127.0.0.1:0/", 3)]
    [InlineData("grpc://127.0.0.1:0", 0)]
    [InlineData("grpc://127.0.0.1:0", 3)]
    public static async Task After_SIGKILL_it_comes_back_at_its_endpoint_and_no_call_ran_twice(
        string endpoint, int retries)
    {
        using Journal journal = new();
        RpcEndpoint? bound = null;
        await using Callers callers = await StartAsync();

        async Task<Callers> StartAsync()
        {
            using ToolServer server = await ToolServer.StartAsync(Named(endpoint), journal.Arguments);
            bound = server.Endpoint;
            Callers started = new(server, Deadline, new() { RetryCount = retries });
            await started.MoreAsync();
            server.Signal("KILL");
            Assert.Equal(137, await server.EndsAsync());
            return started;
        }

        using ToolServer second = await ToolServer.StartAsync(bound!.Uri, journal.Arguments);
        Assert.Equal(bound, second.Endpoint);
        await callers.MoreAsync();
        await callers.StopAsync();

        journal.AssertOnce(callers.Acknowledged);
    }

    [LinuxTheory]
    [MemberData(nameof(Endpoints))]
    public static async Task On_SIGTERM_calls_that_run_are_answered_and_new_ones_refused(string endpoint)
    {
        using Journal journal = new();
        using ToolServer server = await ToolServer.StartAsync(Named(endpoint), journal.Arguments);
        using RpcClient client = server.Connect();
        journal.Hold();
        Task<DynamicMessage> running = client.InvokeAsync("Say", new { text = "call-0-0" });
        await ToolServer.UntilAsync(() => journal.Ran.Length == 1, "the call");

        server.Signal("TERM");
        await ToolServer.UntilAsync(() => IsRefused(server), "the refusal of new calls");
        Assert.False(running.IsCompleted);
        journal.Release();

        Assert.Equal("done", WordsServer.TextOf(await running.WaitAsync(Deadline)));
        await server.EndsAsync();
        Assert.Equal(["call-0-0"], journal.Ran);
    }

    [LinuxTheory]
    [MemberData(nameof(Endpoints))]
    public static async Task While_it_sleeps_calls_end_at_their_deadline_and_then_it_goes_on(string endpoint)
    {
        using Journal journal = new();
        using ToolServer server = await ToolServer.StartAsync(Named(endpoint), journal.Arguments);
        await using Callers callers = new(server, ShortDeadline);
        await callers.MoreAsync();

        server.Signal("STOP");
        await callers.MoreFailuresAsync(12);
        server.Signal("CONT");
        await callers.MoreAsync();
        await callers.StopAsync();

        journal.AssertOnce(callers.Acknowledged);
    }

    // A local endpoint needs a name of its own.
    private static string Named(string endpoint) =>
        endpoint.EndsWith('/') && !endpoint.StartsWith("http", StringComparison.Ordinal)
            ? $"{endpoint}t{Guid.NewGuid():N}"[..(endpoint.Length + 16)]
            : endpoint;

    private static bool IsRefused(ToolServer server)
    {
        try
        {
            using RpcClient late = server.Connect();
            late.Invoke("Say", new { text = "late" }, new RpcCallOptions { Timeout = ShortDeadline });
            return false;
        }
        catch (RpcException e)
        {
            return e.Code == RpcStatusCode.Unavailable;
        }
    }
}

using Microsoft.Extensions.Logging;

namespace ProtoRpc.Tests.Client;

/// <summary>What clients write to the host's log.</summary>
public static class ClientLogTests
{
    private static readonly Guid Interface = new("6a0e7f0c-7a5b-4b8e-9a57-0e8f9f1c2d3b");
    private static readonly EchoRequest Hello = new() { Text = "hello" };

    [Fact]
    public static async Task A_call_is_logged_for_debugging_with_its_sizes()
    {
        ListLogger log = new();
        using RpcServer server = EchoServer.Start(RpcTransport.Local);
        RpcClientOptions options = new() { LoggerFactory = log };
        await using RpcClient client = EchoServer.Connect(server, options);

        client.Invoke<EchoReply>("Say", Hello);
        await client.InvokeAsync<EchoReply>("Say", Hello);

        string[] lines = [.. log.Entries.Select(entry => $"{entry.Level} {entry.Category}: {entry.Text}")];
        Assert.StartsWith($"Debug ProtoRpc.RpcClient: Connected to {server.Endpoints[0]} in ", lines[0]);
        Assert.Equal(3, lines.Length);
        Assert.All(lines[1..], line => Assert.Matches(
            @"^Debug ProtoRpc.RpcClient: calls.Echo/Say on .+ ended in [\d.]+ ms: "
            + @"[1-9]\d* bytes sent, [1-9]\d* bytes received, 0 retries\.$",
            line));
    }

    [Fact]
    public static void A_failure_is_logged_as_information_on_one_line()
    {
        ListLogger log = new() { Least = LogLevel.Information };
        using RpcServer server = EchoServer.Start(
            RpcTransport.Local, new RpcServerOptions { ErrorDetail = RpcErrorDetail.Full });
        using RpcClient client = EchoServer.Connect(server, new RpcClientOptions { LoggerFactory = log });

        client.Invoke<EchoReply>("Say", Hello);
        Assert.Throws<RpcException>(
            () => client.Invoke<EchoReply>("Fail", new EchoRequest { Text = "no\n\u001b[31mdisk" }));

        (string category, LogLevel level, string text, _) = Assert.Single(log.Entries);
        Assert.Equal(("ProtoRpc.RpcClient", LogLevel.Information), (category, level));
        Assert.Contains("calls.Echo/Fail", text, StringComparison.Ordinal);
        Assert.DoesNotContain(text, char.IsControl);
    }

    [Fact]
    public static void A_server_that_cannot_be_reached_is_logged()
    {
        ListLogger log = new();
        RpcEndpoint nobody = EchoServer.NewEndpoint(RpcTransport.Local);

        Assert.Throws<RpcException>(() => RpcClient.Connect(
            nobody, EchoServer.Schema, new RpcClientOptions { LoggerFactory = log, Service = "calls.Echo" }));

        (_, LogLevel level, string text, _) = Assert.Single(log.Entries);
        Assert.Equal(LogLevel.Information, level);
        Assert.StartsWith($"Connecting to {nobody} failed with status Unavailable: ", text);
    }

    [Fact]
    public static void Each_attempt_that_is_made_again_is_logged_with_number_status_and_pause()
    {
        ListLogger log = new() { Least = LogLevel.Warning };
        RpcEndpoint nobody = EchoServer.NewEndpoint(RpcTransport.Local);
        RpcClientOptions options = new() { LoggerFactory = log, Service = "calls.Echo", RetryCount = 2 };

        Assert.Throws<RpcException>(() => RpcClient.Connect(nobody, EchoServer.Schema, options));
        using RpcClient client = RpcClient.Connect(nobody, EchoServer.Schema, options with { Lazy = true });
        Assert.Throws<RpcException>(() => client.Invoke<EchoReply>("Say", Hello));

        string[] lines = [.. log.Entries.Select(entry => entry.Text)];
        Assert.Equal(4, lines.Length);
        for (int i = 0; i < lines.Length; i++)
        {
            string what = i < 2 ? "Connecting to" : "calls.Echo/Say on";
            Assert.Matches(
                $@"^{what} .+: attempt {(i % 2) + 1} failed with status Unavailable, the next begins in "
                + @"[\d.]+ ms: .+",
                lines[i]);
        }

        Assert.All(log.Entries, entry => Assert.Equal("ProtoRpc.RpcClient", entry.Category));
    }

    [Fact]
    public static async Task Attempts_of_the_raw_layer_are_logged_and_nothing_of_calls_that_succeed()
    {
        ListLogger log = new() { Least = LogLevel.Warning };
        RpcEndpoint endpoint = EchoServer.NewEndpoint(RpcTransport.Local);
        using RpcRawClient client = RpcRawClient.Connect(
            endpoint, Interface, new RpcClientOptions { LoggerFactory = log, Lazy = true, RetryCount = 1 });

        await Assert.ThrowsAsync<RpcException>(() => client.ExecuteAsync(new byte[] { 1 }));
        Assert.Matches($"^{Interface} on .+: attempt 1 failed", Assert.Single(log.Entries).Text);
        log.Entries.Clear();
        using RpcRawServer server = RpcRawServer.Create(Interface)
            .OnExecute((RpcRawContext _, byte[] bytes) => bytes)
            .AddEndpoint(endpoint)
            .StartListening();
        await client.ExecuteAsync(new byte[] { 1 });

        Assert.Empty(log.Entries);
    }

    [Fact]
    public static void A_logger_that_throws_changes_no_reply()
    {
        using RpcServer server = EchoServer.Start(RpcTransport.Local);
        using RpcClient client = EchoServer.Connect(
            server,
            new RpcClientOptions { LoggerFactory = new ListLogger { Failure = new IOException("full") } });

        Assert.Equal("hello", client.Invoke<EchoReply>("Say", Hello).Text);
        Assert.Throws<RpcException>(() => client.Invoke<EchoReply>("Fail", Hello));
    }

    [Fact]
    public static async Task A_call_of_the_raw_layer_is_logged_and_counted()
    {
        ListLogger log = new();
        using RpcRawServer server = RpcRawServer.Create(Interface)
            .OnExecute((RpcRawContext _, byte[] bytes) => bytes is [0]
                ? throw new InvalidOperationException("no tape")
                : [.. bytes, .. bytes])
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
            .StartListening();
        using RpcRawClient client = RpcRawClient.Connect(
            server.Endpoints[0], Interface, new RpcClientOptions { LoggerFactory = log });
        RpcReplyInfo info = new();

        client.Execute([1, 2, 3], new RpcCallOptions { ReplyInfo = info });
        Assert.Equal((3, 6, 0), (info.BytesSent, info.BytesReceived, info.Retries));
        await client.ExecuteAsync(new byte[] { 1 });
        await Assert.ThrowsAsync<RpcException>(() => client.ExecuteAsync(new byte[] { 0 }));

        string[] lines = [.. log.Entries.Select(entry => $"{entry.Level} {entry.Category}: {entry.Text}")];
        Assert.Equal(3, lines.Length);
        Assert.Matches(
            $"^Debug ProtoRpc.RpcRawClient: {Interface} on .+ ms: 3 bytes sent, 6 bytes received, 0 retries",
            lines[0]);
        Assert.Contains("1 bytes sent, 2 bytes received", lines[1], StringComparison.Ordinal);
        Assert.StartsWith($"Information ProtoRpc.RpcRawClient: {Interface} on ", lines[2]);
        Assert.Contains("failed with status", lines[2], StringComparison.Ordinal);
    }

    [Fact]
    public static void What_the_raw_layer_cannot_carry_is_refused()
    {
        using RpcRawServer server = RpcRawServer.Create(Interface)
            .OnExecute((RpcRawContext _, byte[] bytes) => bytes)
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
            .StartListening();
        using RpcRawClient client = RpcRawClient.Connect(server.Endpoints[0], Interface);

        RpcException error = Assert.Throws<RpcException>(() => client.Execute(
            [1], new RpcCallOptions { Headers = new RpcMetadata { { "x", "y" } } }));

        Assert.Equal(RpcStatusCode.InvalidArgument, error.Code);
        Assert.Contains("Headers", error.Message, StringComparison.Ordinal);
        RpcException late = Assert.Throws<RpcException>(() => client.Execute(
            [1], new RpcCallOptions { Deadline = DateTimeOffset.UtcNow.AddSeconds(-1) }));
        Assert.Equal(RpcStatusCode.DeadlineExceeded, late.Code);
    }
}

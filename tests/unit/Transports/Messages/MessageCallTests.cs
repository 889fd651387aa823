using System.Buffers;
using System.Diagnostics;
using ProtoRpc.Client.Native;
using ProtoRpc.Server.Native;
using ProtoRpc.Transports;

namespace ProtoRpc.Tests.Transports.Messages;

/// <summary>Calls over transports of whole messages, from client to server: in memory everywhere, and over
/// LRPC on Windows.</summary>
public static class MessageCallTests
{
    public static TheoryData<string> Kinds => MessageServer.Kinds;

    public static TheoryData<string, bool> Ways => MessageServer.Ways;

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task Bytes_of_every_size_come_back(string kind)
    {
        await using MessageServer server = new(kind, TestServer.Echo);
        using NativeConnectionPool client = server.Connect();

        foreach (int length in new[] { 0, 1, 3, 4, 5, 100, 4096, 5809, 65_535, 65_536, 3_000_001 })
        {
            byte[] request = ClientCalls.Bytes(length);
            Assert.Equal(request, client.Call(request));
        }

        Assert.Equal(1, client.ConnectionCount);
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task Many_callers_at_the_same_time_get_their_own_replies(string kind)
    {
        await using MessageServer server = new(kind, TestServer.Echo);
        using NativeConnectionPool client = server.Connect();

        byte[][] replies = await Task.WhenAll(Enumerable.Range(0, 200)
            .Select(length => client.CallAsync(ClientCalls.Bytes(length * 7))));

        Assert.All(Enumerable.Range(0, 200), i => Assert.Equal(ClientCalls.Bytes(i * 7), replies[i]));
        Assert.InRange(client.ConnectionCount, 2, RpcLimits.Default.MaxClientConnections + 1);
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task A_return_code_comes_without_bytes(string kind)
    {
        await using MessageServer server = new(kind, call =>
        {
            call.Reply.Write("lost"u8);
            call.ReturnCode = 1715;
            return ValueTask.CompletedTask;
        });
        using NativeConnectionPool client = server.Connect();
        using NativeClientCall exchange = client.Begin();

        Assert.Equal(1715, exchange.Execute(ClientCalls.Patience));
        Assert.True(exchange.Reply.IsEmpty);
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task A_handler_that_throws_is_answered_as_the_original_does(string kind)
    {
        await using MessageServer server = new(kind, _ => throw new InvalidOperationException("no"));
        using NativeConnectionPool client = server.Connect();

        Assert.Equal(unchecked((int)0x80004005), CodeOf(client, "x"u8));
        Assert.Equal(unchecked((int)0x80004005), CodeOf(client, "y"u8));
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task A_handler_may_end_later(string kind)
    {
        await using MessageServer server = new(kind, async call =>
        {
            await Task.Yield();
            await TestServer.Echo(call);
        });
        using NativeConnectionPool client = server.Connect();

        Assert.Equal("later"u8.ToArray(), client.Call("later"u8));
    }

    [Theory]
    [MemberData(nameof(Ways))]
    public static async Task A_deadline_ends_the_call_though_the_handler_hangs(string kind, bool blocking)
    {
        using ManualResetEventSlim hang = new();
        await using MessageServer server = new(kind, call =>
        {
            if (call.Request.Span.SequenceEqual("hang"u8))
            {
                hang.Wait();
            }

            return TestServer.Echo(call);
        });
        using NativeConnectionPool client = server.Connect();
        long start = Stopwatch.GetTimestamp();

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => Call(client, blocking, "hang"u8, TimeSpan.FromMilliseconds(300)));

        Assert.Equal(RpcStatusCode.DeadlineExceeded, error.Code);
        Assert.True(error.MayHaveExecuted);
        Assert.InRange(Stopwatch.GetElapsedTime(start).TotalSeconds, 0.25, 10);

        // The next call has a connection of its own, and never gets the late reply.
        Assert.Equal("next"u8.ToArray(), client.Call("next"u8));
        hang.Set();
        Assert.Equal("after"u8.ToArray(), client.Call("after"u8));
    }

    [Theory]
    [MemberData(nameof(Ways))]
    public static async Task A_token_ends_the_call(string kind, bool blocking)
    {
        using BlockingHandler handler = new();
        await using MessageServer server = new(kind, handler.Handle);
        using NativeConnectionPool client = server.Connect();
        using CancellationTokenSource source = new();

        Task call = Task.Run(
            () => Call(client, blocking, "x"u8, Timeout.InfiniteTimeSpan, source.Token));
        await Eventually.TrueAsync(() => handler.Running == 1, "the handler runs");
        await source.CancelAsync();

        RpcException error = await Assert.ThrowsAsync<RpcException>(() => call);
        Assert.Equal(RpcStatusCode.Cancelled, error.Code);
        Assert.True(error.MayHaveExecuted);
        handler.Release();
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task Calls_that_are_given_up_hold_no_more_threads_than_there_may_be_connections(
        string kind)
    {
        using ManualResetEventSlim hang = new();
        await using MessageServer server = new(kind, call =>
        {
            // Without a look at its cancellation.
            hang.Wait();
            return TestServer.Echo(call);
        });
        using NativeConnectionPool client = server.Connect(new RpcLimits { MaxClientConnections = 2 });
        for (int i = 0; i < 2; i++)
        {
            RpcException late = await Assert.ThrowsAsync<RpcException>(
                () => Call(client, true, "x"u8, TimeSpan.FromMilliseconds(100)));
            Assert.Equal(RpcStatusCode.DeadlineExceeded, late.Code);
        }

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => Call(client, true, "x"u8, ClientCalls.Patience));

        Assert.Equal(RpcErrorIds.ClientConnectionsExhausted, error.ErrorId);
        Assert.False(error.MayHaveExecuted);
        hang.Set();
        await Eventually.TrueAsync(() => !client.IsStuck, "the threads end with their calls");
        Assert.Equal("again"u8.ToArray(), client.Call("again"u8));
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task A_call_whose_time_is_over_is_not_sent(string kind)
    {
        int calls = 0;
        await using MessageServer server = new(kind, call =>
        {
            Interlocked.Increment(ref calls);
            return TestServer.Echo(call);
        });
        using NativeConnectionPool client = server.Connect();

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => Call(client, true, "x"u8, TimeSpan.Zero));

        Assert.Equal(RpcStatusCode.DeadlineExceeded, error.Code);
        Assert.False(error.MayHaveExecuted);
        Assert.Equal(0, calls);
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task A_reply_over_the_limit_of_the_client_is_refused(string kind)
    {
        await using MessageServer server = new(kind, call =>
        {
            call.Reply.Write(new byte[call.Request.Length * 100]);
            return ValueTask.CompletedTask;
        });
        using NativeConnectionPool client = server.Connect(new RpcLimits { MaxMessageBytes = 1000 });

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => Call(client, true, new byte[100], ClientCalls.Patience));

        Assert.Equal(RpcErrorIds.MessageTooLarge, error.ErrorId);
        Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
        Assert.Equal(new byte[200], client.Call(new byte[2]));
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task A_reply_over_the_limit_of_the_server_is_a_code(string kind)
    {
        await using MessageServer server = new(
            kind,
            call =>
            {
                call.Reply.Write(new byte[2000]);
                return ValueTask.CompletedTask;
            },
            new RpcLimits { MaxMessageBytes = 1000 });
        using NativeConnectionPool client = server.Connect();

        Assert.Equal(1130, CodeOf(client, "x"u8));
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static void A_name_without_a_server_is_unavailable(string kind)
    {
        using NativeConnectionPool client = NativeConnectionPool.Over(
            kind == "lrpc" ? MessageTransports.Get(MessageServer.NewEndpoint()) : new MemoryMessages(),
            MessageServer.NewEndpoint(), Guid.NewGuid(), RpcLimits.Default);

        RpcException error = Assert.Throws<RpcException>(() => client.Reach(ClientCalls.Patience));

        Assert.Equal(RpcStatusCode.Unavailable, error.Code);
        Assert.Contains("nothing listens under that name", error.Message);
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task An_interface_that_is_not_served_is_refused(string kind)
    {
        await using MessageServer server = new(kind, TestServer.Echo);
        using NativeConnectionPool client = NativeConnectionPool.Over(
            server.Transport, server.Endpoint, Guid.NewGuid(), RpcLimits.Default);

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => Call(client, true, "x"u8, ClientCalls.Patience));

        Assert.Equal(RpcStatusCode.Unimplemented, error.Code);
        Assert.Contains("the server does not serve this interface", error.Message);
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task A_server_that_stopped_can_listen_again(string kind)
    {
        await using MessageServer server = new(kind, TestServer.Echo);
        using NativeConnectionPool client = server.Connect();
        Assert.Equal("one"u8.ToArray(), client.Call("one"u8));

        await server.DisposeAsync();
        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => Call(client, true, "two"u8, ClientCalls.Patience));
        Assert.Equal(RpcStatusCode.Unimplemented, error.Code);

        MessageListener again = MessageListener.Serve(
            server.Endpoint, new ExecInterface(server.InterfaceId, TestServer.Echo), RpcLimits.Default,
            server.Transport);
        Assert.Equal("three"u8.ToArray(), client.Call("three"u8));
        await again.StopServingAsync(server.InterfaceId, TimeSpan.Zero);
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task A_stop_lets_running_calls_end(string kind)
    {
        using BlockingHandler handler = new();
        MessageServer server = new(kind, handler.Handle);
        using NativeConnectionPool client = server.Connect();
        Task<byte[]> call = client.CallAsync("running"u8.ToArray());
        await Eventually.TrueAsync(() => handler.Running == 1, "the handler runs");

        ValueTask stop = server.DisposeAsync();
        Assert.False(stop.IsCompleted);
        handler.Release();

        Assert.Equal("running"u8.ToArray(), await call);
        await stop;
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task A_stop_cancels_calls_that_do_not_end(string kind)
    {
        using BlockingHandler handler = new();
        MessageServer server = new(kind, handler.Handle);
        using NativeConnectionPool client = server.Connect();
        Task<int> call = Task.Run(() => CodeOf(client, "x"u8));
        await Eventually.TrueAsync(() => handler.Running == 1, "the handler runs");

        await server.Listener.StopServingAsync(server.InterfaceId, TimeSpan.FromMilliseconds(50));

        Assert.Equal(1818, await call);
        Assert.Equal(1, handler.Cancelled);
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task A_stop_does_not_wait_for_a_handler_that_hangs(string kind)
    {
        using ManualResetEventSlim hang = new();
        using ManualResetEventSlim runs = new();
        MessageServer server = new(kind, call =>
        {
            runs.Set();
            hang.Wait();
            return TestServer.Echo(call);
        });
        using NativeConnectionPool client = server.Connect();
        Task<byte[]> call = client.CallAsync("late"u8.ToArray());
        runs.Wait(ClientCalls.Patience);
        long start = Stopwatch.GetTimestamp();

        await server.Listener.StopServingAsync(server.InterfaceId, TimeSpan.Zero);

        Assert.InRange(Stopwatch.GetElapsedTime(start).TotalSeconds, 0, 10);
        hang.Set();
        Assert.Equal("late"u8.ToArray(), await call);
    }

    private static int CodeOf(NativeConnectionPool client, ReadOnlySpan<byte> request)
    {
        using NativeClientCall exchange = client.Begin();
        exchange.Request.Write(request);
        return exchange.Execute(ClientCalls.Patience);
    }

    private static Task<byte[]> Call(
        NativeConnectionPool client, bool blocking, ReadOnlySpan<byte> request, TimeSpan timeout,
        CancellationToken cancellation = default) =>
        CallAsync(client, blocking, request.ToArray(), timeout, cancellation);

    private static async Task<byte[]> CallAsync(
        NativeConnectionPool client, bool blocking, byte[] request, TimeSpan timeout,
        CancellationToken cancellation)
    {
        using NativeClientCall exchange = client.Begin(cancellation);
        exchange.Request.Write(request);
        int code = blocking
            ? exchange.Execute(timeout, cancellation)
            : await exchange.ExecuteAsync(timeout, cancellation);
        Assert.Equal(0, code);
        return exchange.Reply.ToArray();
    }
}

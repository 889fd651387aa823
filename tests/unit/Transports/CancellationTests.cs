using System.Diagnostics;
using ProtoRpc.Client.Native;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Tests.Protocols.Dce;

namespace ProtoRpc.Tests.Transports;

public static class CancellationTests
{
    public static TheoryData<string, bool> Ways => new()
    {
        { "tcp", true }, { "tcp", false }, { "local", true }, { "local", false },
    };

    [Theory]
    [MemberData(nameof(Ways))]
    public static async Task A_deadline_ends_the_call_on_both_sides(string kind, bool blocking)
    {
        using BlockingHandler handler = new();
        await using TestServer server = new(handler.Handle, Limits(blocking), NativeEndpoints.Fresh(kind));
        using NativeConnectionPool client = server.Connect();
        long start = Stopwatch.GetTimestamp();

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => Call(client, blocking, TimeSpan.FromMilliseconds(300)));

        Assert.Equal(RpcStatusCode.DeadlineExceeded, error.Code);
        Assert.True(error.MayHaveExecuted);
        Assert.InRange(Stopwatch.GetElapsedTime(start).TotalSeconds, 0.25, 10);
        await Eventually.TrueAsync(() => handler.Cancelled == 1, "the handler is cancelled");
        handler.Release();
        Assert.Equal("next"u8.ToArray(), client.Call("next"u8));
    }

    [Theory]
    [MemberData(nameof(Ways))]
    public static async Task A_token_ends_the_call_on_both_sides(string kind, bool blocking)
    {
        using BlockingHandler handler = new();
        await using TestServer server = new(handler.Handle, Limits(blocking), NativeEndpoints.Fresh(kind));
        using NativeConnectionPool client = server.Connect();
        using CancellationTokenSource source = new();

        Task call = Call(client, blocking, Timeout.InfiniteTimeSpan, source.Token);
        await Eventually.TrueAsync(() => handler.Running == 1, "the handler runs");
        await source.CancelAsync();

        RpcException error = await Assert.ThrowsAsync<RpcException>(() => call);
        Assert.Equal(RpcStatusCode.Cancelled, error.Code);
        await Eventually.TrueAsync(() => handler.Cancelled == 1, "the handler is cancelled");
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public static async Task A_caller_that_vanishes_cancels_its_call(bool blocking)
    {
        using BlockingHandler handler = new();
        await using TestServer server = new(handler.Handle, Limits(blocking), NativeEndpoints.Fresh("tcp"));
        RawPeer peer = RawPeer.Bound(server);
        peer.Send(Conversation.Request([]));
        await Eventually.TrueAsync(() => handler.Running == 1, "the handler runs");

        peer.Reset();

        await Eventually.TrueAsync(() => handler.Cancelled == 1, "the handler is cancelled");
        await Eventually.TrueAsync(() => server.Listener.ConnectionCount == 0, "the connection is gone");
    }

    [Fact]
    public static async Task A_co_cancel_is_answered_and_an_orphan_is_not()
    {
        using BlockingHandler handler = new();
        await using TestServer server = new(handler.Handle, endpoint: NativeEndpoints.Fresh("tcp"));
        using RawPeer peer = RawPeer.Bound(server);

        peer.Send(Conversation.Request([], callId: 2));
        await Eventually.TrueAsync(() => handler.Running == 1, "the first call runs");
        peer.Send(PduHeader.HeaderOnly(PduType.CoCancel, 2));
        byte[] fault = peer.ReadPdu();
        Assert.True(FaultPdu.TryReadStatus(PduHeader.Read(fault), fault, out uint status));
        Assert.Equal((FaultStatus.Cancelled, 2u), (status, PduHeader.Read(fault).CallId));

        peer.Send(Conversation.Request([], callId: 3));
        await Eventually.TrueAsync(() => handler.Running == 1, "the second call runs");
        peer.Send(PduHeader.HeaderOnly(PduType.Orphaned, 3));
        await Eventually.TrueAsync(() => handler.Cancelled == 2, "the second call is cancelled");

        handler.Release();
        peer.Send(Conversation.Request([], callId: 4));
        Assert.Equal(4u, PduHeader.Read(peer.ReadPdu()).CallId);
    }

    [Fact]
    public static async Task A_token_of_a_call_is_not_cancelled_by_the_next_one()
    {
        List<bool> seen = [];
        using BlockingHandler handler = new();
        bool first = true;
        await using TestServer server = new(call =>
        {
            if (first)
            {
                first = false;
                return handler.Handle(call);
            }

            seen.Add(call.Cancellation.IsCancellationRequested);
            return TestServer.Echo(call);
        });
        using NativeConnectionPool client = server.Connect();

        Assert.Throws<RpcException>(() => client.Call([], TimeSpan.FromMilliseconds(200)));
        await Eventually.TrueAsync(() => handler.Cancelled == 1, "the first call is cancelled");
        client.Call("a"u8);
        client.Call("b"u8);

        Assert.Equal([false, false], seen);
    }

    [Fact]
    public static async Task A_cancelled_token_and_a_passed_deadline_send_nothing()
    {
        await using TestServer server = new(_ => throw new InvalidOperationException("not to be called"));
        using NativeConnectionPool client = server.Connect();

        CancellationToken token = new(canceled: true);
        OperationCanceledException cancelled = await Assert.ThrowsAsync<OperationCanceledException>(
            () => Call(client, true, ClientCalls.Patience, token));
        RpcException late = await Assert.ThrowsAsync<RpcException>(() => Call(client, true, TimeSpan.Zero));

        Assert.Equal(token, cancelled.CancellationToken);
        Assert.Equal((RpcStatusCode.DeadlineExceeded, false), (late.Code, late.MayHaveExecuted));
    }

    private static RpcLimits Limits(bool blocking) => new() { MaxBlockingConnections = blocking ? 64 : 0 };

    private static Task Call(
        NativeConnectionPool client, bool blocking, TimeSpan timeout,
        CancellationToken cancellation = default) => Task.Run(
        async () =>
        {
            using NativeClientCall exchange = client.Begin();
            int code = blocking
                ? exchange.Execute(timeout, cancellation)
                : await exchange.ExecuteAsync(timeout, cancellation);
            Assert.Equal(0, code);
        });
}

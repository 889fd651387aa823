using Google.Protobuf;
using ProtoRpc.Server;
using ProtoRpc.Server.Calls;

namespace ProtoRpc.Tests.Server;

/// <summary>The path of a call, on a protocol of the test's own.</summary>
public static class ServerCallTests
{
    [Fact]
    public static async Task A_call_is_read_handled_answered_and_counted()
    {
        RecordedCall call = new((_, request) => ValueTask.FromResult<IMessage>(
            new EchoReply { Text = ((EchoRequest)request).Text }));

        await ServerCall.RunAsync(call);

        Assert.Equal(["read", "reply hello", "release"], call.Steps);
        Assert.Equal((1, 0, 0), call.Counts);
    }

    [Fact]
    public static async Task A_failure_is_answered_where_it_happens()
    {
        List<RpcFailedCall> record = [];
        RecordedCall call = new(
            (_, _) => throw new InvalidOperationException("secret"),
            new RpcServerOptions { CallFailed = record.Add, ErrorDetail = RpcErrorDetail.None });

        await ServerCall.RunAsync(call);

        Assert.Equal(["read", "close", "fail Unknown", "release"], call.Steps);
        Assert.Equal((1, 1, 0), call.Counts);
        RpcFailedCall recorded = Assert.Single(record);
        Assert.Equal("secret", recorded.Error.Message);
        Assert.Equal(call.Failure!.CorrelationId, recorded.CorrelationId);
        Assert.DoesNotContain("secret", call.Failure.Text);
    }

    [Fact]
    public static async Task A_header_that_cannot_be_read_is_answered_too()
    {
        RecordedCall call = new((_, _) => default)
        {
            HeadError = new RpcException(RpcStatusCode.InvalidArgument, "no header"),
        };

        await ServerCall.RunAsync(call);

        Assert.Equal(["close", "fail InvalidArgument", "release"], call.Steps);
        Assert.Equal((1, 1, 0), call.Counts);
    }

    [Fact]
    public static async Task A_handler_that_outlasts_the_deadline_was_late_and_not_cancelled()
    {
        RecordedCall call = new(async (context, _) =>
        {
            await Task.Delay(Timeout.Infinite, context.CancellationToken);
            return new EchoReply();
        })
        {
            Deadline = DateTimeOffset.UtcNow.AddMilliseconds(50),
        };

        await ServerCall.RunAsync(call);

        Assert.Equal(RpcStatusCode.DeadlineExceeded, call.Failure!.Code);
        Assert.Equal("The deadline passed before the handler ended.", call.Failure.Text);
    }

    [Fact]
    public static async Task A_call_that_nobody_waits_for_is_neither_answered_nor_recorded()
    {
        List<RpcFailedCall> record = [];
        RecordedCall call = new(
            (_, _) => throw new InvalidOperationException("late"),
            new RpcServerOptions { CallFailed = record.Add })
        {
            Abandoned = true,
        };

        await ServerCall.RunAsync(call);

        Assert.Equal(["read", "close", "release"], call.Steps);
        Assert.Equal((1, 1, 0), call.Counts);
        Assert.Empty(record);
    }

    [Fact]
    public static async Task A_call_whose_failure_cannot_be_written_ends_all_the_same()
    {
        RecordedCall call = new((_, _) => throw new InvalidOperationException("first"))
        {
            FailError = new IOException("no way back"),
        };

        IOException error = await Assert.ThrowsAsync<IOException>(
            async () => await ServerCall.RunAsync(call));

        Assert.Equal("no way back", error.Message);
        Assert.Equal(["read", "close", "fail Unknown", "release"], call.Steps);
        Assert.Equal((1, 1, 0), call.Counts);
    }

    [Fact]
    public static void Interceptors_stand_once_around_a_server_whose_first_start_failed()
    {
        CountingInterceptor interceptor = new();
        using RpcServer taken = EchoServer.Start(RpcTransport.Local);
        using RpcServer server = EchoServer.Create(new RpcServerOptions { Interceptors = [interceptor] })
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
            .AddEndpoint(taken.Endpoints[0]);
        Assert.Throws<RpcException>(() => server.StartListening());
        taken.Dispose();
        server.StartListening();
        using RpcClient client = EchoServer.Connect(server);

        client.Invoke<EchoReply>("Say", new EchoRequest { Text = "once" });

        Assert.Equal(1, interceptor.Calls);
    }

    /// <summary>A call of Say that keeps what becomes of it.</summary>
    private sealed class RecordedCall(RpcHandler handler, RpcServerOptions? options = null)
        : CallProtocol(
            new ServerHost([], options ?? new RpcServerOptions()), RpcEndpoint.Parse("local://protocol"))
    {
        public override PeerIdentity Peer { get; } = PeerIdentity.Anonymous("");

        public override long BytesIn => 0;

        public override long BytesOut => 0;

        private readonly ServerMethod _method = new(EchoServer.Schema.GetMethod("calls.Echo/Say"), handler);

        public List<string> Steps { get; } = [];

        public (long Ended, long Failed, int Running) Counts =>
            (Host.Monitor.Ended, Host.Monitor.Failed, Host.Monitor.Running);

        public CallFailure? Failure { get; private set; }

        public DateTimeOffset? Deadline { get; init; }

        public Exception? HeadError { get; init; }

        public Exception? FailError { get; init; }

        public bool Abandoned { get; init; }

        public override bool IsAbandoned => Abandoned;

        public override CallHead ReadHead() => HeadError is null
            ? new CallHead(_method, null, Deadline, default)
            : throw HeadError;

        public override ValueTask<IMessage> ReadAsync(ServerMethod method, RpcServerCallContext context)
        {
            Steps.Add("read");
            return new(new EchoRequest { Text = "hello" });
        }

        public override ValueTask ReplyAsync(RpcServerCallContext context, IMessage reply)
        {
            Steps.Add($"reply {((EchoReply)reply).Text}");
            return default;
        }

        public override ValueTask FailAsync(CallFailure failure, RpcServerCallContext? context)
        {
            Failure = failure;
            Steps.Add($"fail {failure.Code}");
            return FailError is null ? default : throw FailError;
        }

        public override ValueTask CloseAsync()
        {
            Steps.Add("close");
            return default;
        }

        public override void Release()
        {
            Steps.Add("release");
            base.Release();
        }
    }
}

using System.Security.Principal;
using Google.Protobuf;

namespace ProtoRpc.Tests.Server;

/// <summary>Handlers and interceptors are tested without a server.</summary>
public static class RpcTestCallTests
{
    private static readonly PeerIdentity Ann = new(
        new GenericIdentity("ann", "NTLM"), "192.0.2.1:5000", 0, IsLocal: false);

    [Fact]
    public static void A_handler_sees_the_call_that_a_test_describes()
    {
        using CancellationTokenSource source = new();
        DateTimeOffset deadline = DateTimeOffset.UtcNow.AddHours(1);
        RpcTestCall call = new(EchoServer.Schema.GetMethod("calls.Echo/Say"))
        {
            Endpoint = RpcEndpoint.Parse("tcp://127.0.0.1:8080"),
            Peer = Ann,
            RequestHeaders = new RpcMetadata { { "x-tenant", "blue" } },
            Deadline = deadline,
            CancellationToken = source.Token,
        };

        RpcServerCallContext context = call.CreateContext();

        Assert.Equal("calls.Echo/Say", context.Method.FullName);
        Assert.Equal(RpcTransport.Tcp, context.Transport);
        Assert.Equal("ann", context.User.Name);
        Assert.True(context.IsAuthenticated);
        Assert.Equal("192.0.2.1:5000", context.ClientAddress);
        Assert.Equal("blue", context.RequestHeaders.GetText("x-tenant"));
        Assert.Equal(deadline, context.Deadline);
        Assert.False(context.CancellationToken.IsCancellationRequested);
        source.Cancel();
        Assert.True(context.CancellationToken.IsCancellationRequested);
        context.ReplyTrailers.Add("x-cost", "1");
        Assert.Equal("1", context.ReplyTrailers.GetText("x-cost"));
    }

    [Fact]
    public static void The_deadline_cancels_a_context_without_a_server_too()
    {
        RpcServerCallContext context = new RpcTestCall(EchoServer.Schema.GetMethod("calls.Echo/Say"))
        {
            Deadline = DateTimeOffset.UtcNow.AddMilliseconds(20),
        }.CreateContext();

        Assert.True(context.CancellationToken.WaitHandle.WaitOne(TimeSpan.FromSeconds(20)));
    }

    [Fact]
    public static async Task An_interceptor_decides_by_the_caller()
    {
        RpcAuthorization rules = RpcAuthorization.FromRules(
            new Dictionary<string, string> { ["calls.Echo/*"] = "ann" });
        RpcTestCall anonymous = new(EchoServer.Schema.GetMethod("calls.Echo/Say"));
        RpcTestCall known = anonymous with { Peer = Ann };
        EchoRequest request = new() { Text = "hello" };
        RpcHandler next = (_, _) => ValueTask.FromResult<IMessage>(new EchoReply { Text = "in" });

        IMessage reply = await rules.InvokeAsync(known.CreateContext(), request, next);
        RpcException refusal = await Assert.ThrowsAsync<RpcException>(
            async () => await rules.InvokeAsync(anonymous.CreateContext(), request, next));

        Assert.Equal("in", ((EchoReply)reply).Text);
        Assert.Equal(RpcStatusCode.Unauthenticated, refusal.Code);
    }

    [Fact]
    public static async Task A_handler_of_streams_reads_the_requests_and_leaves_its_replies()
    {
        RpcTestCall call = new(EchoServer.Schema.GetMethod("calls.Echo/Watch"));
        RpcTestStream stream = call.CreateStream(new EchoRequest { Text = "a" });

        await Twice(call.CreateContext(), stream);

        Assert.Equal(["a", "a"], stream.Replies.Select(reply => ((EchoReply)reply).Text));

        static async ValueTask Twice(RpcServerCallContext context, RpcServerStream stream)
        {
            await foreach (IMessage request in stream.ReadAllAsync(context.CancellationToken))
            {
                EchoReply reply = new() { Text = ((EchoRequest)request).Text };
                await stream.WriteAsync(reply);
                await stream.WriteAsync(reply);
            }
        }
    }

    [Fact]
    public static async Task Requests_come_when_the_test_has_them_come()
    {
        TaskCompletionSource<IMessage> second = new(TaskCreationOptions.RunContinuationsAsynchronously);
        RpcTestStream stream = new RpcTestCall(EchoServer.Schema.GetMethod("calls.Echo/Watch"))
            .CreateStream(RequestsAsync());

        Assert.Equal("1", ((EchoRequest)(await stream.ReadAsync())!).Text);
        ValueTask<IMessage?> waiting = stream.ReadAsync();
        Assert.False(waiting.IsCompleted);
        second.SetResult(new EchoRequest { Text = "2" });
        Assert.Equal("2", ((EchoRequest)(await waiting)!).Text);
        Assert.Null(await stream.ReadAsync());

        async IAsyncEnumerable<IMessage> RequestsAsync()
        {
            yield return new EchoRequest { Text = "1" };
            yield return await second.Task;
        }
    }

    [Fact]
    public static async Task A_stream_refuses_what_a_server_refuses()
    {
        RpcTestStream stream = new RpcTestCall(EchoServer.Schema.GetMethod("calls.Echo/Say"))
            .CreateStream(new EchoRequest { Text = "a" });
        await stream.WriteAsync(new EchoReply { Text = "1" });

        RpcException twice = await Assert.ThrowsAsync<RpcException>(
            async () => await stream.WriteAsync(new EchoReply { Text = "2" }));
        RpcException wrong = await Assert.ThrowsAsync<RpcException>(
            async () => await stream.WriteAsync(new EchoRequest { Text = "2" }));

        Assert.Contains("second reply", twice.Message);
        Assert.Contains("calls.EchoRequest", wrong.Message);
        Assert.Single(stream.Replies);
    }

    [Fact]
    public static void Calls_that_name_a_session_share_what_handlers_keep_in_it()
    {
        RpcTestCall first = new(EchoServer.Schema.GetMethod("calls.Echo/Say")) { Peer = Ann };
        RpcSession session = first.CreateContext().Session;
        session["seen"] = 1;

        RpcServerCallContext same = (first with { SessionId = session.Id }).CreateContext();
        RpcServerCallContext stranger =
            (first with { SessionId = session.Id, Peer = PeerIdentity.Anonymous("") }).CreateContext();

        Assert.Equal(1, same.Session["seen"]);
        Assert.Equal(
            RpcStatusCode.PermissionDenied, Assert.Throws<RpcException>(() => stranger.Session).Code);
    }

    [Fact]
    public static void A_server_without_sessions_has_none_here_either()
    {
        RpcTestCall call = new(EchoServer.Schema.GetMethod("calls.Echo/Say"))
        {
            Options = new RpcServerOptions { EnableSessions = false },
        };

        RpcException error = Assert.Throws<RpcException>(() => call.CreateContext().Session);

        Assert.Equal(RpcStatusCode.FailedPrecondition, error.Code);
    }
}

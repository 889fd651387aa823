using Google.Protobuf;
using ProtoRpc.Protocols.Headers;
using Status = ProtoRpc.Protocols.Headers.RpcMultiPartRequest.Types.RpcMessageStatus;

namespace ProtoRpc.Tests.Server;

/// <summary>Callers who lie, steal, or begin and leave, over the wire; others are served meanwhile.</summary>
public static class BadCallerTests
{
    private static readonly ByteString Transaction = ByteString.CopyFrom(new byte[16]);

    [Fact]
    public static void A_call_that_streams_is_refused_with_the_endpoints_that_carry_it()
    {
        using RpcServer server = EchoServer.Start(RpcTransport.Tcp);
        using WireCaller caller = Caller(server);

        RpcResponseHeader reply = caller.Call("Watch", new EchoRequest { Text = "x" });

        Assert.Equal(
            (int)RpcStatusCode.Unimplemented, reply.GetExtension(ProtorpcTransportExtensions.StatusCode));
        Assert.Contains("grpc://", reply.Exception.Message);
    }

    [Fact]
    public static void A_session_that_was_guessed_is_not_made()
    {
        Guid guess = Guid.NewGuid();
        using RpcServer server = Start((context, _) => context.Session["x"] = 1);
        using WireCaller guesser = Caller(server);

        RpcResponseHeader reply = guesser.Call(
            "Say", new EchoRequest { Text = "x" }, WireCaller.Naming(guess));

        Assert.Null(reply.Exception);
        Assert.NotEqual(guess, Assert.Single(server.Sessions).Id);
        Assert.Equal(server.Sessions[0].Id, new Guid(reply.CallContext.SessionId.Span));
    }

    [Fact]
    public static void A_session_that_was_stolen_by_another_user_cannot_be_used_or_closed()
    {
        using RpcServer server = Start((context, _) => context.Session["secret"] = "x");
        using WireCaller owner = Caller(server);
        using WireCaller thief = Caller(server, index: 1);
        owner.Call("Say", new EchoRequest { Text = "x" });
        RpcSession stolen = Assert.Single(server.Sessions);

        RpcResponseHeader used = thief.Call(
            "Say", new EchoRequest { Text = "x" }, WireCaller.Naming(stolen.Id));
        RpcResponseHeader closed = thief.Call(".close", new RpcVoid(), WireCaller.Naming(stolen.Id));

        Assert.Contains("belongs to another caller", used.Exception.Message);
        Assert.Contains("belongs to another caller", closed.Exception.Message);
        Assert.Same(stolen, Assert.Single(server.Sessions));
        Assert.Null(
            owner.Call("Say", new EchoRequest { Text = "x" }, WireCaller.Naming(stolen.Id)).Exception);
    }

    [Fact]
    public static void Calls_without_a_context_at_the_same_time_know_their_own_callers()
    {
        using Barrier both = new(2);
        using RpcServer server = Start((context, request) =>
        {
            bool before = context.IsAuthenticated;
            Assert.True(both.SignalAndWait(TimeSpan.FromSeconds(20)));
            Assert.Equal(request.Text == "known", before);
            Assert.Equal(before, context.IsAuthenticated);
        });
        using WireCaller known = Caller(server);
        using WireCaller unknown = Caller(server, index: 1);

        RpcResponseHeader[] replies = new RpcResponseHeader[2];
        Parallel.Invoke(
            () => replies[0] = known.Call("Say", new EchoRequest { Text = "known" }),
            () => replies[1] = unknown.Call("Say", new EchoRequest { Text = "unknown" }));

        Assert.All(replies, reply => Assert.Null(reply.Exception));
    }

    [Theory]
    [InlineData(20, "begins at byte 20")]
    [InlineData(5, "begins at byte 5")]
    [InlineData(0, "has already begun")]
    public static void Parts_out_of_order_or_with_gaps_are_refused_and_the_next_message_works(
        int position, string why)
    {
        using RpcServer server = Start((_, _) => { });
        using WireCaller caller = Caller(server);
        caller.Call(".multi", Part(0, 100, 10));

        RpcResponseHeader refused = caller.Call(".multi", Part(position, 100, 10));
        caller.Call(
            ".multi", new RpcMultiPartRequest { MessageStatus = Status.Cancel, TransactionId = Transaction });
        ByteString message = new EchoRequest { Text = "x" }.ToByteString();
        RpcMultiPartRequest only = Part(0, message.Length, message.Length, Status.Complete);
        only.PayloadBytes = message;
        RpcResponseHeader whole = caller.Call(".multi", only);

        Assert.Contains(why, refused.Exception.Message);
        Assert.Null(whole.Exception);
    }

    [Fact]
    public static void A_message_over_its_total_is_refused_and_forgotten()
    {
        using RpcServer server = Start((_, _) => { });
        using WireCaller caller = Caller(server);
        caller.Call(".multi", Part(0, 100, 90));

        RpcResponseHeader refused = caller.Call(".multi", Part(90, 100, 20));
        RpcResponseHeader after = caller.Call(".multi", Part(90, 100, 10));

        Assert.Contains("10 bytes left", refused.Exception.Message);
        Assert.Contains("No transfer with that transaction id", after.Exception.Message);
    }

    [Fact]
    public static void A_message_that_was_cancelled_cannot_go_on()
    {
        using RpcServer server = Start((_, _) => { });
        using WireCaller caller = Caller(server);
        caller.Call(".multi", Part(0, 100, 90));

        caller.Call(
            ".multi", new RpcMultiPartRequest { MessageStatus = Status.Cancel, TransactionId = Transaction });
        RpcResponseHeader after = caller.Call(".multi", Part(90, 100, 10, Status.Complete));

        Assert.Contains("No transfer with that transaction id", after.Exception.Message);
    }

    [Fact]
    public static void A_thousand_messages_begun_and_left_take_no_memory_and_others_are_served()
    {
        using RpcServer server = Start((_, _) => { });
        using WireCaller bad = Caller(server);
        using RpcClient good = RpcClient.Connect(server.Endpoints[1], EchoServer.Schema, new RpcClientOptions
        {
            Service = "calls.Echo",
            Limits = new() { MultiPartThreshold = 2048 },
        });
        long before = GC.GetTotalMemory(forceFullCollection: true);
        int refused = 0;

        for (int i = 0; i < 1000; i++)
        {
            RpcMultiPartRequest part = Part(0, 200_000_000, 10);
            part.TransactionId = ByteString.CopyFrom(Guid.NewGuid().ToByteArray());
            RpcResponseHeader reply = bad.Call(".multi", part);
            bool isRefused = reply.Exception is { } error
                && error.Message.Contains("is rejected", StringComparison.Ordinal);
            refused += isRefused ? 1 : 0;
        }

        // Eight at once are a caller's; what each announces, 200 MB, is not set aside.
        // The memory is that of all tests that run now, so the limit is what one of them would take.
        Assert.Equal(1000 - RpcLimits.Default.MaxTransfersPerCaller, refused);
        Assert.InRange(GC.GetTotalMemory(forceFullCollection: true) - before, long.MinValue, 200_000_000);
        EchoReply served = good.Invoke<EchoReply>("Say", new EchoRequest { Text = new string('x', 10_000) });
        Assert.Equal(10_000, served.Text.Length);
    }

    [Fact]
    public static void A_transaction_id_cannot_touch_what_a_session_holds()
    {
        MemoryStream value = new([1, 2, 3]);
        using RpcServer server = Start((context, _) => context.Session[Transaction.ToBase64()] = value);
        using WireCaller caller = Caller(server);
        caller.Call("Say", new EchoRequest { Text = "x" });
        RpcSession session = Assert.Single(server.Sessions);

        caller.Call(".multi", Part(0, 100, 10), WireCaller.Naming(session.Id));
        caller.Call(
            ".multi",
            new RpcMultiPartRequest { MessageStatus = Status.Cancel, TransactionId = Transaction },
            WireCaller.Naming(session.Id));

        Assert.Same(value, session[Transaction.ToBase64()]);
        Assert.True(value.CanRead);
    }

    [Fact]
    public static void Many_calls_use_one_session_at_once()
    {
        using RpcServer server = Start((context, request) => context.Session[request.Text] = request.Text);
        using WireCaller first = Caller(server);
        first.Call("Say", new EchoRequest { Text = "first" });
        RpcSession session = Assert.Single(server.Sessions);

        Parallel.For(0, 8, number =>
        {
            using WireCaller caller = Caller(server);
            for (int i = 0; i < 50; i++)
            {
                EchoRequest request = new() { Text = $"{number}.{i}" };
                Assert.Null(caller.Call("Say", request, WireCaller.Naming(session.Id)).Exception);
            }
        });

        Assert.Same(session, Assert.Single(server.Sessions));
        Assert.Equal(401, session.Count);
    }

    [Fact]
    public static void Another_message_id_than_sixteen_octets_is_given_back_as_it_came()
    {
        using RpcServer server = Start((_, _) => { });
        using WireCaller caller = Caller(server);

        RpcResponseHeader reply = caller.Call("Say", new EchoRequest { Text = "x" }, id: [1, 2, 3]);

        Assert.Null(reply.Exception);
        Assert.Equal([1, 2, 3], reply.MessageId.ToByteArray());
    }

    [Theory]
    [InlineData("x y", "a", 1)]
    [InlineData("", "a", 1)]
    [InlineData("x", "\u001b[31m", 1)]
    [InlineData("x-bin", "text", 1)]
    [InlineData("x", "a", 101)]
    public static void Headers_that_are_none_are_refused_before_the_handler_runs(
        string name, string text, int count)
    {
        bool ran = false;
        using RpcServer server = Start((_, _) => ran = true);
        using WireCaller caller = Caller(server, 1);
        Metadata headers = new();
        for (int i = 0; i < count; i++)
        {
            headers.Entries.Add(new Metadata.Types.Entry { Name = name, Text = text });
        }

        RpcResponseHeader reply = caller.Call("Say", new EchoRequest { Text = "x" }, headers: headers);

        Assert.False(reply.Success);
        Assert.Equal(
            (int)RpcStatusCode.InvalidArgument, reply.GetExtension(ProtorpcTransportExtensions.StatusCode));
        Assert.False(ran);
    }

    // A local endpoint, where the kernel says who calls, and TCP, where nobody does.
    private static RpcServer Start(Action<RpcServerCallContext, EchoRequest> handler) =>
        RpcServer.Create(
            EchoServer.Schema, "calls.Echo", new RpcServerOptions { ErrorDetail = RpcErrorDetail.Message })
            .Handle<EchoRequest, EchoReply>("Say", (context, request) =>
            {
                handler(context, request);
                return new EchoReply { Text = request.Text };
            })
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Tcp))
            .StartListening();

    private static WireCaller Caller(RpcServer server, int index = 0) =>
        new(server.Endpoints[index], server.Services[0].Value);

    private static RpcMultiPartRequest Part(
        int position, int total, int length, Status status = Status.Continue) => new()
        {
            MessageStatus = status,
            TransactionId = Transaction,
            MethodName = "Say",
            TotalBytes = total,
            CurrentPosition = position,
            BytesSent = length,
            PayloadBytes = ByteString.CopyFrom(new byte[length]),
        };
}

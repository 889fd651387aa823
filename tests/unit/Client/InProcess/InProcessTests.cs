using Google.Protobuf;
using ProtoRpc.Tests.Client.Talk;
using ProtoRpc.Tests.Transports;

namespace ProtoRpc.Tests.Client.InProcess;

public static class InProcessTests
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(30);

    [Fact]
    public static async Task Answers_calls_of_both_kinds_of_callers_and_messages()
    {
        using TalkServer talk = new();
        using RpcClient client = talk.Connect();

        Assert.Equal("hello", client.Invoke<Words>("Say", new Words { Text = "hello" }).Text);
        Assert.Equal("again", (await client.InvokeAsync<Words>("Say", new Words { Text = "again" })).Text);
        DynamicMessage any = await client.InvokeAsync("Say", new { text = "plain" });
        Assert.Equal("plain", any.Get(any.Type.FindField("text")!));
        await Eventually.TrueAsync(() => talk.Server.Counters.Calls == 3, "three calls");
        Assert.Equal(1, talk.Server.Counters.Accepted);
        Assert.Equal(1, talk.Server.Counters.Connections);
    }

    [Fact]
    public static async Task Connections_that_open_and_close_at_the_same_time_are_all_counted()
    {
        const int Threads = 4;
        const int Each = 15_000;
        using TalkServer talk = new();

        await Task.WhenAll(Enumerable.Range(0, Threads).Select(_ => Task.Run(() =>
        {
            for (int i = 0; i < Each; i++)
            {
                talk.Connect().Dispose();
            }
        })));

        Assert.Equal(0, talk.Server.Counters.Connections);
        Assert.Equal(Threads * Each, talk.Server.Counters.Accepted);
    }

    [Fact]
    public static void Names_this_process_as_the_caller()
    {
        using TalkServer talk = new(new RpcServerOptions
        {
            Security = new RpcServerSecurity
            {
                Authentication = RpcAuthentication.Ntlm,
                NtlmAccounts = [NtlmAccount.From(new("ann", "x"))],
            },
        });
        using RpcClient client = talk.Connect();

        client.Invoke<Words>("Say", new Words { Text = "who" });

        string[] caller = talk.Caller.Split('|');
        Assert.Equal(LocalUser.Name, caller[0]);
        Assert.NotEqual("", caller[1]);
        Assert.Equal([$"{Environment.ProcessId}", "True", "", $"{talk.Endpoint}", "Privacy"], caller[2..]);
    }

    [Fact]
    public static void Neither_side_has_the_others_message()
    {
        using TalkServer talk = new();
        using RpcClient client = talk.Connect();
        Words request = new() { Text = "mine" };

        Words reply = client.Invoke<Words>("Say", request);
        reply.Text = "changed";
        request.Text = "changed too";

        Assert.NotSame(request, talk.Received);
        Assert.Equal("mine", talk.Received!.Text);
    }

    [Fact]
    public static void Headers_and_trailers_go_and_come()
    {
        using TalkServer talk = new();
        using RpcClient client = talk.Connect();
        RpcMetadata headers = new();
        headers.Add("token", "t1");
        RpcReplyInfo info = new();

        client.Invoke<Words>(
            "Say", new Words { Text = "headers" }, new RpcCallOptions
            {
                Headers = headers,
                ReplyInfo = info
            });

        Assert.Equal("got t1", info.Headers.GetText("first"));
        Assert.Equal("bye", info.Trailers.GetText("last"));
    }

    [Fact]
    public static async Task A_failure_has_its_status_text_trailers_and_exception_type()
    {
        using TalkServer talk = new();
        using RpcClient client = talk.Connect();

        RpcException refused = Assert.Throws<RpcException>(
            () => client.Invoke<Words>("Say", new Words { Text = "refuse" }));
        RpcException failed = Assert.Throws<RpcException>(
            () => client.Invoke<Words>("Say", new Words { Text = "fail" }));
        RpcException broken = await Assert.ThrowsAsync<RpcException>(async () =>
        {
            await foreach (Words _ in client.InvokeServerStreamAsync<Words>(
                "Split", new Words { Text = "a fail" }))
            {
            }
        });

        Assert.Equal(RpcStatusCode.FailedPrecondition, refused.Code);
        Assert.Equal("The shop is closed.", refused.Message);
        Assert.Equal("closed", refused.Trailers["why"]);
        Assert.Equal("out of paper", failed.Message);
        Assert.IsType<FormatException>(failed.InnerException);
        Assert.Equal(RpcStatusCode.DataLoss, broken.Code);
        await Eventually.TrueAsync(() => talk.Server.Counters.Errors == 3, "three errors");
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public static async Task A_deadline_ends_the_call_on_both_sides(bool streams)
    {
        using TalkServer talk = new();
        using RpcClient client = talk.Connect();
        RpcCallOptions options = new() { Timeout = TimeSpan.FromSeconds(1) };

        RpcException late = await Assert.ThrowsAsync<RpcException>(async () =>
        {
            if (!streams)
            {
                await client.InvokeAsync<Words>("Say", new Words { Text = "wait" }, options);
            }

            await foreach (Words _ in client.InvokeServerStreamAsync<Words>(
                "Split", new Words { Text = "wait" }, options))
            {
            }
        });

        Assert.Equal(RpcStatusCode.DeadlineExceeded, late.Code);
        await talk.Cancelled.Task.WaitAsync(Patience);
    }

    [Fact]
    public static async Task Cancelling_ends_the_call_on_both_sides()
    {
        using TalkServer talk = new();
        using RpcClient client = talk.Connect();
        using CancellationTokenSource cancel = new();

        Task<Words> call = client.InvokeAsync<Words>("Say", new Words { Text = "wait" }, null, cancel.Token);
        await talk.Waiting.Task.WaitAsync(Patience);
        await cancel.CancelAsync();

        RpcException error = await Assert.ThrowsAsync<RpcException>(() => call);
        Assert.Equal(RpcStatusCode.Cancelled, error.Code);
        Assert.True(error.MayHaveExecuted);
        await talk.Cancelled.Task.WaitAsync(Patience);
    }

    [Fact]
    public static void A_session_is_the_clients_and_ends_with_it()
    {
        using TalkServer talk = new();
        using (RpcClient client = talk.Connect())
        {
            Assert.Equal("1", client.Invoke<Words>("Say", new Words { Text = "count" }).Text);
            Assert.Equal("2", client.Invoke<Words>("Say", new Words { Text = "count" }).Text);
            Assert.Single(talk.Server.Sessions);
        }

        Assert.Empty(talk.Server.Sessions);
        Assert.Equal(0, talk.Server.Counters.Connections);
    }

    [Fact]
    public static void Interceptors_see_every_call()
    {
        List<string> seen = [];
        using TalkServer talk = new(new RpcServerOptions { Interceptors = [new Recorder(seen)] });
        using RpcClient client = talk.Connect();

        client.Invoke<Words>("Say", new Words { Text = "a" });

        Assert.Equal(["talk.Talk/Say"], seen);
    }

    [Fact]
    public static void A_message_over_the_limit_is_refused_on_either_side_and_goes_in_parts_where_it_may()
    {
        RpcLimits small = RpcLimits.Default with { MaxMessageBytes = 4096 };
        using TalkServer talk = new(new RpcServerOptions { Limits = small });
        using RpcClient whole = talk.Connect(
            new RpcClientOptions { Limits = new() { MultiPartThreshold = 0 } });
        using RpcClient narrow = talk.Connect(
            new RpcClientOptions { Limits = small with { MaxMessageBytes = 64 } });
        using RpcClient parts = talk.Connect(
            new RpcClientOptions { Limits = new() { MultiPartThreshold = 2048 } });
        Words large = new() { Text = "a", Payload = ByteString.CopyFrom(new byte[5000]) };
        Words medium = new() { Text = "a", Payload = ByteString.CopyFrom(new byte[3000]) };

        RpcException atServer = Assert.Throws<RpcException>(() => whole.Invoke<Words>("Say", large));
        RpcException atClient = Assert.Throws<RpcException>(() => narrow.Invoke<Words>("Say", medium));

        Assert.Equal(RpcStatusCode.ResourceExhausted, atServer.Code);
        Assert.Equal(RpcStatusCode.ResourceExhausted, atClient.Code);
        Assert.Equal(3000, parts.Invoke<Words>("Say", medium).Payload.Length);
    }

    [Fact]
    public static void A_server_takes_as_many_clients_as_its_limit_says()
    {
        using TalkServer talk = new(new RpcServerOptions
        {
            Limits = RpcLimits.Default with { MaxConnections = 1 },
        });
        RpcClient first = talk.Connect();

        RpcException full = Assert.Throws<RpcException>(() => talk.Connect());
        first.Dispose();

        Assert.Equal(RpcStatusCode.ResourceExhausted, full.Code);
        using RpcClient second = talk.Connect();
        Assert.Equal("x", second.Invoke<Words>("Say", new Words { Text = "x" }).Text);
    }

    [Fact]
    public static void Tells_its_schema_and_answers_pings()
    {
        using TalkServer talk = new();
        using RpcClient client = RpcClient.Connect(talk.Endpoint);

        RpcPingResult ping = client.Ping();

        Assert.NotNull(client.FetchSchema().FindMessage("talk.Words"));
        Assert.Equal("talk.Talk", client.Service!.FullName);
        Assert.Equal(["talk.Talk"], ping.Services);
    }

    [Fact]
    public static void A_name_has_one_server_without_regard_to_case()
    {
        using TalkServer talk = new();

        RpcException error = Assert.Throws<RpcException>(
            () => new TalkServer(name: talk.Endpoint.Name.ToUpperInvariant()));

        Assert.Equal(RpcErrorIds.EndpointInUse, error.ErrorId);
    }

    [Fact]
    public static void Says_that_nobody_listens_under_a_name()
    {
        RpcException error = Assert.Throws<RpcException>(() => RpcClient.Connect("inproc://nobody-is-here"));

        Assert.Equal(RpcStatusCode.Unavailable, error.Code);
        Assert.Contains("no server of this process listens under that name", error.Message);
        Assert.False(error.MayHaveExecuted);
    }

    [Fact]
    public static async Task A_client_finds_the_next_server_of_the_name()
    {
        TalkServer first = new();
        using RpcClient client = first.Connect();
        client.Invoke<Words>("Say", new Words { Text = "a" });

        await first.Server.StopAsync();
        RpcException gone = Assert.Throws<RpcException>(
            () => client.Invoke<Words>("Say", new Words { Text = "b" }));
        using TalkServer second = new(name: first.Endpoint.Name);

        Assert.Equal(RpcStatusCode.Unavailable, gone.Code);
        Assert.Equal("c", client.Invoke<Words>("Say", new Words { Text = "c" }).Text);
    }

    [Fact]
    public static async Task Stopping_lets_calls_end_and_then_cancels_them()
    {
        TalkServer talk = new();
        using RpcClient client = talk.Connect();
        Task<Words> call = client.InvokeAsync<Words>("Say", new Words { Text = "wait" });
        await talk.Waiting.Task.WaitAsync(Patience);

        await talk.Server.StopAsync(TimeSpan.FromMilliseconds(50)).WaitAsync(Patience);

        await talk.Cancelled.Task.WaitAsync(Patience);
        RpcException ended = await Assert.ThrowsAsync<RpcException>(() => call.WaitAsync(Patience));
        Assert.Equal(RpcStatusCode.Cancelled, ended.Code);
    }

    [Fact]
    public static async Task A_later_call_does_not_end_those_that_a_stopping_server_lets_end()
    {
        TaskCompletionSource gate = new(TaskCreationOptions.RunContinuationsAsynchronously);
        CancellationToken ofHandler = default;
        using RpcServer server = RpcServer.Create(TalkServer.Schema)
            .Handle<Words, Words>("Say", async (context, request) =>
            {
                ofHandler = context.CancellationToken;
                await gate.Task.ConfigureAwait(false);
                return request;
            })
            .AddEndpoint($"inproc://test-{Guid.NewGuid():N}")
            .StartListening();
        using RpcClient client = RpcClient.Connect(server.Endpoints[0], TalkServer.Schema);
        Task<Words> running = client.InvokeAsync<Words>("Say", new Words { Text = "x" });

        Task stopping = server.StopAsync(Patience);
        RpcException late = await Assert.ThrowsAsync<RpcException>(
            () => client.InvokeAsync<Words>("Say", new Words()).WaitAsync(Patience));

        Assert.Equal((RpcStatusCode.Unavailable, false), (late.Code, late.MayHaveExecuted));
        Assert.False(ofHandler.IsCancellationRequested);
        gate.SetResult();
        Assert.Equal("x", (await running.WaitAsync(Patience)).Text);
        await stopping.WaitAsync(Patience);
    }

    [Fact]
    public static void What_a_caller_has_about_it_does_not_reach_the_handler()
    {
        AsyncLocal<string> ambient = new();
        string? seen = "nothing yet";
        using RpcServer server = RpcServer.Create(TalkServer.Schema)
            .Handle<Words, Words>("Say", (_, request) =>
            {
                seen = ambient.Value;
                return request;
            })
            .AddEndpoint($"inproc://test-{Guid.NewGuid():N}")
            .StartListening();
        using RpcClient client = RpcClient.Connect(server.Endpoints[0], TalkServer.Schema);

        ambient.Value = "the caller's";
        client.Invoke<Words>("Say", new Words { Text = "x" });

        Assert.Null(seen);
    }

    [Theory]
    [InlineData(RpcClientAuthentication.User)]
    [InlineData(RpcClientAuthentication.Bearer)]
    public static void Takes_no_password_and_no_token(RpcClientAuthentication authentication)
    {
        using TalkServer talk = new();
        RpcClientSecurity security = new()
        {
            Authentication = authentication,
            Credential = authentication == RpcClientAuthentication.User ? new("ann", "x") : null,
            Token = authentication == RpcClientAuthentication.Bearer ? "t" : null,
        };

        RpcException error = Assert.Throws<RpcException>(
            () => talk.Connect(new RpcClientOptions { Security = security }));

        Assert.Equal(RpcErrorIds.AuthenticationNotSupported, error.ErrorId);
    }

    private sealed class Recorder(List<string> seen) : IRpcInterceptor
    {
        public ValueTask<IMessage> InvokeAsync(
            RpcServerCallContext context, IMessage request, RpcHandler next)
        {
            seen.Add(context.Method.FullName);
            return next(context, request);
        }
    }
}

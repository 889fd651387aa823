using System.Collections.Concurrent;
using System.Net;
using System.Text;

namespace ProtoRpc.Http.Tests.Gateway;

/// <summary>What passes a gateway between protocols: messages, headers, status, deadlines,
/// cancellation.</summary>
public static class GatewayTests
{
    private const string Tcp = GatewayChain.Tcp;
    private const string Http = GatewayChain.Http;
    private const string Grpc = GatewayChain.Grpc;
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);

    public static TheoryData<string, string> Pairs => GatewayChain.Pairs(Tcp, Http, Grpc, "inproc");

    [Theory]
    [MemberData(nameof(Pairs))]
    public static async Task Calls_pass_between_all_protocols(string front, string back)
    {
        using GatewayChain chain = new(front, back);

        Assert.Equal("hello", await chain.SayAsync("hello"));
        Assert.Equal("hello", WordsServer.TextOf(chain.Caller.Invoke("Say", WordsServer.Text("hello"))));
    }

    [Theory]
    [MemberData(nameof(Pairs))]
    public static async Task Headers_and_trailers_pass_both_ways(string front, string back)
    {
        using GatewayChain chain = new(front, back);
        RpcMetadata headers = new();
        headers.Add("x-asked", "one");
        headers.Add("x-asked-bin", [1, 2, 255]);
        RpcReplyInfo info = new();

        await chain.SayAsync("headers", new() { Headers = headers, ReplyInfo = info });

        Assert.Equal("one", info.Headers.GetText("x-first"));
        Assert.Equal([1, 2, 255], info.Trailers.GetBytes("x-last-bin"));
    }

    [Theory]
    [MemberData(nameof(Pairs))]
    public static async Task Status_text_details_and_trailers_of_a_failure_pass(string front, string back)
    {
        using GatewayChain chain = new(front, back);
        RpcReplyInfo info = new();

        RpcException error = await chain.FailsAsync("fail", new() { ReplyInfo = info });

        Assert.Equal(RpcStatusCode.NotFound, error.Code);
        Assert.Equal("Kein Öl: 100 % leer\n", error.Message);
        Assert.Equal("a detail", WordsServer.TextOf((DynamicMessage)Assert.Single(error.Details)));
        Assert.Equal("of a failure", error.Trailers["x-last"]);
    }

    [Theory]
    [MemberData(nameof(Pairs))]
    public static async Task A_caller_that_leaves_cancels_the_call_behind_the_gateway(
        string front, string back)
    {
        using GatewayChain chain = new(front, back);
        using CancellationTokenSource leaves = new();

        Task<RpcException> failing = chain.FailsAsync("wait", stop: leaves.Token);
        await chain.Server.Waiting.Task.WaitAsync(Patience);
        await leaves.CancelAsync();

        Assert.Equal("cancelled", await chain.Server.Ended.Task.WaitAsync(Patience));
        Assert.Equal(RpcStatusCode.Cancelled, (await failing).Code);
    }

    [Theory]
    [MemberData(nameof(Pairs))]
    public static async Task The_time_that_is_left_goes_on_with_the_call(string front, string back)
    {
        using GatewayChain chain = new(front, back);

        RpcException error = await chain.FailsAsync(
            "wait", new() { Timeout = TimeSpan.FromMilliseconds(300) });

        Assert.Equal(RpcStatusCode.DeadlineExceeded, error.Code);
        Assert.Equal("cancelled", await chain.Server.Ended.Task.WaitAsync(Patience));
        Assert.EndsWith("|True", await chain.SayAsync("who", new() { Timeout = Patience }));
    }

    [Theory]
    [MemberData(nameof(Pairs))]
    public static async Task A_server_that_vanishes_is_unavailable_and_named(string front, string back)
    {
        using GatewayChain chain = new(front, back);
        await chain.SayAsync("there");
        await chain.Server.Server.StopAsync(TimeSpan.Zero);

        RpcException error = await chain.FailsAsync("gone");

        Assert.Equal(RpcStatusCode.Unavailable, error.Code);
        Assert.Contains(chain.Client.Endpoint.ToString(), error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(Pairs))]
    public static async Task A_server_that_vanishes_in_the_middle_of_a_call_fails_it(
        string front, string back)
    {
        using GatewayChain chain = new(front, back);

        Task<RpcException> failing = chain.FailsAsync("wait");
        await chain.Server.Waiting.Task.WaitAsync(Patience);
        await chain.Server.Server.StopAsync(TimeSpan.Zero);

        Assert.NotEqual(RpcStatusCode.OK, (await failing.WaitAsync(Patience)).Code);
    }

    [Theory]
    [MemberData(nameof(Pairs))]
    public static async Task The_exception_of_a_handler_passes_to_a_local_caller(string front, string back)
    {
        using GatewayChain chain = new(
            front, back, serverOptions: new() { ErrorDetail = RpcErrorDetail.Full },
            backOptions: new() { ErrorDetail = RpcErrorDetail.Full });

        RpcException error = await chain.FailsAsync("throw");

        Assert.Equal(RpcStatusCode.Unknown, error.Code);
        Assert.Equal("broken", error.Message);
        Assert.NotNull(error.CorrelationId);
        if (front != Grpc && back != Grpc)
        {
            Assert.Equal("System.InvalidOperationException", error.Remote?.TypeName);
            Assert.Contains("SayAsync", error.Remote?.StackTrace, StringComparison.Ordinal);
        }
    }

    [Theory]
    [MemberData(nameof(Pairs))]
    public static async Task What_the_server_tells_the_gateway_alone_stays_there(string front, string back)
    {
        using GatewayChain chain = new(
            front, back, serverOptions: new() { ErrorDetail = RpcErrorDetail.None },
            backOptions: new() { ErrorDetail = RpcErrorDetail.Full });

        RpcException error = await chain.FailsAsync("throw");

        Assert.DoesNotContain("broken", error.Message, StringComparison.Ordinal);
        Assert.Contains(error.CorrelationId!, error.Message, StringComparison.Ordinal);
        Assert.DoesNotContain("SayAsync", error.Remote?.StackTrace ?? "", StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(Pairs))]
    public static async Task Sessions_behind_the_gateway_are_each_callers_own(string front, string back)
    {
        using GatewayChain chain = new(front, back);
        using RpcClient other = RpcClient.Connect(
            chain.Gateway.Endpoints[0], WordsServer.Schema, new() { Service = "streams.Words" });

        string[] counts =
        [
            await chain.SayAsync("count"), await chain.SayAsync("count"),
            WordsServer.TextOf(await other.InvokeAsync("Say", WordsServer.Text("count"))),
            await chain.SayAsync("count"),
        ];

        Assert.Equal(["1", "2", "1", "3"], counts);
    }

    [Theory]
    [InlineData("application/json", "{\"text\":\"hi\"}", "{\"text\":\"hi\"}")]
    [InlineData("text/xml", "<Text><text>hi</text></Text>", "<text>hi</text>")]
    [InlineData("application/x-www-form-urlencoded", "text=hi", "<text>hi</text>")]
    public static async Task Callers_of_text_formats_get_theirs(string type, string body, string expected)
    {
        using GatewayChain chain = new(Http, Tcp);
        using HttpClient http = new();
        using StringContent content = new(body, Encoding.UTF8, type);

        using HttpResponseMessage response = await http.PostAsync(
            new Uri($"{chain.Gateway.Endpoints[0]}streams.Words/Say"), content);

        Assert.Equal(HttpStatusCode.OK, response.StatusCode);
        Assert.Contains(expected, await response.Content.ReadAsStringAsync(), StringComparison.Ordinal);
    }

    [Fact]
    public static async Task A_client_of_json_calls_for_a_binary_caller()
    {
        using WordsServer server = new(Http);
        using RpcClient client = server.Connect(new() { Format = MessageFormats.Json });
        using RpcServer gateway = RpcGateway.Create(client, serverOptions: new RpcServerOptions().WithHttp())
            .AddEndpoint(Grpc).StartListening();
        using RpcClient caller = RpcClient.Connect(
            gateway.Endpoints[0], WordsServer.Schema, new() { Service = "streams.Words" });

        Assert.Equal("hi", WordsServer.TextOf(await caller.InvokeAsync("Say", WordsServer.Text("hi"))));
    }

    [Theory]
    [InlineData(Tcp)]
    [InlineData(Grpc)]
    [InlineData(Http)]
    public static async Task Callers_of_all_faces_at_once_get_their_own_replies(string back)
    {
        using WordsServer server = new(back);
        using RpcClient client = server.Connect();
        using RpcServer gateway = RpcServer
            .Create(WordsServer.Schema, "streams.Words", new RpcServerOptions().WithHttp())
            .Forward(client, "streams.Words")
            .AddEndpoint(Tcp).AddEndpoint(Grpc).AddEndpoint(Http)
            .AddEndpoint($"ncalrpc:[{Guid.NewGuid():N}]").AddEndpoint($"inproc://{Guid.NewGuid():N}")
            .StartListening();
        RpcClient[] callers =
        [
            .. gateway.Endpoints.Select(endpoint => RpcClient.Connect(
                endpoint, WordsServer.Schema, new() { Service = "streams.Words" })),
        ];
        try
        {
            ParallelOptions ten = new() { MaxDegreeOfParallelism = 10 };
            await Parallel.ForAsync(0, 300, ten, async (i, _) =>
            {
                string text = new((char)('a' + (i % 26)), i % 7 == 0 ? i * 501 : i + 1);
                RpcClient caller = callers[i % callers.Length];

                // Blocking callers take other ways than those that wait.
                DynamicMessage reply = i % 2 == 0
                    ? await Task.Run(() => caller.Invoke("Say", WordsServer.Text(text)))
                    : await caller.InvokeAsync("Say", WordsServer.Text(text));

                Assert.Equal(text, WordsServer.TextOf(reply));
            });
        }
        finally
        {
            Array.ForEach(callers, caller => caller.Dispose());
        }
    }

    [Theory]
    [InlineData("inproc", Grpc)]
    [InlineData(Grpc, Grpc)]
    [InlineData(Grpc, "inproc")]
    public static async Task Calls_end_that_go_round_in_a_circle(string front, string back)
    {
        string endpoint = front == "inproc" ? $"inproc://{Guid.NewGuid():N}" : front;
        ConcurrentQueue<RpcFailedCall> failures = [];
        RpcServer? gateway = null;
        RpcClient? client = null;
        try
        {
            // A gateway whose server goes away, and which takes its place.
            using WordsServer server = new(back == "inproc" ? $"inproc://{Guid.NewGuid():N}" : back);
            client = RpcClient.Connect(server.Endpoint, WordsServer.Schema, new() { Lazy = true });
            RpcEndpoint place = server.Endpoint;
            await server.Server.StopAsync(TimeSpan.Zero);
            gateway = RpcServer.Create(
                    WordsServer.Schema, "streams.Words",
                    new RpcServerOptions { CallFailed = failures.Enqueue }.WithHttp())
                .Forward(client, "streams.Words")
                .AddEndpoint(endpoint).AddEndpoint(place)
                .StartListening();
            using RpcClient caller = RpcClient.Connect(
                gateway.Endpoints[0], WordsServer.Schema, new() { Service = "streams.Words" });

            RpcException error = await Assert.ThrowsAsync<RpcException>(
                () => caller.InvokeAsync("Say", WordsServer.Text("x")));

            Assert.Equal(RpcStatusCode.FailedPrecondition, error.Code);
            Assert.Contains("8 gateways", error.Message, StringComparison.Ordinal);
            Assert.Contains(failures, failure => failure.Error is RpcException { ErrorId: "GatewayLoop" });
        }
        finally
        {
            gateway?.Dispose();
            client?.Dispose();
        }
    }
}

using System.Collections;
using Google.Protobuf;

namespace ProtoRpc.Http.Tests;

/// <summary>A handler of streams serves a method that has one request and one reply,
/// on every endpoint.</summary>
public static class UnaryByStreamsTests
{
    private static readonly string[] EveryEndpoint =
    [
        "http://127.0.0.1:0/", "grpc://127.0.0.1:0", "ncacn_ip_tcp:127.0.0.1[0]",
        $"ncalrpc:[t{Guid.NewGuid():N}]",
    ];

    public static TheoryData<string> Endpoints { get; } = new(EveryEndpoint);

    [Theory]
    [MemberData(nameof(Endpoints))]
    public static void The_handler_reads_the_request_once_and_writes_the_reply(string endpoint)
    {
        List<bool> ends = [];
        using RpcServer server = Start(endpoint, async (_, stream) =>
        {
            IMessage request = (await stream.ReadAsync())!;
            await Task.Yield();
            ends.Add(await stream.ReadAsync() is null);
            await stream.WriteAsync(SearchServer.Found(SearchServer.TextOf(request)));
        });
        using RpcClient client = Connect(server);

        Assert.Equal("a", Call(client, "a"));
        Assert.Equal("b", Call(client, "b"));
        Assert.Equal([true, true], ends);
        Assert.Equal((2L, 0L), (server.Counters.Calls, server.Counters.Errors));
    }

    [Theory]
    [MemberData(nameof(Endpoints))]
    public static void Interceptors_see_the_request_and_the_reply(string endpoint)
    {
        Recording recording = new();
        using RpcServer server = Start(
            endpoint,
            async (_, stream) =>
            {
                await foreach (IMessage request in stream.ReadAllAsync())
                {
                    await stream.WriteAsync(SearchServer.Found(SearchServer.TextOf(request)));
                }
            },
            new RpcServerOptions { Interceptors = [recording] });
        using RpcClient client = Connect(server);

        Assert.Equal("changed", Call(client, "change"));
        Assert.Equal("mine", Call(client, "answer"));
        Assert.Equal(["changed"], recording.Replies);
    }

    [Theory]
    [InlineData("none", "ended without a reply")]
    [InlineData("two", "wrote a second reply")]
    [InlineData("throw", "not today")]
    public static void A_handler_that_fails_is_told_on_every_endpoint(string how, string text)
    {
        foreach (string endpoint in EveryEndpoint)
        {
            using RpcServer server = Start(endpoint, async (_, stream) =>
            {
                if (how != "none")
                {
                    await stream.WriteAsync(SearchServer.Found("x"));
                }

                if (how == "two")
                {
                    await stream.WriteAsync(SearchServer.Found("y"));
                }

                if (how == "throw")
                {
                    throw new RpcException(RpcStatusCode.Internal, "not today");
                }
            });
            using RpcClient client = Connect(server);

            RpcException error = Assert.Throws<RpcException>(() => Call(client, "a"));

            Assert.Equal(RpcStatusCode.Internal, error.Code);
            Assert.Contains(text, error.Message, StringComparison.Ordinal);
            server.RequireCounts(counts => counts.Errors == 1);
        }
    }

    [Fact]
    public static void A_request_that_comes_in_parts_is_read_whole()
    {
        using RpcServer server = Start("ncacn_ip_tcp:127.0.0.1[0]", async (_, stream) =>
        {
            IMessage request = (await stream.ReadAsync())!;
            await stream.WriteAsync(SearchServer.Found($"{SearchServer.TextOf(request).Length}"));
        });
        using RpcClient client = Connect(
            server, new RpcClientOptions { Limits = new() { MultiPartThreshold = 2048 } });

        Assert.Equal("50000", Call(client, new string('x', 50_000)));
    }

    [Theory]
    [MemberData(nameof(Endpoints))]
    public static async Task A_passed_deadline_ends_the_handler(string endpoint)
    {
        TaskCompletionSource ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
        using RpcServer server = Start(endpoint, async (context, stream) =>
        {
            TaskCompletionSource late = new(TaskCreationOptions.RunContinuationsAsynchronously);
            using CancellationTokenRegistration on =
                context.CancellationToken.Register(() => late.SetResult());
            await late.Task;
            try
            {
                await stream.ReadAsync();
            }
            catch (OperationCanceledException)
            {
                ended.SetResult();
                throw;
            }
        });
        using RpcClient client = Connect(server);

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke(client.GetMethod("Search"), Request("a"),
                new() { Timeout = TimeSpan.FromMilliseconds(300) }));

        Assert.Equal(RpcStatusCode.DeadlineExceeded, error.Code);
        await ended.Task.WaitAsync(TimeSpan.FromSeconds(20));
    }

    private static RpcServer Start(
        string endpoint, RpcStreamHandler handler, RpcServerOptions? options = null) =>
        RpcServer.Create(SearchServer.Schema, null, (options ?? new RpcServerOptions()).WithHttp())
            .HandleStreaming("Search", handler)
            .AddEndpoint(endpoint)
            .StartListening();

    private static RpcClient Connect(RpcServer server, RpcClientOptions? options = null) =>
        RpcClient.Connect(server.Endpoints[0], SearchServer.Schema, options);

    private static string Call(RpcClient client, string query)
    {
        DynamicMessage reply = client.Invoke(client.GetMethod("Search"), Request(query));
        DynamicMessage result = ((IEnumerable)reply.Get(reply.Type.FindField("result")!)!)
            .Cast<DynamicMessage>().Single();
        return (string)result.Get(result.Type.FindField("url")!)!;
    }

    private static DynamicMessage Request(string query) =>
        DynamicMessage.Parse(SearchServer.RequestType, SearchServer.Request(query));

    private sealed class Recording : IRpcInterceptor
    {
        public List<string> Replies { get; } = [];

        public async ValueTask<IMessage> InvokeAsync(
            RpcServerCallContext context, IMessage request, RpcHandler next)
        {
            if (SearchServer.TextOf(request) == "answer")
            {
                return SearchServer.Found("mine");
            }

            IMessage reply = await next(context, Request("changed"));
            Replies.Add(Assert.IsType<DynamicMessage>(reply).ToByteArray().AsSpan().IndexOf("changed"u8) >= 0
                ? "changed" : "other");
            return reply;
        }
    }
}

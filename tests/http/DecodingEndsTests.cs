using System.Collections;
using Google.Protobuf;
using ProtoRpc.Client;

namespace ProtoRpc.Http.Tests;

/// <summary>Calls that end while their reply is decoded, and requests that are small and become large, on
/// each kind of endpoint.</summary>
public static class DecodingEndsTests
{
    private const int Many = 20_000;
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    public static TheoryData<string, string> Endpoints => new()
    {
        { "http://127.0.0.1:0/", "Json" },
        { "http://127.0.0.1:0/", "Xml" },
        { "http://127.0.0.1:0/", "Binary" },
        { "grpc://127.0.0.1:0", "Binary" },
        { "ncacn_ip_tcp:127.0.0.1[0]", "Binary" },
        { "inproc://decoding-ends", "Binary" },
    };

    [Theory]
    [MemberData(nameof(Endpoints))]
    public static void A_client_that_cancels_does_not_decode_the_reply_to_its_end(
        string endpoint, string format)
    {
        using RpcServer server = Serve(
            endpoint, RpcLimits.Default, (_, _) => ValueTask.FromResult<IMessage>(Tree(Many)));
        using RpcClient client = Connect(server, format);
        RpcMethodInfo method = client.GetMethod("Grow");
        using CancellationTokenSource caller = new();
        bool hasCome = false;

        RpcException error = Assert.Throws<RpcException>(() => client.Forward(
            method,
            Tree(1),
            body =>
            {
                hasCome = true;
                caller.Cancel();
                return ReplyParser.Parse(method, body, RpcLimits.Default);
            },
            new RpcCallOptions(),
            caller.Token));

        Assert.True(hasCome);
        Assert.Equal(RpcStatusCode.Cancelled, error.Code);
        Assert.Equal(Many, CountOf(client.Invoke(method, Tree(1))));
    }

    [Theory]
    [MemberData(nameof(Endpoints))]
    public static async Task Small_requests_with_large_messages_are_refused_together(
        string endpoint, string format)
    {
        TaskCompletionSource go = new(TaskCreationOptions.RunContinuationsAsynchronously);
        using SemaphoreSlim began = new(0);
        RpcLimits limits = new() { MaxMemoryBytes = 3584 * 1024 };
        using RpcServer server = Serve(endpoint, limits, async (_, request) =>
        {
            if (CountOf(request) > 1)
            {
                began.Release();
                await go.Task.WaitAsync(Patience);
            }

            return Tree(1);
        });
        using RpcClient client = Connect(server, format);
        using RpcClient other = Connect(server, format);
        RpcMethodInfo method = client.GetMethod("Grow");
        await client.InvokeAsync(method, Tree(1));

        // 10,000 messages are 20 KB on the wire, and more than one megabyte here.
        Task<DynamicMessage>[] calls =
            [.. Enumerable.Range(0, 2).Select(_ => client.InvokeAsync(method, Tree(10_000)))];
        foreach (Task<DynamicMessage> _ in calls)
        {
            Assert.True(await began.WaitAsync(Patience));
        }

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => other.InvokeAsync(method, Tree(10_000)));
        Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
        Assert.NotNull(await other.InvokeAsync(method, Tree(1)));

        go.SetResult();
        await Task.WhenAll(calls).WaitAsync(Patience);
        Assert.NotNull(await other.InvokeAsync(method, Tree(10_000)));
    }

    private static RpcServer Serve(
        string endpoint, RpcLimits limits,
        Func<RpcServerCallContext, IMessage, ValueTask<IMessage>> handler) => RpcServer
        .Create(ElementLimitTests.Schema, null, new RpcServerOptions { Limits = limits }.WithHttp(null))
        .Handle("Grow", (context, request) => handler(context, request))
        .AddEndpoint(endpoint)
        .StartListening();

    private static RpcClient Connect(RpcServer server, string format)
    {
        Assert.True(MessageFormats.TryFind(format, out MessageFormat? known));
        return RpcClient.Connect(
            server.Endpoints[0], ElementLimitTests.Schema,
            new RpcClientOptions { Format = known, RetryCount = 0 });
    }

    private static int CountOf(IMessage message) => ((ICollection)((DynamicMessage)message)["nodes"]!).Count;

    private static DynamicMessage Tree(int children) => DynamicMessage.Parse(
        ElementLimitTests.Schema.GetMessage("tree.Node"),
        Enumerable.Repeat<byte[]>([0x0A, 0], children).SelectMany(b => b).ToArray());
}

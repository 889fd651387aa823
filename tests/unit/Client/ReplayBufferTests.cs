using Google.Protobuf;
using ProtoRpc.Client;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Tests.Messages;

namespace ProtoRpc.Tests.Client;

/// <summary>A call that is made again sends the request that its first try encoded.</summary>
public static class ReplayBufferTests
{
    private const int Retries = 3;

    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(30);

    public static TheoryData<string> Endpoints => ["local://", "inproc://", "tcp://", "http://"];

    [Theory]
    [MemberData(nameof(Endpoints))]
    public static async Task All_tries_of_a_call_encode_its_request_once(string kind)
    {
        RpcSchema schema = RpcSchema.FromDescriptors(TestServers.CallsReflection.Descriptor);
        using RpcClient client = RpcClient.Connect(
            Unused(kind), schema,
            new RpcClientOptions { Service = "calls.Echo", Lazy = true, RetryCount = Retries });
        PassCount count = new(schema.GetMessage("calls.EchoRequest"));
        RpcReplyInfo first = new();
        RpcReplyInfo second = new();

        Assert.Throws<RpcException>(
            () => client.Invoke("Say", new { text = "x" }, new RpcCallOptions { ReplyInfo = first }));
        await Assert.ThrowsAsync<RpcException>(
            () => client.InvokeAsync("Say", new { text = "x" }, new RpcCallOptions { ReplyInfo = second }));

        Assert.Equal((Retries, Retries), (first.Retries, second.Retries));
        Assert.Equal(2, count.Now.Encodes);
    }

    [Theory]
    [MemberData(nameof(Endpoints))]
    public static async Task A_call_has_retries_of_its_own(string kind)
    {
        RpcSchema schema = RpcSchema.FromDescriptors(TestServers.CallsReflection.Descriptor);
        using RpcClient client = RpcClient.Connect(
            Unused(kind), schema,
            new RpcClientOptions { Service = "calls.Echo", Lazy = true, RetryCount = 1 });
        List<int> made = [];

        foreach (int? count in new int?[] { null, 0, 2 })
        {
            RpcReplyInfo info = new();
            await Assert.ThrowsAsync<RpcException>(() => client.InvokeAsync(
                "Say", new { text = "x" }, new RpcCallOptions { ReplyInfo = info, RetryCount = count }));
            made.Add(info.Retries);
        }

        Assert.Equal([1, 0, 2], made);
    }

    [Theory]
    [InlineData("inproc://")]
    [InlineData("http://")]
    public static async Task A_call_of_streams_with_one_request_encodes_it_once(string kind)
    {
        RpcSchema schema = RpcSchema.FromDescriptors(TestServers.CallsReflection.Descriptor);
        await using RpcClient client = RpcClient.Connect(
            Unused(kind), schema,
            new RpcClientOptions { Service = "calls.Echo", Lazy = true, RetryCount = Retries });
        PassCount count = new(schema.GetMessage("calls.EchoRequest"));

        await Assert.ThrowsAsync<RpcException>(async () =>
        {
            await foreach (DynamicMessage _ in client.InvokeServerStreamAsync("Watch", new { text = "x" }))
            {
            }
        });

        Assert.InRange(count.Now.Encodes, 0, 1);
    }

    [Theory]
    [InlineData("local://")]
    [InlineData("inproc://")]
    public static async Task A_request_that_is_sent_again_arrives_as_it_was(string kind)
    {
        string endpoint = Unused(kind);
        using RpcClient client = RpcClient.Connect(
            endpoint, EchoServer.Schema,
            new RpcClientOptions { Service = "calls.Echo", Lazy = true });
        RpcCallOptions waiting = new() { WaitForReady = true, Timeout = Patience };
        RpcMethodInfo say = client.GetMethod("Say");
        Task<EchoReply>[] calls =
        [
            .. Enumerable.Range(0, 20).Select(i => client.InvokeAsync<EchoReply>(
                say,
                new EchoRequest { Text = $"{i}", Payload = ByteString.CopyFrom(new byte[i * 1000]) },
                waiting)),
        ];
        await using RpcServer server = EchoServer.Create().AddEndpoint(endpoint).StartListening();

        EchoReply[] replies = await Task.WhenAll(calls).WaitAsync(Patience);

        Assert.All(
            replies.Index(),
            reply => Assert.Equal(
                ($"{reply.Index}", reply.Index * 1000), (reply.Item.Text, reply.Item.Payload.Length)));
    }

    [Fact]
    public static void Many_threads_get_what_one_of_them_made()
    {
        using ReplayBuffer replay = new();
        int made = 0;

        Parallel.For(0, 50, i => Assert.Equal("made", ReplayBuffer.Encode(replay, () =>
        {
            Interlocked.Increment(ref made);
            return "made";
        })));

        Assert.Equal(1, made);
    }

    [Fact]
    public static void After_the_call_each_try_makes_its_own()
    {
        ReplayBuffer replay = new();
        Assert.Equal("first", ReplayBuffer.Encode(replay, () => "first"));
        replay.Dispose();
        replay.Dispose();

        Assert.Equal("second", ReplayBuffer.Encode(replay, () => "second"));
        Assert.Equal("third", ReplayBuffer.Encode(replay, () => "third"));
    }

    [Fact]
    public static void What_cannot_be_encoded_is_refused_by_each_try()
    {
        using ReplayBuffer replay = new();
        CallSpec call = new(EchoServer.Schema.GetService("calls.Echo").FindMethod("Say")!, Patience)
        {
            Replay = replay,
        };
        EchoRequest request = new() { Text = new string('x', 100) };

        for (int i = 0; i < 2; i++)
        {
            Assert.Equal(
                RpcStatusCode.ResourceExhausted,
                Assert.Throws<RpcException>(() => ReplayBuffer.Encode(call, request, 50)).Code);
        }

        using EncodedMessage lent = ReplayBuffer.Encode(call, request, 1000);
        Assert.Equal(request.ToByteArray(), lent.ToArray());
    }

    [Fact]
    public static void Bytes_that_were_lent_stay_when_they_are_given_back()
    {
        EchoRequest request = new() { Text = "x" };
        using EncodedMessage encoded = EncodedMessage.Keep(request, 100, "request");
        encoded.Lend().Dispose();

        request.Text = "changed";

        Assert.Equal(new EchoRequest { Text = "x" }.ToByteArray(), encoded.Lend().ToArray());
    }

    // Where nobody listens, and a server may listen later.
    private static string Unused(string kind)
    {
        if (kind is "local://" or "inproc://")
        {
            return $"{kind}test-{Guid.NewGuid():N}";
        }

        return $"{kind}127.0.0.1:{ClosedPort.FindFree()}";
    }
}

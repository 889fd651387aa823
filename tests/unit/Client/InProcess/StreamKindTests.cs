using Google.Protobuf;
using ProtoRpc.Tests.Client.Talk;

namespace ProtoRpc.Tests.Client.InProcess;

/// <summary>The calls for each kind of method, and the calls of one kind that should be of another.</summary>
public static class StreamKindTests
{
    [Fact]
    public static async Task Each_kind_of_method_has_its_call()
    {
        using TalkServer talk = new();
        using RpcClient client = talk.Connect();

        Words said = await client.InvokeAsync<Words>("Say", new Words { Text = "a" });
        List<Words> split = await client.InvokeServerStreamAsync<Words>("Split", new Words { Text = "a b" })
            .ToListAsync();
        Words joined = await client.InvokeClientStreamAsync<Words>("Join", Requests("a", "b"));
        List<Words> chat = await client.InvokeDuplexStreamAsync<Words>("Chat", Requests("a", "b"))
            .ToListAsync();

        Assert.Equal(("a", "a b"), (said.Text, joined.Text));
        Assert.Equal(["a", "b"], split.Select(word => word.Text));
        Assert.Equal(["A", "B"], chat.Select(word => word.Text));
    }

    [Fact]
    public static async Task Each_kind_of_method_has_its_call_without_generated_messages()
    {
        using TalkServer talk = new();
        using RpcClient client = talk.Connect();
        object[] requests = [new { text = "a" }, new { text = "b" }];

        List<DynamicMessage> split = await client.InvokeServerStreamAsync("Split", new { text = "a b" })
            .ToListAsync();
        DynamicMessage joined = await client.InvokeClientStreamAsync("Join", requests.ToAsyncEnumerable());
        List<DynamicMessage> chat = await client.InvokeDuplexStreamAsync("Chat", requests.ToAsyncEnumerable())
            .ToListAsync();

        Assert.Equal("a b", joined["text"]);
        Assert.Equal(["a", "b"], split.Select(word => word["text"]));
        Assert.Equal(["A", "B"], chat.Select(word => word["text"]));
    }

    [Theory]
    [InlineData("Say")]
    [InlineData("Split")]
    public static async Task A_stream_is_not_a_request(string method)
    {
        using TalkServer talk = new();
        using RpcClient client = talk.Connect();
        await using RpcStreamingCall call = client.Open("Chat");

        RpcException[] errors =
        [
            await Assert.ThrowsAsync<RpcException>(() => client.InvokeAsync(method, Requests("a"))),
            Assert.Throws<RpcException>(() => client.Invoke(method, Requests("a"))),
            await Assert.ThrowsAsync<RpcException>(
                async () => await client.InvokeServerStreamAsync(method, Requests("a")).CountAsync()),
            await Assert.ThrowsAsync<RpcException>(async () => await call.SendAsync(Requests("a"))),
        ];

        Assert.All(errors, error =>
        {
            Assert.Equal(RpcStatusCode.InvalidArgument, error.Code);
            Assert.Contains("InvokeDuplexStreamAsync", error.Message, StringComparison.Ordinal);
        });
        Assert.Null(talk.Received);
    }

    [Fact]
    public static async Task A_stream_of_values_is_not_a_request()
    {
        using TalkServer talk = new();
        using RpcClient client = talk.Connect();

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => client.InvokeAsync("Say", new[] { 1, 2 }.ToAsyncEnumerable()));

        Assert.Equal(RpcStatusCode.InvalidArgument, error.Code);
        Assert.Contains("is not a message talk.Words", error.Message, StringComparison.Ordinal);
        Assert.Null(talk.Received);
    }

    [Theory]
    [InlineData("Split", "InvokeServerStreamAsync")]
    [InlineData("Join", "InvokeClientStreamAsync")]
    [InlineData("Chat", "InvokeDuplexStreamAsync")]
    public static async Task A_unary_call_of_a_method_that_streams_names_the_call_for_it(
        string method, string expected)
    {
        using TalkServer talk = new();
        using RpcClient client = talk.Connect();

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => client.InvokeAsync(method, new Words { Text = "a" }));

        Assert.Equal(RpcStatusCode.InvalidArgument, error.Code);
        Assert.Contains($"RpcClient.{expected}", error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("Split", "InvokeServerStreamAsync")]
    [InlineData("Chat", "InvokeDuplexStreamAsync")]
    public static async Task A_client_stream_of_a_method_that_streams_its_replies_names_the_call_for_it(
        string method, string expected)
    {
        using TalkServer talk = new();
        using RpcClient client = talk.Connect();

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => client.InvokeClientStreamAsync<Words>(method, Requests("a")));

        Assert.Equal(RpcStatusCode.InvalidArgument, error.Code);
        Assert.Contains($"RpcClient.{expected}", error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(0, "no reply")]
    [InlineData(2, "more than one reply")]
    public static async Task A_client_stream_has_one_reply(int replies, string expected)
    {
        using TalkServer talk = new();
        using RpcClient client = talk.Connect(new() { Interceptors = [new Answering(replies)] });

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => client.InvokeClientStreamAsync<Words>("Join", Requests("a")));

        Assert.Equal(("BadReply", RpcStatusCode.Internal), (error.ErrorId, error.Code));
        Assert.Contains(expected, error.Message, StringComparison.Ordinal);
    }

    private static IAsyncEnumerable<Words> Requests(params string[] texts) =>
        texts.Select(text => new Words { Text = text }).ToAsyncEnumerable();

    private sealed class Answering(int replies) : IRpcClientInterceptor
    {
        public ValueTask<IMessage> InvokeAsync(
            RpcClientCallContext context, IMessage request, RpcClientHandler next) => next(context, request);

        public ValueTask<RpcClientStream> OpenAsync(
            RpcClientCallContext context, RpcClientStreamHandler next) => new(new Replies(replies));
    }

    private sealed class Replies(int left) : RpcClientStream
    {
        private int _left = left;

        public override IMessage? Current => new Words { Text = "x" };

        public override ValueTask<bool> SendAsync(
            IMessage request, bool compress, CancellationToken cancellationToken) => new(true);

        public override ValueTask CompleteAsync(CancellationToken cancellationToken) => default;

        public override ValueTask<bool> ReadAsync(CancellationToken cancellationToken) => new(_left-- > 0);

        public override ValueTask DisposeAsync() => default;
    }
}

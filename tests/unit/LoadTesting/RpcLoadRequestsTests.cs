using Google.Protobuf;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Tests.Client.InProcess;
using ProtoRpc.Tests.Client.Talk;

namespace ProtoRpc.Tests.LoadTesting;

public static class RpcLoadRequestsTests
{
    private static readonly RpcMethodInfo Say = TalkServer.Schema.GetMethod("Say");
    private static readonly RpcMethodInfo Join = TalkServer.Schema.GetMethod("Join");

    [Fact]
    public static void The_same_request_is_encoded_once()
    {
        RpcLoadRequests requests = RpcLoadRequests.Same(
            Say, new Dictionary<string, object?> { ["text"] = "abc" });

        LoadRequest first = requests.Next(CancellationToken.None);

        Assert.Same(first, requests.Next(CancellationToken.None));
        Assert.Equal(5, first.Bytes);
        OpaqueMessage message = Assert.IsType<OpaqueMessage>(Assert.Single(first.Messages));
        Assert.Equal("abc", Words.Parser.ParseFrom(message.Bytes.Span).Text);
    }

    [Fact]
    public static void Requests_are_taken_in_turn()
    {
        RpcLoadRequests requests = RpcLoadRequests.InTurn(
            Say, new[] { "a", "b", "c" }.Select(text => new object[] { new Words { Text = text } }));

        string taken = string.Concat(Enumerable.Range(0, 7).Select(
            _ => TextOf(requests.Next(CancellationToken.None))));

        Assert.Equal("abcabca", taken);
    }

    [Fact]
    public static void A_function_makes_the_requests_of_each_call_by_its_number()
    {
        RpcLoadRequests requests = RpcLoadRequests.PerCall(
            Say, number => [new Dictionary<string, object?> { ["text"] = $"n{number}" }]);

        string[] taken =
            [.. Enumerable.Range(0, 3).Select(_ => TextOf(requests.Next(CancellationToken.None)))];

        Assert.Equal(["n1", "n2", "n3"], taken);
        Assert.Equal(
            RpcErrorIds.InvalidLoadTest,
            Assert.Throws<RpcException>(
                () => RpcLoadRequests.PerCall(Say, _ => []).Next(CancellationToken.None)).ErrorId);
    }

    [Fact]
    public static void A_method_without_a_stream_takes_one_message()
    {
        Words word = new();

        Assert.Equal(
            RpcErrorIds.InvalidLoadTest,
            Assert.Throws<RpcException>(() => RpcLoadRequests.Same(Say, word, word)).ErrorId);
        Assert.Throws<RpcException>(() => RpcLoadRequests.Same(Say));
        Assert.Equal(2, RpcLoadRequests.Same(Join, word, word).Next(CancellationToken.None).Messages.Length);
        Assert.Empty(RpcLoadRequests.Same(Join).Next(CancellationToken.None).Messages);
        Assert.Throws<ArgumentOutOfRangeException>(() => RpcLoadRequests.InTurn(Say, []));
    }

    [Fact]
    public static void What_is_no_message_of_the_type_is_refused_before_anything_is_sent()
    {
        RpcException field = Assert.Throws<RpcException>(() => RpcLoadRequests.Same(
            Say, new Dictionary<string, object?> { ["txt"] = "abc" }));
        RpcException type = Assert.Throws<RpcException>(() => RpcLoadRequests.Same(
            Say, new ProtoRpc.TestServers.EchoRequest { Text = "" }));

        Assert.Equal(RpcErrorIds.UnknownField, field.ErrorId);
        Assert.Contains("talk.Words", type.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void Requests_have_a_bound_in_bytes()
    {
        Words large = new() { Payload = UnsafeByteOperations.UnsafeWrap(new byte[1024 * 1024]) };

        RpcException error = Assert.Throws<RpcException>(
            () => RpcLoadRequests.InTurn(Say, Enumerable.Repeat<object[]>([large], 65)));

        Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
    }

    [Fact]
    public static void Random_requests_differ_and_have_the_length_of_a_stream()
    {
        RpcLoadRequests requests = RpcLoadRequests.Random(
            Join, new RpcRandomMessageOptions { Seed = 3, MaxBytes = 50, StreamLength = 4 });

        LoadRequest[] taken =
            [.. Enumerable.Range(0, 100).Select(_ => requests.Next(CancellationToken.None))];

        Assert.All(taken, request => Assert.Equal(4, request.Messages.Length));
        Assert.All(
            taken.SelectMany(request => request.Messages),
            message => Assert.InRange(message.CalculateSize(), 0, 50));
        Assert.Equal(100, taken.Distinct().Count());
    }

    [Fact]
    public static void Large_random_streams_are_fewer()
    {
        RpcLoadRequests requests = RpcLoadRequests.Random(
            Join, new RpcRandomMessageOptions { MaxBytes = 1024 * 1024, StreamLength = 32 });

        LoadRequest first = requests.Next(CancellationToken.None);
        requests.Next(CancellationToken.None);

        Assert.Same(first, requests.Next(CancellationToken.None));
    }

    [Theory]
    [InlineData(-1, 1, "MaxBytes is -1")]
    [InlineData(5_000_000, 1, "MaxBytes is 5000000")]
    [InlineData(10, 0, "StreamLength is 0")]
    [InlineData(10, 100_001, "StreamLength is 100001")]
    public static void Options_of_random_requests_have_ranges(int bytes, int length, string why)
    {
        RpcException error = Assert.Throws<RpcException>(() => RpcLoadRequests.Random(
            Say, new RpcRandomMessageOptions { MaxBytes = bytes, StreamLength = length }));

        Assert.Equal(RpcErrorIds.InvalidLoadTest, error.ErrorId);
        Assert.Contains(why, error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task Requests_that_are_made_meanwhile_come_in_order_and_waits_are_counted()
    {
        QueuedRequests requests = new();
        Task<LoadRequest> waiting = Task.Run(() => requests.Next(CancellationToken.None));
        await Transports.Eventually.TrueAsync(() => requests.Starved == 1, "one waits");

        requests.Add(Say, [new Words { Text = "a" }]);
        requests.Add(Say, [new Words { Text = "b" }]);

        Assert.Equal("a", TextOf(await waiting));
        Assert.Equal("b", TextOf(requests.Next(CancellationToken.None)));
        Assert.Equal(1, requests.Starved);
    }

    [Fact]
    public static void Requests_that_are_made_ahead_are_bounded_in_number_and_bytes()
    {
        QueuedRequests many = new();
        int count = 0;
        for (; many.WantsMore; count++)
        {
            many.Add(Say, [new Words()]);
        }

        QueuedRequests large = new();
        Words payload = new() { Payload = UnsafeByteOperations.UnsafeWrap(new byte[16 * 1024 * 1024]) };
        for (int i = 0; i < 4; i++)
        {
            Assert.True(large.WantsMore);
            large.Add(Say, [payload]);
        }

        Assert.Equal(1000, count);
        Assert.False(large.WantsMore);
        large.Next(CancellationToken.None);
        Assert.True(large.WantsMore);
    }

    [Fact]
    public static async Task A_wait_for_a_request_can_be_cancelled()
    {
        QueuedRequests requests = new();
        using CancellationTokenSource stop = new();
        Task waiting = Task.Run(() => requests.Next(stop.Token));
        await Transports.Eventually.TrueAsync(() => requests.Starved == 1, "one waits");

        await stop.CancelAsync();

        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => waiting);
    }

    private static string TextOf(LoadRequest request) =>
        Words.Parser.ParseFrom(((OpaqueMessage)request.Messages[0]).Bytes.Span).Text;
}

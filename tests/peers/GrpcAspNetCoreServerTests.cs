using System.Globalization;
using System.Security.Cryptography.X509Certificates;
using ProtoRpc.Http.Tests.Streams;

namespace ProtoRpc.Peers;

/// <summary>Our client against a server of Grpc.AspNetCore.</summary>
[PeerCall(
    "Grpc.AspNetCore", "gRPC", PeerSide.Server, PeerCalls.AllKinds | PeerCalls.Errors | PeerCalls.Metadata
        | PeerCalls.Deadlines | PeerCalls.Cancellation | PeerCalls.Tls | PeerCalls.UnixSockets)]
public sealed class GrpcAspNetCoreServerTests : IAsyncLifetime
{
    private PeerApplication _server = null!;
    private RpcClient _client = null!;

    public async ValueTask InitializeAsync()
    {
        _server = await PeerApplication.StartWordsAsync();
        _client = _server.Connect();
    }

    public async ValueTask DisposeAsync()
    {
        await _client.DisposeAsync();
        await _server.DisposeAsync();
    }

    [Theory]
    [InlineData("Say", "hi", "hi")]
    [InlineData("Say", "", "")]
    [InlineData("Split", "one two three", "one,two,three")]
    [InlineData("Split", "", "")]
    [InlineData("Join", "one two three", "one two three")]
    [InlineData("Join", "", "")]
    [InlineData("Join", "one enough more", "one enough")]
    [InlineData("Chat", "one two", "one!,two!")]
    [InlineData("Chat", "one bye two", "one!")]
    [InlineData("Chat", "", "")]
    public async Task All_kinds_of_methods_are_called(string method, string words, string replies)
    {
        IEnumerable<Text> requests = method is "Say" or "Split"
            ? [new Text { Text_ = words }]
            : words.Split(' ', StringSplitOptions.RemoveEmptyEntries)
                .Select(word => new Text { Text_ = word });

        List<string> received = [];
        await foreach (Text reply in _client.InvokeDuplexStreamAsync<Text>(
            method, requests.ToAsyncEnumerable()))
        {
            received.Add(reply.Text_);
        }

        Assert.Equal(replies, string.Join(',', received));
    }

    [Fact]
    public void A_blocking_call_gets_its_reply()
    {
        Assert.Equal("hi", _client.Invoke<Text>("Say", new { text = "hi" }).Text_);
    }

    [Fact]
    public async Task Messages_go_in_turns_over_an_open_call()
    {
        await using RpcStreamingCall<Text, Text> call = await _client.OpenAsync<Text, Text>("Chat");
        for (int i = 0; i < 3; i++)
        {
            Assert.True(await call.SendAsync(new Text { Text_ = $"{i}" }));
            Assert.True(await call.ReadAsync());
            Assert.Equal($"{i}!", call.Current.Text_);
        }

        await call.CompleteAsync();

        Assert.False(await call.ReadAsync());
    }

    [Fact]
    public async Task An_empty_message_is_a_reply()
    {
        Assert.Equal(0, (await SayAsync("empty")).CalculateSize());
    }

    public static TheoryData<int> Codes => [.. Enumerable.Range(1, 16)];

    [Theory]
    [MemberData(nameof(Codes))]
    public async Task A_status_comes_with_its_text_and_trailers(int code)
    {
        RpcException error = await FailAsync($"status {code}");

        Assert.Equal((RpcStatusCode)code, error.Code);
        Assert.Equal("Kein Öl: 100 % leer\n", error.Message);
        Assert.Equal("of a failure", error.Trailers["x-last"]);
        Assert.Equal("AP8=", error.Trailers["x-last-bin"]);
        Assert.Equal("streams.Words/Say", error.MethodName);
        Assert.Empty(error.Details);
    }

    [Fact]
    public async Task An_exception_of_the_method_is_an_unknown_failure()
    {
        RpcException error = await FailAsync("throw");

        Assert.Equal(RpcStatusCode.Unknown, error.Code);
        Assert.True(error.MayHaveExecuted);
    }

    [Fact]
    public async Task A_service_that_is_not_mapped_is_unimplemented()
    {
        RpcException error = await Assert.ThrowsAsync<RpcException>(() =>
            _client.InvokeAsync(WordsServer.Schema.GetMethod("streams.Silent/Say"), new Text()));

        Assert.Equal(RpcStatusCode.Unimplemented, error.Code);
    }

    [Fact]
    public async Task A_stream_fails_after_its_replies()
    {
        List<string> received = [];
        RpcException error = await Assert.ThrowsAsync<RpcException>(async () =>
        {
            await foreach (Text reply in _client.InvokeServerStreamAsync<Text>(
                "Split", new Text { Text_ = "one two fail" }))
            {
                received.Add(reply.Text_);
            }
        });

        Assert.Equal(["one", "two"], received);
        Assert.Equal((RpcStatusCode.Aborted, "in the middle"), (error.Code, error.Message));
        Assert.Equal("w", error.Trailers["x-last"]);
    }

    [Fact]
    public async Task Headers_and_trailers_go_both_ways()
    {
        byte[] bytes = [.. Enumerable.Range(0, 256).Select(i => (byte)i)];
        RpcReplyInfo info = new();

        await SayAsync("headers", new RpcCallOptions
        {
            Headers = new() { { "x-asked", "a, b" }, { "x-asked-bin", bytes } },
            ReplyInfo = info,
        });

        Assert.Equal("a, b", info.Headers.GetText("x-first"));
        Assert.Equal(bytes, info.Trailers.GetBytes("x-last-bin"));
    }

    [Fact]
    public async Task A_header_of_no_bytes_reaches_the_method()
    {
        Text reply = await SayAsync("headers", new RpcCallOptions
        {
            Headers = new() { { "x-asked-bin", Array.Empty<byte>() } },
        });

        Assert.Equal("0", reply.Text_);
    }

    [Fact]
    public async Task The_deadline_reaches_the_method()
    {
        Text limited = await SayAsync("deadline", new() { Timeout = TimeSpan.FromSeconds(100) });
        Text byDefault = await SayAsync("deadline");
        Text none = await _client.InvokeAsync<Text>(
            "Say", new Text { Text_ = "deadline" }, new() { Timeout = Timeout.InfiniteTimeSpan });

        Assert.InRange(double.Parse(limited.Text_, CultureInfo.InvariantCulture), 40, 100);
        Assert.InRange(double.Parse(byDefault.Text_, CultureInfo.InvariantCulture), 1, 30);
        Assert.Equal("none", none.Text_);
    }

    [Fact]
    public async Task A_deadline_that_passes_ends_the_call_on_both_sides()
    {
        RpcException error = await FailAsync("wait", new() { Timeout = TimeSpan.FromMilliseconds(200) });

        Assert.Equal(RpcStatusCode.DeadlineExceeded, error.Code);
    }

    [Theory]
    [InlineData("Say")]
    [InlineData("Split")]
    [InlineData("Join")]
    public async Task Cancelling_ends_the_call_on_both_sides(string method)
    {
        using CancellationTokenSource source = new();
        await using RpcStreamingCall<Text, Text> call =
            await _client.OpenAsync<Text, Text>(method, cancellationToken: source.Token);
        await call.SendAsync(new Text { Text_ = "wait" });
        await Patience.WaitAsync(_server.Words.Waiting.Task);

        await source.CancelAsync();
        RpcException error = await Assert.ThrowsAsync<RpcException>(async () => await call.ReadAsync());

        Assert.Equal(RpcStatusCode.Cancelled, error.Code);
        await Patience.WaitAsync(_server.Words.Cancelled.Task);
    }

    [Fact]
    public async Task A_stream_that_is_read_no_further_is_cancelled_on_the_server()
    {
        await foreach (Text reply in _client.InvokeServerStreamAsync<Text>(
            "Split", new Text { Text_ = "one wait two" }))
        {
            Assert.Equal("one", reply.Text_);
            break;
        }

        await Patience.WaitAsync(_server.Words.Cancelled.Task);
    }

    [Fact]
    public async Task Large_messages_go_both_ways_up_to_the_limit_of_a_reply()
    {
        const int Limit = 1024 * 1024;
        using RpcClient client = _server.Connect(new() { Limits = new() { MaxMessageBytes = Limit } });

        Text size = await client.InvokeAsync<Text>(
            "Say", new Text { Text_ = "size", Payload = Bytes(4 * Limit) });
        Text large = await client.InvokeAsync<Text>("Say", new Text { Text_ = $"large {Limit - 100}" });
        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => client.InvokeAsync<Text>("Say", new Text { Text_ = $"large {Limit}" }));

        Assert.Equal($"{4 * Limit}", size.Text_);
        Assert.Equal(Limit - 100, large.Payload.Length);
        Assert.Equal((RpcStatusCode.ResourceExhausted, true), (error.Code, error.MayHaveExecuted));
    }

    [Fact]
    public async Task A_message_over_the_limit_of_the_server_is_its_failure()
    {
        const int Size = 17 * 1024 * 1024;
        using RpcClient client = _server.Connect(new() { Limits = new() { MaxMessageBytes = 2 * Size } });

        RpcException error = await Assert.ThrowsAsync<RpcException>(() => client.InvokeAsync<Text>(
            "Say", new Text { Text_ = "size", Payload = Bytes(Size) }));

        Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
    }

    [Fact]
    public async Task Many_calls_run_at_the_same_time()
    {
        string[] texts = [.. Enumerable.Range(0, 500).Select(i => $"text-{i}")];

        Text[] replies = await Patience.WaitAsync(Task.WhenAll(texts.Select(text => SayAsync(text))));

        Assert.Equal(texts, replies.Select(reply => reply.Text_));
    }

    [Fact]
    public async Task A_Unix_socket_is_an_endpoint()
    {
        string path = Path.Combine(Path.GetTempPath(), $"{Guid.NewGuid():N}.sock");
        await using PeerApplication server = await PeerApplication.StartWordsAsync(socket: path);
        using RpcClient client = server.Connect();

        Assert.Equal(RpcTransport.GrpcUnix, client.Endpoint.Transport);
        Assert.Equal("hi", (await client.InvokeAsync<Text>("Say", new Text { Text_ = "hi" })).Text_);
    }

    [Fact]
    public async Task TLS_needs_a_certificate_that_the_client_trusts()
    {
        using X509Certificate2 certificate = TestCertificate.Create("CN=localhost", "localhost", "127.0.0.1");
        await using PeerApplication server = await PeerApplication.StartWordsAsync(certificate: certificate);
        using RpcClient trusting = server.Connect(new() { Tls = new() { CaCertificates = [certificate] } });
        using RpcClient other = server.Connect(new() { Lazy = true });

        Text reply = await trusting.InvokeAsync<Text>("Say", new Text { Text_ = "hi" });
        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => other.InvokeAsync<Text>("Say", new Text { Text_ = "hi" }));

        Assert.Equal("hi", reply.Text_);
        Assert.Equal(RpcStatusCode.Unavailable, error.Code);
        Assert.Contains("certificate", error.Message, StringComparison.OrdinalIgnoreCase);
    }

    private static Google.Protobuf.ByteString Bytes(int count) =>
        Google.Protobuf.ByteString.CopyFrom(new byte[count]);

    private Task<Text> SayAsync(string text, RpcCallOptions? options = null) =>
        _client.InvokeAsync<Text>("Say", new Text { Text_ = text }, options);

    private async Task<RpcException> FailAsync(string text, RpcCallOptions? options = null) =>
        await Assert.ThrowsAsync<RpcException>(() => SayAsync(text, options));
}

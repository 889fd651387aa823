using System.Globalization;
using System.Security.Cryptography.X509Certificates;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using Grpc.Core;
using Grpc.Health.V1;
using Grpc.Net.Client;
using Grpc.Reflection.V1Alpha;
using ProtoRpc.Http.Tests.Streams;
using GrpcException = Grpc.Core.RpcException;

namespace ProtoRpc.Peers;

/// <summary>Grpc.Net.Client against our listener.</summary>
[PeerCall(
    "Grpc.Net.Client", "gRPC", PeerSide.Client, PeerCalls.AllKinds | PeerCalls.Errors | PeerCalls.Metadata
        | PeerCalls.Deadlines | PeerCalls.Cancellation | PeerCalls.Tls | PeerCalls.UnixSockets
        | PeerCalls.Reflection | PeerCalls.Health)]
public sealed class GrpcNetClientTests : IDisposable
{
    private readonly WordsServer _server = new();
    private readonly GrpcChannel _channel;
    private readonly Words.WordsClient _client;

    public GrpcNetClientTests()
    {
        _channel = GrpcNetClient.Open(_server.Endpoint);
        _client = new Words.WordsClient(_channel);
    }

    public void Dispose()
    {
        _channel.Dispose();
        _server.Dispose();
    }

    [Fact]
    public async Task A_unary_call_gets_its_reply()
    {
        Assert.Equal("hi", (await _client.SayAsync(new Text { Text_ = "hi" })).Text_);
        Assert.Equal("", (await _client.SayAsync(new Text())).Text_);
        Assert.Equal("blocking", _client.Say(new Text { Text_ = "blocking" }).Text_);
    }

    [Fact]
    public async Task An_HTTP_endpoint_answers_it_as_well()
    {
        using WordsServer server = new("http://127.0.0.1:0/");
        using GrpcChannel channel = GrpcNetClient.Open(server.Endpoint);
        Words.WordsClient client = new(channel);
        using AsyncServerStreamingCall<Text> replies = client.Split(new Text { Text_ = "one two" });

        Assert.Equal("hi", (await client.SayAsync(new Text { Text_ = "hi" })).Text_);
        Assert.Equal(["one", "two"], await TextsAsync(replies.ResponseStream));
        Assert.Equal(
            HealthCheckResponse.Types.ServingStatus.Serving,
            (await new Health.HealthClient(channel).CheckAsync(new HealthCheckRequest())).Status);
    }

    [Fact]
    public async Task Replies_stream()
    {
        using AsyncServerStreamingCall<Text> call = _client.Split(new Text { Text_ = "one two three" });

        Assert.Equal(["one", "two", "three"], await TextsAsync(call.ResponseStream));
    }

    [Fact]
    public async Task Requests_stream()
    {
        using AsyncClientStreamingCall<Text, Text> call = _client.Join();
        foreach (string word in new[] { "one", "two", "three" })
        {
            await call.RequestStream.WriteAsync(new Text { Text_ = word });
        }

        await call.RequestStream.CompleteAsync();

        Assert.Equal("one two three", (await call).Text_);
    }

    [Fact]
    public async Task Both_sides_stream_in_turns()
    {
        using AsyncDuplexStreamingCall<Text, Text> call = _client.Chat();
        for (int i = 0; i < 3; i++)
        {
            await call.RequestStream.WriteAsync(new Text { Text_ = $"{i}" });
            Assert.True(await call.ResponseStream.MoveNext());
            Assert.Equal($"{i}!", call.ResponseStream.Current.Text_);
        }

        await call.RequestStream.CompleteAsync();

        Assert.False(await call.ResponseStream.MoveNext());
        Assert.Equal(StatusCode.OK, call.GetStatus().StatusCode);
    }

    public static TheoryData<int> Codes => [.. Enumerable.Range(1, 16)];

    [Theory]
    [MemberData(nameof(Codes))]
    public async Task A_status_comes_with_its_text_and_trailers(int code)
    {
        using RpcServer server = Serve((context, _) =>
        {
            context.ReplyTrailers.Add("x-last-bin", [0, 255]);
            throw new RpcException((RpcStatusCode)code, "Kein Öl: 100 % leer\n");
        });
        using GrpcChannel channel = GrpcNetClient.Open(server.Endpoints[0]);

        GrpcException error = await Assert.ThrowsAsync<GrpcException>(
            async () => await new Words.WordsClient(channel).SayAsync(new Text()));

        Assert.Equal((StatusCode)code, error.StatusCode);
        Assert.Equal("Kein Öl: 100 % leer\n", error.Status.Detail);
        Assert.Equal([0, 255], error.Trailers.GetValueBytes("x-last-bin"));
    }

    [Fact]
    public async Task A_stream_fails_after_its_replies()
    {
        using AsyncServerStreamingCall<Text> call = _client.Split(new Text { Text_ = "one fail" });

        Assert.True(await call.ResponseStream.MoveNext());
        GrpcException error = await Assert.ThrowsAsync<GrpcException>(() => call.ResponseStream.MoveNext());

        Assert.Equal((StatusCode.Aborted, "in the middle"), (error.StatusCode, error.Status.Detail));
    }

    [Fact]
    public async Task Headers_and_trailers_go_both_ways()
    {
        byte[] bytes = [.. Enumerable.Range(0, 256).Select(i => (byte)i)];
        using AsyncUnaryCall<Text> call = _client.SayAsync(
            new Text { Text_ = "headers" }, new Metadata { { "x-asked", "a, b" }, { "x-asked-bin", bytes } });

        Assert.Equal("a, b", (await call.ResponseHeadersAsync).GetValue("x-first"));
        await call;
        Assert.Equal(bytes, call.GetTrailers().GetValueBytes("x-last-bin"));
    }

    [Fact]
    public async Task The_deadline_reaches_the_handler()
    {
        using RpcServer server = Serve((context, _) => WordsServer.Text(
            context.Deadline is { } deadline
                ? (deadline - DateTimeOffset.UtcNow).TotalSeconds.ToString(CultureInfo.InvariantCulture)
                : "none"));
        using GrpcChannel channel = GrpcNetClient.Open(server.Endpoints[0]);
        Words.WordsClient client = new(channel);

        Text limited = await client.SayAsync(new Text(), deadline: DateTime.UtcNow.AddSeconds(100));
        Text unlimited = await client.SayAsync(new Text());

        Assert.InRange(double.Parse(limited.Text_, CultureInfo.InvariantCulture), 40, 101);
        Assert.Equal("none", unlimited.Text_);
    }

    [Fact]
    public async Task A_deadline_that_passes_ends_the_call_on_both_sides()
    {
        using AsyncUnaryCall<Text> call = _client.SayAsync(
            new Text { Text_ = "wait" }, deadline: DateTime.UtcNow.AddSeconds(2));

        GrpcException error = await Assert.ThrowsAsync<GrpcException>(async () => await call);

        Assert.Equal(StatusCode.DeadlineExceeded, error.StatusCode);
        Assert.Equal("cancelled", await Patience.WaitAsync(_server.Ended.Task));
    }

    [Fact]
    public async Task Cancelling_ends_the_call_on_both_sides()
    {
        using CancellationTokenSource source = new();
        using AsyncServerStreamingCall<Text> call = _client.Split(
            new Text { Text_ = "one wait" }, cancellationToken: source.Token);
        Assert.True(await call.ResponseStream.MoveNext());
        await Patience.WaitAsync(_server.Waiting.Task);

        await source.CancelAsync();
        GrpcException error = await Assert.ThrowsAsync<GrpcException>(() => call.ResponseStream.MoveNext());

        Assert.Equal(StatusCode.Cancelled, error.StatusCode);
        Assert.Equal("cancelled", await Patience.WaitAsync(_server.Ended.Task));
    }

    [Fact]
    public async Task A_request_over_the_limit_is_rejected()
    {
        GrpcException error = await Assert.ThrowsAsync<GrpcException>(async () => await _client.SayAsync(
            new Text { Payload = ByteString.CopyFrom(new byte[RpcLimits.Default.MaxMessageBytes]) }));

        Assert.Equal(StatusCode.ResourceExhausted, error.StatusCode);
    }

    [Fact]
    public async Task Many_calls_run_at_the_same_time()
    {
        string[] texts = [.. Enumerable.Range(0, 500).Select(i => $"text-{i}")];

        Text[] replies = await Patience.WaitAsync(Task.WhenAll(
            texts.Select(text => _client.SayAsync(new Text { Text_ = text }).ResponseAsync)));

        Assert.Equal(texts, replies.Select(reply => reply.Text_));
    }

    [Fact]
    public async Task Grpc_HealthCheck_reads_our_health()
    {
        Health.HealthClient client = new(_channel);

        HealthCheckResponse whole = await client.CheckAsync(new HealthCheckRequest());
        HealthCheckResponse service = await client.CheckAsync(
            new HealthCheckRequest { Service = "streams.Words" });
        GrpcException unknown = await Assert.ThrowsAsync<GrpcException>(
            async () => await client.CheckAsync(new HealthCheckRequest { Service = "nobody" }));
        using AsyncServerStreamingCall<HealthCheckResponse> watch = client.Watch(new HealthCheckRequest());

        Assert.Equal(HealthCheckResponse.Types.ServingStatus.Serving, whole.Status);
        Assert.Equal(HealthCheckResponse.Types.ServingStatus.Serving, service.Status);
        Assert.Equal(StatusCode.NotFound, unknown.StatusCode);
        Assert.True(await watch.ResponseStream.MoveNext());
        Assert.Equal(
            HealthCheckResponse.Types.ServingStatus.Serving, watch.ResponseStream.Current.Status);
    }

    [Fact]
    public async Task Grpc_Reflection_reads_our_schema()
    {
        using AsyncDuplexStreamingCall<ServerReflectionRequest, ServerReflectionResponse> call =
            new ServerReflection.ServerReflectionClient(_channel).ServerReflectionInfo();

        await call.RequestStream.WriteAsync(new ServerReflectionRequest { ListServices = "" });
        Assert.True(await call.ResponseStream.MoveNext());
        Assert.Contains(
            "streams.Words", call.ResponseStream.Current.ListServicesResponse.Service.Select(s => s.Name));
        await call.RequestStream.WriteAsync(
            new ServerReflectionRequest { FileContainingSymbol = "streams.Words" });
        Assert.True(await call.ResponseStream.MoveNext());
        ByteString file = Assert.Single(
            call.ResponseStream.Current.FileDescriptorResponse.FileDescriptorProto);
        await call.RequestStream.CompleteAsync();

        Assert.Equal(
            ["text", "payload"],
            FileDescriptorProto.Parser.ParseFrom(file).MessageType.Single().Field
                .Select(field => field.Name));
        Assert.False(await call.ResponseStream.MoveNext());
    }

    [Fact]
    public async Task A_Unix_socket_is_reached_by_a_connect_callback()
    {
        string path = Path.Combine(Path.GetTempPath(), $"{Guid.NewGuid():N}.sock");
        using WordsServer server = new($"grpc+unix://{path}");
        using GrpcChannel channel = GrpcNetClient.Open(server.Endpoint);

        Text reply = await new Words.WordsClient(channel).SayAsync(new Text { Text_ = "hi" });

        Assert.Equal("hi", reply.Text_);
    }

    [Fact]
    public async Task TLS_is_spoken_with_our_certificate()
    {
        using X509Certificate2 certificate = TestCertificate.Create("CN=localhost", "localhost", "127.0.0.1");
        using WordsServer server = new("grpcs://127.0.0.1:0", new() { Certificate = certificate });
        using GrpcChannel channel = GrpcNetClient.Open(server.Endpoint, trusted: certificate);

        Text reply = await new Words.WordsClient(channel).SayAsync(new Text { Text_ = "hi" });

        Assert.Equal("hi", reply.Text_);
    }

    private static RpcServer Serve(Func<RpcServerCallContext, IMessage, IMessage> say) => RpcServer
        .Create(WordsServer.Schema, "streams.Words", new RpcServerOptions().WithHttp())
        .Handle("Say", (context, request) => ValueTask.FromResult(say(context, request)))
        .AddEndpoint("grpc://127.0.0.1:0")
        .StartListening();

    private static async Task<List<string>> TextsAsync(IAsyncStreamReader<Text> stream)
    {
        List<string> texts = [];
        while (await stream.MoveNext())
        {
            texts.Add(stream.Current.Text_);
        }

        return texts;
    }
}

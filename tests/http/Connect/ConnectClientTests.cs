using System.Security.Cryptography.X509Certificates;
using System.Security.Principal;
using Google.Protobuf;
using ProtoRpc.Http.Tests.Hosting;
using Shop;

namespace ProtoRpc.Http.Tests.Connect;

/// <summary>Calls of connect:// endpoints to a listener of ours.</summary>
public sealed class ConnectClientTests : IDisposable
{
    private static readonly X509Certificate2 Certificate =
        TestCertificate.Create("CN=localhost", "127.0.0.1");

    private readonly WordsServer _plain = new("http://127.0.0.1:0/");
    private readonly WordsServer _secure = new(
        "https://127.0.0.1:0/", new RpcServerOptions { Certificate = Certificate });

    public void Dispose()
    {
        _plain.Dispose();
        _secure.Dispose();
    }

    public static TheoryData<bool, string, RpcCompression> Ways { get; } = new()
    {
        { false, "Binary", RpcCompression.None },
        { false, "Json", RpcCompression.Gzip },
        { true, "Binary", RpcCompression.Brotli },
        { true, "Json", RpcCompression.None },
    };

    [Theory]
    [MemberData(nameof(Ways))]
    public async Task Every_kind_of_call_works(bool isSecure, string format, RpcCompression compression)
    {
        using RpcClient client = Connect(isSecure, format, new() { Compression = compression });
        string text = new('x', 3000);

        IMessage said = client.Invoke("Say", WordsServer.Text(text));
        IMessage saidAsync = await client.InvokeAsync("Say", WordsServer.Text("later"));
        List<string> split = await TextsAsync(
            client.InvokeServerStreamAsync("Split", WordsServer.Text($"a {text} c")));
        IMessage joined = await client.InvokeClientStreamAsync("Join", Requests("a", text, "c"));

        Assert.Equal(text, WordsServer.TextOf(said));
        Assert.Equal("later", WordsServer.TextOf(saidAsync));
        Assert.Equal(["a", text, "c"], split);
        Assert.Equal($"a {text} c", WordsServer.TextOf(joined));
        if (isSecure)
        {
            Assert.Equal(["1!", "2!"], await TextsAsync(
                client.InvokeDuplexStreamAsync("Chat", Requests("1", "2"))));
        }
    }

    [Fact]
    public async Task Requests_and_replies_alternate_over_HTTP_2()
    {
        using RpcClient client = Connect(isSecure: true);
        await using RpcStreamingCall call = client.Open(client.GetMethod("Chat"));

        foreach (string word in new[] { "one", "two", "three" })
        {
            Assert.True(await call.SendAsync(WordsServer.Text(word)));
            Assert.True(await call.ReadAsync());
            Assert.Equal($"{word}!", WordsServer.TextOf(call.Current));
        }

        await call.CompleteAsync();
        Assert.False(await call.ReadAsync());
    }

    [Fact]
    public async Task A_stream_in_both_directions_needs_HTTP_2_and_says_so()
    {
        // Where callers can authenticate by NTLM, an endpoint has only HTTP/1.1.
        RpcServerSecurity security = new()
        {
            Authentication = RpcAuthentication.None | RpcAuthentication.Ntlm,
            NtlmAccounts = [NtlmAccount.From(new System.Net.NetworkCredential("ann", "secret"))],
        };
        using WordsServer server = new("http://127.0.0.1:0/", new() { Security = security });
        using RpcClient client = RpcClient.Connect(
            RpcEndpoint.Parse($"connect://127.0.0.1:{server.Endpoint.Port}/"), WordsServer.Schema,
            new() { Service = "streams.Words" });

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => TextsAsync(client.InvokeDuplexStreamAsync("Chat", Requests("1"))));

        Assert.Equal((RpcStatusCode.Unavailable, "WrongProtocol"), (error.Code, error.ErrorId));
        Assert.Contains("connects://", error.Message, StringComparison.Ordinal);
        Assert.False(error.MayHaveExecuted);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_server_of_HTTP_2_alone_is_found_out(bool isLazy)
    {
        await using HostedApp app = await HostedApp.StartAsync(null, map => map.MapProtoRpc());
        RpcEndpoint endpoint = RpcEndpoint.Parse(app.Grpc.Replace("grpc://", "connect://") + "/");
        RpcSchema schema = RpcSchema.FromDescriptors(OrdersReflection.Descriptor);
        RpcClientOptions options = new() { Lazy = isLazy, Service = "shop.Orders" };
        object place = new { order = new { id = "a" } };

        using RpcClient first = RpcClient.Connect(endpoint, schema, options);
        using RpcClient second = RpcClient.Connect(endpoint, schema, options);
        using RpcClient third = RpcClient.Connect(endpoint, schema, options);
        PlaceReply placed = first.Invoke<PlaceReply>("Place", place);
        PlaceReply imported = await second.InvokeClientStreamAsync<PlaceReply>("Import", Twice(place));
        List<OrderEvent> tracked = await third.InvokeDuplexStreamAsync<OrderEvent>(
            "Track", Twice(new { id = "t" })).ToListAsync();

        Assert.StartsWith("a", placed.Id, StringComparison.Ordinal);
        Assert.NotNull(imported);
        Assert.NotEmpty(tracked);

        static async IAsyncEnumerable<object> Twice(object request)
        {
            await Task.Yield();
            yield return request;
            yield return request;
        }
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void Failures_have_status_text_details_and_trailers(bool isSecure)
    {
        using RpcClient client = Connect(isSecure);
        RpcReplyInfo info = new();

        RpcException error = Assert.Throws<RpcException>(() => client.Invoke(
            "Say", WordsServer.Text("fail"), new RpcCallOptions { ReplyInfo = info }));

        Assert.Equal((RpcStatusCode.NotFound, "Kein Öl: 100 % leer\n"), (error.Code, error.Message));
        Assert.Equal("of a failure", info.Trailers.GetText("x-last"));
        Assert.Equal("a detail", WordsServer.TextOf((DynamicMessage)Assert.Single(error.Details)));
    }

    [Fact]
    public async Task Failures_of_streams_end_them()
    {
        using RpcClient client = Connect(isSecure: false);
        List<string> replies = [];

        RpcException error = await Assert.ThrowsAsync<RpcException>(async () =>
        {
            await foreach (DynamicMessage reply in client.InvokeServerStreamAsync(
                "Split", WordsServer.Text("a b fail c")))
            {
                replies.Add(WordsServer.TextOf(reply));
            }
        });

        Assert.Equal(["a", "b"], replies);
        Assert.Equal((RpcStatusCode.Aborted, "in the middle"), (error.Code, error.Message));
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Metadata_goes_both_ways(bool isStream)
    {
        using RpcServer server = RpcServer.Create(
            WordsServer.Schema, "streams.Words", new RpcServerOptions().WithHttp())
            .Handle("Say", (context, request) =>
            {
                Mirror(context);
                return new(request);
            })
            .HandleStreaming("Split", async (context, stream) =>
            {
                Mirror(context);
                await stream.WriteAsync(WordsServer.Text("x"));
            })
            .AddEndpoint("http://127.0.0.1:0/");
        server.StartListening();
        using RpcClient client = RpcClient.Connect(
            Of(server.Endpoints[0]), WordsServer.Schema, new() { Service = "streams.Words" });
        RpcMetadata headers = new();
        headers.Add("x-text", "a b");
        headers.Add("x-bytes-bin", [0, 255]);
        RpcReplyInfo info = new();
        RpcCallOptions options = new() { Headers = headers, ReplyInfo = info };

        if (isStream)
        {
            await TextsAsync(client.InvokeServerStreamAsync("Split", WordsServer.Text("x"), options));
        }
        else
        {
            client.Invoke("Say", WordsServer.Text("x"), options);
        }

        Assert.Equal("a b", info.Headers.GetText("x-head"));
        Assert.Equal("a b", info.Trailers.GetText("x-trail"));
        Assert.Equal([0, 255], info.Trailers.GetBytes("x-trail-bin"));
    }

    [Fact]
    public async Task A_deadline_ends_calls_on_both_sides()
    {
        using RpcClient client = Connect(isSecure: false);
        RpcCallOptions options = new() { Timeout = TimeSpan.FromMilliseconds(300) };

        RpcException error = await Assert.ThrowsAsync<RpcException>(() => TextsAsync(
            client.InvokeServerStreamAsync("Split", WordsServer.Text("a wait"), options)));

        Assert.Equal(RpcStatusCode.DeadlineExceeded, error.Code);
        Assert.Equal("cancelled", await _plain.Ended.Task.WaitAsync(TimeSpan.FromSeconds(20)));
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Disposing_a_stream_cancels_it_on_the_server(bool isSecure)
    {
        using RpcClient client = Connect(isSecure);
        RpcStreamingCall call = client.Open(client.GetMethod("Split"));
        await call.SendAsync(WordsServer.Text("a wait"));
        Assert.True(await call.ReadAsync());

        await call.DisposeAsync();

        Assert.Equal(
            "cancelled",
            await (isSecure ? _secure : _plain).Ended.Task.WaitAsync(TimeSpan.FromSeconds(20)));
    }

    [Theory]
    [InlineData("Binary", RpcCompression.None)]
    [InlineData("Json", RpcCompression.None)]
    [InlineData("Binary", RpcCompression.Gzip)]
    [InlineData("Json", RpcCompression.Gzip)]
    public void Methods_without_side_effects_can_be_called_by_GET(string format, RpcCompression compression)
    {
        RpcSchema schema = RpcSchema.Load([Path.Combine(AppContext.BaseDirectory, "protos", "shop.proto")]);
        using RpcServer server = RpcServer.Create(schema, null, new RpcServerOptions().WithHttp())
            .Handle("Look", (_, request) => new(request))
            .Handle("Buy", (_, request) => new(request))
            .AddEndpoint("http://127.0.0.1:0/");
        server.StartListening();
        MethodRecorder recorder = new();
        using RpcClient client = RpcClient.Connect(
            Of(server.Endpoints[0]), schema, new()
            {
                HttpGet = true,
                HttpHandler = () => recorder,
                Format = format == "Json" ? MessageFormats.Json : MessageFormats.Binary,
                Compression = compression,
            });
        string name = $"a&b=+ü/{new string('x', 2000)}";
        string longName = new('x', 9000);

        Assert.Equal(name, client.Invoke("Look", new { name })["name"]);
        Assert.Equal(name, client.Invoke("Buy", new { name })["name"]);
        Assert.Equal(longName, client.Invoke("Look", new { name = longName })["name"]);

        bool isShort = compression != RpcCompression.None;
        Assert.Equal(["GET", "POST", isShort ? "GET" : "POST"], recorder.Methods);
    }

    [Fact]
    public void A_format_that_Connect_does_not_have_is_refused()
    {
        RpcException error = Assert.Throws<RpcException>(() => RpcClient.Connect(
            Of(_plain.Endpoint), WordsServer.Schema, new() { Format = MessageFormats.Xml }));

        Assert.Equal(RpcStatusCode.InvalidArgument, error.Code);
        Assert.Contains("Xml", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_server_is_pinged_and_an_absent_one_is_reported()
    {
        using RpcClient client = Connect(isSecure: false);
        RpcPingResult ping = await client.PingAsync();
        RpcEndpoint gone = Of(_plain.Endpoint);
        _plain.Dispose();

        RpcException error = Assert.Throws<RpcException>(
            () => RpcClient.Connect(gone, WordsServer.Schema));

        Assert.True(ping.IsProtoRpc);
        Assert.Contains("streams.Words", ping.Services);
        Assert.Equal(RpcStatusCode.Unavailable, error.Code);
        Assert.False(error.MayHaveExecuted);
    }

    [Fact]
    public async Task Passwords_are_checked_before_a_stream_of_requests()
    {
        using WordsServer server = new(
            "http://127.0.0.1:0/",
            http: new()
            {
                Security = new()
                {
                    Basic = (credential, _) => new(
                        credential.Password == "open" ? new GenericIdentity(credential.UserName) : null),
                },
            });
        using RpcClient client = RpcClient.Connect(
            Of(server.Endpoint), WordsServer.Schema, new()
            {
                Service = "streams.Words",
                Security = new()
                {
                    Authentication = RpcClientAuthentication.User,
                    Credential = new("ann", "open"),
                },
            });

        IMessage joined = await client.InvokeClientStreamAsync("Join", Requests("a", "b"));

        Assert.Equal("a b", WordsServer.TextOf(joined));
    }

    internal static RpcEndpoint Of(RpcEndpoint served) => RpcEndpoint.Parse(
        $"connect{(served.IsTls ? "s" : "")}://{served.Host}:{served.Port}/");

    internal static async IAsyncEnumerable<object> Requests(params string[] texts)
    {
        foreach (string text in texts)
        {
            await Task.Yield();
            yield return WordsServer.Text(text);
        }
    }

    internal static async Task<List<string>> TextsAsync(IAsyncEnumerable<DynamicMessage> replies)
    {
        List<string> texts = [];
        await foreach (DynamicMessage reply in replies)
        {
            texts.Add(WordsServer.TextOf(reply));
        }

        return texts;
    }

    private static void Mirror(RpcServerCallContext context)
    {
        context.ReplyHeaders.Add("x-head", context.RequestHeaders.GetText("x-text")!);
        context.ReplyTrailers.Add("x-trail", context.RequestHeaders.GetText("x-text")!);
        context.ReplyTrailers.Add("x-trail-bin", context.RequestHeaders.GetBytes("x-bytes-bin")!);
    }

    private RpcClient Connect(bool isSecure, string format = "Binary", RpcClientOptions? options = null) =>
        RpcClient.Connect(
            Of((isSecure ? _secure : _plain).Endpoint), WordsServer.Schema, (options ?? new()) with
            {
                Service = "streams.Words",
                Format = format == "Json" ? MessageFormats.Json : MessageFormats.Binary,
                ReplyCompression = RpcReplyCompression.Always,
                Tls = new() { CaCertificates = [Certificate] },
            });
}

/// <summary>Remembers the methods of HTTP of calls.</summary>
internal sealed class MethodRecorder() : DelegatingHandler(new SocketsHttpHandler { UseProxy = false })
{
    public List<string> Methods { get; } = [];

    protected override Task<HttpResponseMessage> SendAsync(
        HttpRequestMessage request, CancellationToken cancellationToken)
    {
        if (request.Method != HttpMethod.Options)
        {
            Methods.Add(request.Method.Method);
        }

        return base.SendAsync(request, cancellationToken);
    }
}

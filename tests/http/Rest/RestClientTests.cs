using System.Text;
using Google.Protobuf;

namespace ProtoRpc.Http.Tests.Rest;

/// <summary>Calls of rest:// endpoints to a listener of ours.</summary>
public sealed class RestClientTests : IDisposable
{
    private readonly RestServer _server = new();

    public void Dispose() => _server.Dispose();

    [Theory]
    [InlineData("Root", "{}")]
    [InlineData("GetShelf", """{"name":"a/b %?#+\u00fc\ud83d\ude00","number":5}""")]
    [InlineData("GetBook", """{"name":"shelves/1/books/a:b c"}""")]
    [InlineData("ArchiveBook", """{"name":"shelves/1/books/2","number":3,"struct":{"a":[1,null]}}""")]
    [InlineData("UpdateBook", """{"number":4,"inner":{"name":"shelves/1/books/2","number":3}}""")]
    [InlineData("UpdateBook", """{"number":4,"inner":{"name":"x","number":3},"tags":["t"]}""")]
    [InlineData("CreateShelf", """{"name":"x","inners":[{"name":"y"}],"labels":{"a":"b"}}""")]
    [InlineData("CreateShelf", "{}")]
    [InlineData("SetTags", """{"tags":["a","b"],"number":3}""")]
    [InlineData("SetTags", "{}")]
    [InlineData("SetLabels", """{"name":"n","labels":{"a":"b"}}""")]
    [InlineData("SetInners", """{"inners":[{"name":"a"},{}]}""")]
    [InlineData("ReadFile", """{"name":"a/b/c d"}""")]
    [InlineData("Undelete", """{"name":"a/b"}""")]
    [InlineData("Anything", """{"big":"-9223372036854775808"}""")]
    [InlineData("Purge", """{"name":"x","inner":{"name":"y","inner":{"tags":["1","2"]}}}""")]
    [InlineData("DeleteShelf", """{"name":"x"}""")]
    [InlineData("ListShelves", """{"color":"RED","colors":[7,"GREEN"],"data":"+/8=","flag":true}""")]
    [InlineData("ListShelves", """{"mask":"a.bC,d","time":"2024-01-01T00:00:00Z","pause":"1.5s"}""")]
    [InlineData("ListShelves", """{"maybeNumber":0,"maybe":"","right":"","pageToken":"&=+ %"}""")]
    [InlineData("ListShelves", """{"ratio":"NaN","single":"-Infinity","huge":"18446744073709551615"}""")]
    [InlineData("Typed", """{"numbers":[0,-1],"positive":4294967295}""")]
    public async Task A_listener_gets_the_request_that_was_sent(string method, string request)
    {
        DynamicMessage sent = RestProtos.Request(request);
        using RpcClient client = Connect();

        DynamicMessage reply = await client.InvokeAsync(method, sent);
        DynamicMessage blocking = client.Invoke(method, sent);

        Assert.Equal(method, Field<string>(reply, "method"));
        Assert.Equal(sent, Field<DynamicMessage>(reply, "request"));
        Assert.Equal(reply, blocking);
        _server.Server.RequireCounts(counts => counts.Calls == 2);
    }

    [Fact]
    public void Fields_of_replies_and_raw_bodies_go_both_ways()
    {
        using RpcClient client = Connect();
        DynamicMessage file = MessageFormats.Json.Read(
            RestProtos.Library.GetMessage("rest.FileRequest"),
            """{"name":"a","file":{"contentType":"text/x-raw","data":"77u/PHJhdz4="}}""");

        DynamicMessage tags = client.Invoke("GetTags", new { tags = new[] { "x", "y" } });
        DynamicMessage part = client.Invoke("GetRequest", new { name = "n" });
        DynamicMessage uploaded = client.Invoke("Upload", file);
        DynamicMessage download = client.Invoke("Download", new { name = "hello" });

        Assert.Equal("""{"tags":["x","y"]}""", MessageFormats.Json.ToText(tags));
        Assert.Equal("""{"request":{"name":"n"}}""", MessageFormats.Json.ToText(part));
        Assert.Equal(file, Field<DynamicMessage>(uploaded, "file"));
        Assert.Equal("text/x-name", Field<string>(download, "content_type"));
        Assert.Equal("hello", Encoding.UTF8.GetString(Field<byte[]>(download, "data")));
    }

    [Theory]
    [InlineData(null)]
    [InlineData("text/event-stream")]
    public async Task Streams_are_read_as_lines_and_as_events(string? accept)
    {
        RpcMetadata headers = new();
        if (accept is not null)
        {
            headers.Add("Accept", accept);
        }

        using RpcClient client = Connect(new RpcClientOptions { Headers = headers });
        List<string> tags = [];
        await foreach (DynamicMessage reply in client.InvokeServerStreamAsync("Watch", new { number = 3 }))
        {
            tags.Add(MessageFormats.Json.ToText(reply));
        }

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => CountAsync(client, "Watch", new { number = 2, maybe = "x" }));

        Assert.Equal(["""{"tags":["1"]}""", """{"tags":["2"]}""", """{"tags":["3"]}"""], tags);
        Assert.Equal((RpcStatusCode.Aborted, "enough"), (error.Code, error.Message));
    }

    [Fact]
    public async Task A_raw_stream_is_its_bytes()
    {
        using RpcClient client = Connect();
        StringBuilder text = new();
        await foreach (DynamicMessage part in client.InvokeServerStreamAsync(
            "DownloadParts", new { number = 5 }))
        {
            Assert.Equal("text/x-parts", Field<string>(part, "content_type"));
            text.Append(Encoding.UTF8.GetString(Field<byte[]>(part, "data")));
        }

        Assert.Equal("1;2;3;4;5;", text.ToString());
        await Assert.ThrowsAsync<RpcException>(
            () => CountAsync(client, "DownloadParts", new { number = 2, maybe = "x" }));
    }

    [Theory]
    [InlineData(RpcStatusCode.NotFound)]
    [InlineData(RpcStatusCode.AlreadyExists)]
    [InlineData(RpcStatusCode.FailedPrecondition)]
    [InlineData(RpcStatusCode.DataLoss)]
    [InlineData(RpcStatusCode.Unavailable)]
    [InlineData(RpcStatusCode.Cancelled)]
    public void A_failure_of_the_handler_has_its_status(RpcStatusCode code)
    {
        using RpcClient client = Connect();

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke("Fail", new { number = (int)code }));

        Assert.Equal((code, "as you like"), (error.Code, error.Message));
    }

    [Theory]
    [InlineData("Plain", """{"name":"x"}""", "NoHttpRule",
        "rest.Library/Plain cannot be called by REST: it has no google.api.http rule")]
    [InlineData("GetShelf", "{}", "InvalidFieldValue",
        "the path field 'name' of 'GET /v1/shelves/{name}' is empty")]
    [InlineData("GetBook", """{"name":"books/1"}""", "InvalidFieldValue",
        "which 'shelves/*/books/*' does not allow")]
    [InlineData("GetShelf", """{"name":"x","inners":[{}]}""", "InvalidFieldValue",
        "sends this field in the query")]
    [InlineData("GetShelf", """{"name":"x","labels":{"\u001b[31m":"y"}}""", "InvalidFieldValue",
        "in the query")]
    public void A_request_that_no_rule_has_is_an_error_before_it_is_sent(
        string method, string request, string id, string why)
    {
        using RpcClient client = Connect();

        RpcException error =
            Assert.Throws<RpcException>(() => client.Invoke(method, RestProtos.Request(request)));

        Assert.Equal(id, error.ErrorId);
        Assert.Contains(why, error.Message, StringComparison.Ordinal);
        Assert.DoesNotContain('\u001b', error.Message);
        _server.Server.RequireCounts(counts => counts.Calls == 0);
    }

    [Fact]
    public void Prefixes_and_queries_of_the_endpoint_are_those_of_every_call()
    {
        using RestServer server = new(endpoint: "http://127.0.0.1:0/base");
        string address = server.Server.Endpoints[0].Uri.Replace("http:", "rest:", StringComparison.Ordinal);
        using RpcClient client = RpcClient.Connect(
            $"{address}?flag=true", RestProtos.Library, new() { Service = "rest.Library" });
        using RpcClient wrong = RpcClient.Connect(
            address.Replace("/base", "", StringComparison.Ordinal), RestProtos.Library,
            new() { Service = "rest.Library" });

        DynamicMessage plain = Field<DynamicMessage>(
            client.Invoke("GetShelf", new { name = "a" }), "request");
        DynamicMessage more = Field<DynamicMessage>(
            client.Invoke("GetShelf", new { name = "a", number = 1 }), "request");
        RpcException error = Assert.Throws<RpcException>(() => wrong.Invoke("GetShelf", new { name = "a" }));

        Assert.Equal("""{"name":"a","flag":true}""", MessageFormats.Json.ToText(plain));
        Assert.Equal("""{"name":"a","number":1,"flag":true}""", MessageFormats.Json.ToText(more));
        Assert.Contains(error.Code, new[] { RpcStatusCode.NotFound, RpcStatusCode.Unimplemented });
    }

    [Fact]
    public void Headers_trailers_and_the_deadline_go_both_ways()
    {
        TimeSpan? left = null;
        using RpcServer server = Serve((context, request) =>
        {
            left = context.Deadline - DateTimeOffset.UtcNow;
            context.ReplyHeaders.Add("x-first", context.RequestHeaders.GetText("x-asked") ?? "");
            context.ReplyTrailers.Add("x-last", "end");
            return new DynamicMessage(context.Method.ReplyType);
        });
        using RpcClient client = Connect(server);
        RpcMetadata headers = new();
        headers.Add("x-asked", "one");
        RpcReplyInfo info = new();

        client.Invoke(
            "GetShelf", new { name = "x" },
            new RpcCallOptions { Headers = headers, ReplyInfo = info, Timeout = TimeSpan.FromSeconds(90) });

        Assert.Equal(("one", "end"), (info.Headers.GetText("x-first"), info.Trailers.GetText("x-last")));
        Assert.InRange(left!.Value, TimeSpan.FromSeconds(1), TimeSpan.FromSeconds(90));
    }

    [Fact]
    public async Task A_call_ends_by_its_deadline_and_by_its_token()
    {
        TaskCompletionSource cancelled = new();
        using RpcServer server = Serve((context, _) =>
        {
            context.CancellationToken.WaitHandle.WaitOne(TimeSpan.FromSeconds(20));
            cancelled.TrySetResult();
            throw new RpcException(RpcStatusCode.Cancelled, "left");
        });
        using RpcClient client = Connect(server);
        using CancellationTokenSource source = new();

        RpcException late = await Assert.ThrowsAsync<RpcException>(() => client.InvokeAsync(
            "GetShelf", new { name = "x" }, new RpcCallOptions { Timeout = TimeSpan.FromMilliseconds(200) }));
        Task<DynamicMessage> call = client.InvokeAsync(
            "GetShelf", new { name = "x" }, cancellationToken: source.Token);
        await source.CancelAsync();
        Exception left = await Assert.ThrowsAnyAsync<Exception>(() => call);

        Assert.Equal(RpcStatusCode.DeadlineExceeded, late.Code);
        Assert.True(left is OperationCanceledException or RpcException { Code: RpcStatusCode.Cancelled });
        await cancelled.Task.WaitAsync(TimeSpan.FromSeconds(20));
    }

    [Fact]
    public async Task Pings_balancing_compression_and_gateways_are_those_of_HTTP()
    {
        using RestServer second = new();
        RpcEndpoint[] endpoints = [Rest(_server.Server), Rest(second.Server)];
        using RpcClient balanced = RpcClient.Connect(
            endpoints, RpcLoadBalancing.RoundRobin, RestProtos.Library,
            new() { Service = "rest.Library", Compression = RpcCompression.Gzip });
        using RpcServer gateway = RpcServer.Create(
                RestProtos.Library, "rest.Library", new RpcServerOptions().WithHttp())
            .Forward(balanced, "rest.Library")
            .AddEndpoint("grpc://127.0.0.1:0")
            .StartListening();
        using RpcClient client = RpcClient.Connect(
            gateway.Endpoints[0], RestProtos.Library, new() { Service = "rest.Library" });
        string text = new('x', 10_000);

        RpcPingResult ping = await balanced.PingAsync();
        for (int i = 0; i < 4; i++)
        {
            DynamicMessage reply = await client.InvokeAsync("CreateShelf", new { name = text });
            Assert.Equal(text, Field<string>(Field<DynamicMessage>(reply, "request"), "name"));
        }

        Assert.True(ping.IsProtoRpc);
        Assert.Equal(3, await CountAsync(client, "Watch", new { number = 3 }));
        Assert.Equal("hello", Encoding.UTF8.GetString(
            Field<byte[]>(await client.InvokeAsync("Download", new { name = "hello" }), "data")));
        Assert.Equal(
            RpcStatusCode.NotFound,
            (await Assert.ThrowsAsync<RpcException>(
                () => client.InvokeAsync("Fail", new { number = 5 }))).Code);
        _server.Server.RequireCounts(counts => counts.Calls >= 2);
        second.Server.RequireCounts(counts => counts.Calls >= 2);
    }

    [Fact]
    public void A_listener_cannot_have_the_endpoint_and_says_which_it_can()
    {
        RpcException error = Assert.Throws<RpcException>(() => RpcServer
            .Create(RestProtos.Library, "rest.Library", new RpcServerOptions().WithHttp())
            .AddEndpoint("rests://127.0.0.1:8443/v1")
            .StartListening());

        Assert.Equal("InvalidEndpoint", error.ErrorId);
        Assert.Contains("use 'https://127.0.0.1:8443/v1'", error.Message, StringComparison.Ordinal);
    }

    private static RpcEndpoint Rest(RpcServer server) => RpcEndpoint.Parse(
        server.Endpoints[0].Uri.Replace("http:", "rest:", StringComparison.Ordinal));

    private static RpcClient Connect(RpcServer server, RpcClientOptions? options = null) => RpcClient.Connect(
        Rest(server), RestProtos.Library, (options ?? new()) with { Service = "rest.Library" });

    private static RpcServer Serve(Func<RpcServerCallContext, IMessage, IMessage> handle) => RpcServer.Create(
            RestProtos.Library, "rest.Library", new RpcServerOptions().WithHttp())
        .HandleAll((context, request) => ValueTask.FromResult(handle(context, request)))
        .AddEndpoint("http://127.0.0.1:0/")
        .StartListening();

    private RpcClient Connect(RpcClientOptions? options = null) => Connect(_server.Server, options);

    private static async Task<int> CountAsync(RpcClient client, string method, object request)
    {
        int count = 0;
        await foreach (DynamicMessage _ in client.InvokeServerStreamAsync(method, request))
        {
            count++;
        }

        return count;
    }

    private static T Field<T>(DynamicMessage message, string name) =>
        (T)message.Get(message.Type.FindField(name)!)!;
}

using Google.Protobuf.WellKnownTypes;
using ProtoRpc.AspNetCore.Http;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Protocols.Headers;

namespace ProtoRpc.Http.Tests;

/// <summary>Headers, trailers and error details of calls, alike on native, HTTP and gRPC endpoints.</summary>
public static class CallMetadataTests
{
    private const string Tcp = "ncacn_ip_tcp:127.0.0.1[0]";
    private const string Http = "http://127.0.0.1:0/";
    private const string Grpc = "grpc://127.0.0.1:0";

    [Theory]
    [InlineData(Tcp, 0)]
    [InlineData(Tcp, 2048)]
    [InlineData(Http, 0)]
    [InlineData(Grpc, 0)]
    public static void Headers_and_trailers_go_both_ways(string endpoint, int parts)
    {
        using RpcServer server = Start(endpoint);
        RpcMetadata always = new();
        always.Add("x-always", "yes");
        using RpcClient client = RpcClient.Connect(
            server.Endpoints[0], WordsServer.Schema,
            new RpcClientOptions { Headers = always, Limits = new() { MultiPartThreshold = parts } });
        RpcMetadata headers = new();
        headers.Add("x-asked", "one");
        headers.Add("x-asked", "two");
        headers.Add("x-asked-bin", [1, 2, 255]);
        RpcReplyInfo info = new();

        client.Invoke(
            client.GetMethod("streams.Words/Say"), WordsServer.Text(new string('x', 5000)),
            new RpcCallOptions { Headers = headers, ReplyInfo = info });

        Assert.Equal(
            ["one", "two", "yes"], info.Headers.GetAll("x-first").SelectMany(v => ((string)v).Split(", ")));
        Assert.Equal([1, 2, 255], info.Trailers.GetBytes("x-last-bin"));
        Assert.Equal("of all", info.Trailers.GetText("x-last"));
        Assert.Null(info.Headers.GetText("trailer-x-last"));
    }

    [Theory]
    [InlineData(Http, "content-length")]
    [InlineData(Http, "transfer-encoding")]
    [InlineData(Http, "connection")]
    [InlineData(Http, "te")]
    [InlineData(Grpc, "content-length")]
    [InlineData(Grpc, "te")]
    public static void Headers_that_belong_to_the_protocol_are_refused_before_the_call(
        string endpoint, string name)
    {
        using RpcServer server = Start(endpoint);
        using RpcClient client = RpcClient.Connect(server.Endpoints[0], WordsServer.Schema);
        RpcMetadata headers = new();
        headers.Add(name, "1");

        RpcException error = Assert.Throws<RpcException>(() => client.Invoke(
            client.GetMethod("streams.Words/Say"), WordsServer.Text("x"),
            new RpcCallOptions { Headers = headers }));

        Assert.Equal("InvalidHeader", error.ErrorId);
        Assert.Contains($"'{name}'", error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(Http)]
    [InlineData(Grpc)]
    public static async Task Extensions_are_refused_where_there_is_no_native_header(string endpoint)
    {
        using RpcServer server = Start(endpoint);
        using RpcClient client = RpcClient.Connect(server.Endpoints[0], WordsServer.Schema);
        RpcCallOptions options = new() { Extensions = new RpcRequestHeader() };
        RpcMethodInfo method = client.GetMethod("streams.Words/Say");

        RpcException[] errors =
        [
            Assert.Throws<RpcException>(() => client.Invoke(method, WordsServer.Text("x"), options)),
            await Assert.ThrowsAsync<RpcException>(
                () => client.InvokeAsync(method, WordsServer.Text("x"), options)),
            Assert.Throws<RpcException>(() => client.Open(method, options)),
        ];
        RpcReplyInfo info = new();
        client.Invoke(method, WordsServer.Text("x"), new RpcCallOptions { ReplyInfo = info });

        Assert.All(errors, error => Assert.Equal("ExtensionsNotSupported", error.ErrorId));
        Assert.Null(info.Extensions);
    }

    [Theory]
    [InlineData(Tcp, "Binary")]
    [InlineData(Http, "Binary")]
    [InlineData(Http, "Json")]
    [InlineData(Http, "Xml")]
    [InlineData(Grpc, "Binary")]
    public static void A_failure_brings_its_details_and_trailers(string endpoint, string name)
    {
        using RpcServer server = Start(endpoint);
        Assert.True(MessageFormats.TryFind(name, out MessageFormat? format));
        using RpcClient client = RpcClient.Connect(
            server.Endpoints[0], WordsServer.Schema, new RpcClientOptions { Format = format });

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke(client.GetMethod("streams.Words/Say"), WordsServer.Text("fail")));

        Assert.Equal(RpcStatusCode.NotFound, error.Code);
        Assert.Equal("of all", error.Trailers["x-last"]);
        Assert.Equal(2, error.Details.Count);

        // One of the caller's own schema, and one that is known without.
        DynamicMessage own = Assert.IsType<DynamicMessage>(error.Details[0]);
        Assert.Equal("streams.Text", own.Type.FullName);
        Assert.Equal(WordsServer.Text("a detail").ToByteArray(), own.ToByteArray());
        Assert.Equal("google.rpc.ErrorInfo", Assert.IsType<DynamicMessage>(error.Details[1]).Type.FullName);
    }

    [Theory]
    [InlineData(Http, "wrong")]
    [InlineData(Http, "wrong", "Json")]
    [InlineData(Http, "ok", "Json")]
    [InlineData(Http, "none")]
    [InlineData(Http, "ok")]
    [InlineData(Grpc, "wrong")]
    [InlineData(Grpc, "none")]
    [InlineData(Grpc, "ok")]
    public static async Task Replies_that_stream_have_headers_trailers_and_details(
        string endpoint, string text, string name = "Binary")
    {
        using RpcServer server = Start(endpoint);
        Assert.True(MessageFormats.TryFind(name, out MessageFormat? format));
        using RpcClient client = RpcClient.Connect(
            server.Endpoints[0], WordsServer.Schema, new RpcClientOptions { Format = format });
        RpcReplyInfo info = new();
        await using RpcStreamingCall call = client.Open(
            client.GetMethod("streams.Words/Split"), new RpcCallOptions { ReplyInfo = info });
        await call.SendAsync(WordsServer.Text(text));
        await call.CompleteAsync();

        RpcException? error = null;
        try
        {
            while (await call.ReadAsync())
            {
            }
        }
        catch (RpcException e)
        {
            error = e;
        }

        Assert.Equal("before", info.Headers.GetText("x-first"));
        Assert.Equal("of all", info.Trailers.GetText("x-last"));
        Assert.Equal(text != "ok", error is not null);
        if (error is not null)
        {
            Assert.Equal("of all", error.Trailers["x-last"]);
            Assert.Equal("streams.Text", ((DynamicMessage)error.Details[0]).Type.FullName);
        }
    }

    [Fact]
    public static async Task Replies_that_stream_have_no_trailers_for_clients_that_do_not_ask()
    {
        using RpcServer server = Start(Http);
        using HttpClient http = new() { BaseAddress = new Uri(server.Endpoints[0].Uri) };

        string text = await http.GetStringAsync("streams.Words/Split?text=ok");

        Assert.Equal("{\"text\":\"a reply\"}\n", text.Replace(" ", "", StringComparison.Ordinal)
            .Replace("areply", "a reply", StringComparison.Ordinal));
    }

    [Fact]
    public static async Task A_client_of_the_connect_protocol_gets_details_and_trailers()
    {
        using RpcServer server = Start(Http);
        using HttpClient http = new() { BaseAddress = new Uri(server.Endpoints[0].Uri) };
        using HttpRequestMessage request = new(HttpMethod.Post, "streams.Words/Say")
        {
            Content = new StringContent("""{"text":"fail"}""", null, "application/json"),
        };
        request.Headers.Add("Connect-Protocol-Version", "1");

        using HttpResponseMessage response = await http.SendAsync(request);

        string text = await response.Content.ReadAsStringAsync();
        string value = Convert.ToBase64String(WordsServer.Text("a detail").ToByteArray()).TrimEnd('=');
        Assert.Contains(
            $$$""""details":[{"type":"streams.Text","value":"{{{value}}}","debug":{"text":"a detail"}},"""",
            text, StringComparison.Ordinal);
        Assert.Equal("of all", Assert.Single(response.Headers.GetValues("Trailer-X-Last")));
    }

    [Theory]
    [InlineData("Say", "fail", "application/json", true)]
    [InlineData("Say", "fail", "text/xml", false)]
    [InlineData("Split", "wrong", "application/x-ndjson", true)]
    public static async Task A_failure_in_json_has_its_details_as_json(
        string method, string request, string accept, bool isJson)
    {
        using RpcServer server = Start(Http);
        using HttpClient http = new() { BaseAddress = new Uri(server.Endpoints[0].Uri) };
        http.DefaultRequestHeaders.Add("Accept", accept);

        using HttpResponseMessage response = await http.GetAsync($"streams.Words/{method}?text={request}");

        string text = await response.Content.ReadAsStringAsync();
        Assert.Contains("streams.Text", text, StringComparison.Ordinal);
        Assert.Equal(isJson, text.Contains(
            """
            "debug":{"text":"a detail"}
            """, StringComparison.Ordinal));
    }

    [Fact]
    public static void A_long_a_deep_and_an_unknown_detail_are_not_written_as_json()
    {
        Value deep = Value.Parser.ParseJson(new string('[', 20) + new string(']', 20));
        Any unknown = new() { TypeUrl = "type.googleapis.com/un.Known" };
        DetailJson json = new(RpcLimits.Default);
        DetailJson small = new(new RpcLimits { MaxMessageBytes = 1024 });

        Assert.Null(json.Next(deep));
        Assert.Null(json.Next(unknown));
        Assert.NotNull(json.Next(WordsServer.Text("a detail")));
        Assert.Null(json.Next(WordsServer.Text(new string('x', 17 * 1024))));
        Assert.Null(json.Next(WordsServer.Text("a detail")));
        Assert.NotNull(small.Next(WordsServer.Text("a detail")));
        Assert.Null(small.Next(WordsServer.Text(new string('x', 60))));
    }

    [Theory]
    [InlineData(101, 1)]
    [InlineData(2, 20_000)]
    public static void Native_headers_are_bounded_on_both_sides(int count, int length)
    {
        using RpcServer server = Start(Tcp);
        using RpcClient client = RpcClient.Connect(server.Endpoints[0], WordsServer.Schema);
        RpcMetadata headers = new();
        for (int i = 0; i < count; i++)
        {
            headers.Add("x-many", new string('y', length));
        }

        RpcException sent = Assert.Throws<RpcException>(() => client.Invoke(
            client.GetMethod("streams.Words/Say"), WordsServer.Text("x"),
            new RpcCallOptions { Headers = headers }));
        RpcException returned = Assert.Throws<RpcException>(() => client.Invoke(
            client.GetMethod("streams.Words/Say"), WordsServer.Text($"many {count} {length}")));

        Assert.Equal(RpcStatusCode.InvalidArgument, sent.Code);
        Assert.Equal("InvalidHeader", sent.ErrorId);
        Assert.Equal(RpcStatusCode.Internal, returned.Code);
        Assert.Contains(
            "the limits are 100 values and 32768 bytes", returned.Message, StringComparison.Ordinal);
    }

    private static RpcServer Start(string endpoint) => RpcServer
        .Create(WordsServer.Schema, "streams.Words", new RpcServerOptions().WithHttp())
        .Handle("Say", (context, request) => new(Say(context, WordsServer.TextOf(request))))
        .HandleStreaming("Split", async (context, stream) =>
        {
            string text = WordsServer.TextOf((await stream.ReadAsync())!);
            context.ReplyHeaders.Add("x-first", "before");
            context.ReplyTrailers.Add("x-last", "of all");
            if (text != "none")
            {
                await stream.WriteAsync(WordsServer.Text("a reply"));
            }

            if (text != "ok")
            {
                throw Failure();
            }
        })
        .AddEndpoint(endpoint)
        .StartListening();

    private static DynamicMessage Say(RpcServerCallContext context, string text)
    {
        context.ReplyTrailers.Add("x-last", "of all");
        if (text == "fail")
        {
            throw Failure();
        }

        if (text.StartsWith("many ", StringComparison.Ordinal))
        {
            string[] words = text.Split(' ');
            for (int i = int.Parse(words[1], null); i > 0; i--)
            {
                context.ReplyTrailers.Add("x-many", new string('z', int.Parse(words[2], null)));
            }

            return WordsServer.Text("");
        }

        foreach (object value in context.RequestHeaders.GetAll("x-asked"))
        {
            context.ReplyHeaders.Add("x-first", (string)value);
        }

        context.ReplyHeaders.Add("x-first", context.RequestHeaders.GetText("x-always") ?? "no");
        context.ReplyTrailers.Add("x-last-bin", context.RequestHeaders.GetBytes("x-asked-bin") ?? []);
        return WordsServer.Text("");
    }

    private static RpcException Failure() => new(RpcStatusCode.NotFound, "Not here.")
    {
        Details =
        [
            WordsServer.Text("a detail"),
            new DynamicMessage(GrpcStatusDetails.Schema.GetMessage("google.rpc.ErrorInfo")),
        ],
    };
}

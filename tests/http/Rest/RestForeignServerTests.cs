using System.Net;
using System.Net.Http.Headers;
using System.Text;
using Google.Protobuf;
using Google.Protobuf.Reflection;

namespace ProtoRpc.Http.Tests.Rest;

/// <summary>Answers of servers of REST that are not ours: grpc-gateway, Google's APIs, and hostile
/// ones.</summary>
public static class RestForeignServerTests
{
    private const string Json = "application/json";

    private const string OfGoogle = """
        {"error":{"code":404,"message":"Shelf 7 is not there.","status":"NOT_FOUND","details":[
        {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"NO_SHELF","metadata":{"a":"b"}},
        {"@type":"type.googleapis.com/rest.Inner","name":"inner","added_later":1},
        {"@type":"type.googleapis.com/nobody.Knows","x":1}, 5, {"@type":7}, {"@type":""}]}}
        """;

    private const string Gateway = """
        {"code":5,"message":"Shelf 7 is not there.","details":[
        {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"NO_SHELF"},
        {"@type":"type.googleapis.com/rest.Inner","name":"inner"}]}
        """;

    [Theory]
    [InlineData(404, OfGoogle)]
    [InlineData(404, Gateway)]
    [InlineData(500, Gateway)]
    [InlineData(404, "[" + OfGoogle + "]")]
    public static void Failures_of_google_rpc_have_their_status_text_and_details(int status, string body)
    {
        RpcException error = Fail(Answer(status, Json, body));

        Assert.Equal((RpcStatusCode.NotFound, "Shelf 7 is not there."), (error.Code, error.Message));
        Assert.Equal(
            ["google.rpc.ErrorInfo", "rest.Inner"],
            error.Details.Cast<DynamicMessage>().Select(detail => detail.Type.FullName));
        Assert.Equal(
            """{"name":"inner"}""", MessageFormats.Json.ToText((DynamicMessage)error.Details[1]));
    }

    [Theory]
    [InlineData(400, RpcStatusCode.InvalidArgument)]
    [InlineData(401, RpcStatusCode.Unauthenticated)]
    [InlineData(403, RpcStatusCode.PermissionDenied)]
    [InlineData(404, RpcStatusCode.NotFound)]
    [InlineData(409, RpcStatusCode.Aborted)]
    [InlineData(412, RpcStatusCode.FailedPrecondition)]
    [InlineData(416, RpcStatusCode.OutOfRange)]
    [InlineData(418, RpcStatusCode.InvalidArgument)]
    [InlineData(429, RpcStatusCode.ResourceExhausted)]
    [InlineData(499, RpcStatusCode.Cancelled)]
    [InlineData(500, RpcStatusCode.Internal)]
    [InlineData(501, RpcStatusCode.Unimplemented)]
    [InlineData(502, RpcStatusCode.Unavailable)]
    [InlineData(503, RpcStatusCode.Unavailable)]
    [InlineData(504, RpcStatusCode.DeadlineExceeded)]
    public static void Without_one_the_status_of_HTTP_counts(int status, RpcStatusCode code)
    {
        RpcException html = Fail(Answer(status, "text/html", "<p>oh</p>"));
        RpcException empty = Fail(Answer(status, Json, "{}"));
        RpcException named = Fail(Answer(
            status, Json, $$$"""{"error":{"code":{{{status}}},"message":"as code"}}"""));

        Assert.Equal((code, code, code), (html.Code, empty.Code, named.Code));
        Assert.Contains(
            $"rest.Library/GetShelf (GET /v1/shelves/{{name}}) was answered with HTTP status {status} and "
            + "'text/html' instead of an error", html.Message, StringComparison.Ordinal);
        Assert.Equal("as code", named.Message);
    }

    [Theory]
    [InlineData("""{"code":"not_found","error_text":"ours"}""", RpcStatusCode.NotFound, "ours")]
    [InlineData("""{"code":"aborted","message":"of Connect"}""", RpcStatusCode.Aborted, "of Connect")]
    [InlineData("""{"error":"x","code":3,"message":"oldest gateway"}""",
        RpcStatusCode.InvalidArgument, "oldest gateway")]
    [InlineData("""{"error":"invalid_token","error_description":"too old"}""",
        RpcStatusCode.Internal, "invalid_token: too old")]
    [InlineData("""{"code":5}""", RpcStatusCode.NotFound, "The call failed with not_found.")]
    [InlineData("""{"error":{"status":"ABORTED","code":"x"}}""",
        RpcStatusCode.Aborted, "The call failed with aborted.")]
    [InlineData("""{"error":{"status":"cancelled","message":"\u001b[31mred\u0007"}}""",
        RpcStatusCode.Cancelled, "\\u001B[31mred\\u0007")]
    public static void Other_shapes_of_failures_are_read_and_controls_replaced(
        string body, RpcStatusCode code, string text)
    {
        RpcException error = Fail(Answer(500, Json, body));

        Assert.Equal(code, error.Code);
        Assert.DoesNotContain(error.Message, char.IsControl);
        Assert.Equal(text, error.Message);
    }

    [Theory]
    [InlineData("""{"code":99,"message":"x"}""")]
    [InlineData("""{"code":0,"message":"x"}""")]
    [InlineData("""{"code":1e400,"message":"x"}""")]
    [InlineData("""{"code":5.5,"message":"x"}""")]
    [InlineData("""{"code":null,"message":["x"]}""")]
    [InlineData("""{"error":[{"code":5}]}""")]
    [InlineData("""{"error":{"status":"OK"}}""")]
    [InlineData("""[{"error":{"code":5}},{"error":{"code":5}}]""")]
    [InlineData("""{"code":5,"message":"\ud800"}""")]
    [InlineData("""{"code":5,"message":"cut""")]
    [InlineData("[]")]
    [InlineData("5")]
    [InlineData("")]
    public static void What_is_no_failure_of_REST_leaves_the_status_of_HTTP(string body) =>
        Assert.Equal(RpcStatusCode.Unavailable, Fail(Answer(503, Json, body)).Code);

    [Fact]
    public static void Deep_and_many_details_end_in_time()
    {
        string deep = string.Concat(Enumerable.Repeat("""{"error":""", 100_000));
        string many = $$"""
            {"code":5,"message":"x","details":[{{string.Join(
                ',', Enumerable.Repeat("""{"@type":"t/google.rpc.ErrorInfo"}""", 50_000))}}]}
            """;

        Assert.Equal(RpcStatusCode.Internal, Fail(Answer(500, Json, deep)).Code);
        RpcException error = Fail(Answer(500, Json, many));
        Assert.Equal((RpcStatusCode.NotFound, 100), (error.Code, error.Details.Count));
    }

    [Fact]
    public static void A_redirect_is_told_and_not_followed()
    {
        HttpResponseMessage answer = Answer(302, "text/html", "");
        answer.Headers.Location = new Uri("https://login.example/?next=%1b[31m");

        RpcException error = Fail(answer);

        Assert.Equal("Redirected", error.ErrorId);
        Assert.Contains("redirected to 'https://login.example/", error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(429, "0", 3)]
    [InlineData(429, null, 1)]
    [InlineData(503, "0", 1)]
    public static void A_limit_with_a_time_to_call_again_is_kept(int status, string? retryAfter, int calls)
    {
        int count = 0;
        Answers answers = new(_ =>
        {
            count++;
            HttpResponseMessage answer = Answer(
                status, Json, """{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"slow"}}""");
            if (retryAfter is not null)
            {
                answer.Headers.TryAddWithoutValidation("Retry-After", retryAfter);
            }

            return answer;
        });
        using RpcClient client = Connect(answers, new() { RetryCount = 2 });

        RpcException error = Assert.Throws<RpcException>(() => client.Invoke("GetShelf", new { name = "x" }));

        Assert.Equal((RpcStatusCode.ResourceExhausted, calls), (error.Code, count));
    }

    [Theory]
    [InlineData("application/json; charset=UTF-8", """{"method":"a","added_later":{"x":[1]}}""",
        """{"method":"a"}""")]
    [InlineData("application/vnd.api+json", """{"method":"a"}""", """{"method":"a"}""")]
    [InlineData("application/json", "", "{}")]
    [InlineData("", "", "{}")]
    public static void A_reply_is_JSON_whose_unknown_fields_are_left_out(
        string type, string body, string expected)
    {
        using RpcClient client = Connect(new Answers(_ => Answer(200, type, body)));

        Assert.Equal(
            expected, MessageFormats.Json.ToText(client.Invoke("GetShelf", new { name = "x" })));
    }

    [Theory]
    [InlineData("text/html", "<p>", "is 'text/html' and not a message; is 'rest://127.0.0.1:1/' the address")]
    [InlineData("application/x-protobuf", "\n\u0001a", "is 'application/x-protobuf' and not a message")]
    [InlineData("application/json", """{"method":5}""", "is not a message rest.Reply")]
    [InlineData("application/json", """{"method":"a"}{}""", "is not a message rest.Reply")]
    [InlineData("application/json", """{"method":"a" """, "is not a message rest.Reply")]
    [InlineData("application/json", "[]", "is not a message rest.Reply")]
    public static void Other_replies_are_refused(string type, string body, string why)
    {
        RpcException error = Fail(Answer(200, type, body));

        Assert.Equal((RpcStatusCode.Internal, "BadReply"), (error.Code, error.ErrorId));
        Assert.Contains(why, error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("[{\"tags\":[\"1\"]}\n,\r\n{\"tags\":[\"]},{\\\"\"]}\n]\n", false)]
    [InlineData("{\"tags\":[\"1\"]}\n{\"tags\":[\"]},{\\\"\"]}\n", false)]
    [InlineData("{\n\"tags\" :[\n\"1\"]\n}{\"tags\":[\"]},{\\\"\"]}", false)]
    [InlineData("{\"result\":{\"tags\":[\"1\"]}}\n{\"result\":{\"tags\":[\"]},{\\\"\"]}}\n", false)]
    [InlineData("{\"result\":{\"tags\":[\"1\"]}}\n{\"result\":{\"tags\":[\"]},{\\\"\"]}}\n", true)]
    public static async Task Streams_are_arrays_lines_and_envelopes(string body, bool isGateway)
    {
        for (int size = 1; size <= body.Length; size += size < 8 ? 1 : 40)
        {
            Assert.Equal(
                ["""{"tags":["1"]}""", """{"tags":["]},{\""]}"""],
                (await StreamAsync(body, isGateway, size)).Replies);
        }
    }

    [Theory]
    [InlineData("{\"result\":{}}\n{\"error\":{\"code\":10,\"message\":\"enough\",\"details\":[]}}\n")]
    [InlineData("{\"result\":{}}\n{\"error\":{\"grpc_code\":10,\"http_code\":409,\"message\":\"enough\"}}\n")]
    [InlineData("[{}\n,{\"error\":{\"code\":409,\"message\":\"enough\",\"status\":\"ABORTED\"}}\n]")]
    [InlineData("{}\n{\"code\":10,\"message\":\"enough\",\"details\":[]}")]
    [InlineData("{}\n{\"error\":{\"code\":10,\"message\":\"enough\"}}{}")]
    [InlineData("{}\n{\"@error\":{\"code\":\"aborted\",\"error_text\":\"enough\"}}\n")]
    public static async Task An_error_behind_replies_is_that_of_the_call(string body)
    {
        (List<string> replies, RpcException? error) = await StreamAsync(body);

        Assert.Single(replies);
        Assert.Equal((RpcStatusCode.Aborted, "enough"), (error?.Code, error?.Message));
    }

    [Theory]
    [InlineData("{\"error\":{}}")]
    [InlineData("{\"error\":5}")]
    [InlineData("{\"@error\":{\"code\":\"ok\"}}")]
    [InlineData("{\"@error\":[]}")]
    public static async Task An_error_that_says_nothing_is_an_error_all_the_same(string body) =>
        Assert.Equal(RpcStatusCode.Unknown, (await StreamAsync(body)).Error?.Code);

    [Theory]
    [InlineData("[", "end of the array")]
    [InlineData("[{}", "end of the array")]
    [InlineData("[{},", "end of the array")]
    [InlineData("[{},]", "unexpected")]
    [InlineData("[{} {}]", "comma is missing")]
    [InlineData("[{}]]", "after the array")]
    [InlineData("[{}]{}", "after the array")]
    [InlineData("]", "unexpected")]
    [InlineData("{},{}", "unexpected")]
    [InlineData("{\"tags\":[}", "middle of one")]
    [InlineData("{\"tags\":\"", "middle of one")]
    [InlineData("{]", "not a message")]
    [InlineData("tru", "not a message")]
    [InlineData("\"x\"", "not a message")]
    [InlineData("{\"tags\":[[]]}", "not a message")]
    public static async Task A_malformed_stream_is_an_error(string body, string why)
    {
        (_, RpcException? error) = await StreamAsync(body, size: 2);

        Assert.Equal((RpcStatusCode.Internal, "BadReply"), (error?.Code, error?.ErrorId));
        Assert.Contains(why, error!.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("[\"1\"]\n[\"2\"]\n", 2)]
    [InlineData("[ [\"1\"],\n[\"2\"]]", 2)]
    [InlineData("{\"result\":[\"1\"]}\n", 1)]
    [InlineData("[]", 1)]
    public static async Task Replies_that_are_lists_are_told_from_an_array(string body, int count)
    {
        Answers answers = new(_ => Streamed(body, isGateway: false, size: 1));
        RpcSchema schema = Watching("tags");
        using RpcClient client = RpcClient.Connect(
            "rest://127.0.0.1:1", schema, new() { Lazy = true, HttpHandler = () => answers });
        List<DynamicMessage> replies = [];

        await foreach (DynamicMessage reply in client.InvokeServerStreamAsync("Watch", new { }))
        {
            replies.Add(reply);
        }

        Assert.Equal(count, replies.Count);
    }

    [Theory]
    [InlineData("{\"a\":\"")]
    [InlineData("[{\"tags\":[\"")]
    [InlineData("\"")]
    [InlineData("[[[[[[[[")]
    public static async Task An_endless_reply_is_refused_at_the_limit(string start)
    {
        byte more = start == "[[[[[[[[" ? (byte)'[' : (byte)'x';
        using EndlessStream streamBody = new(start, more);
        using EndlessStream unaryBody = new(start, more);
        Answers answers = new(request => Of(
            request.RequestUri!.AbsolutePath.Contains("watch", StringComparison.Ordinal)
                ? streamBody
                : unaryBody));
        using RpcClient client = Connect(
            answers, new() { Limits = RpcLimits.Default with { MaxMessageBytes = 1 << 20 } });

        RpcException stream = await Assert.ThrowsAsync<RpcException>(async () =>
        {
            await foreach (DynamicMessage _ in client.InvokeServerStreamAsync("Watch", new { number = 1 }))
            {
            }
        });
        RpcException unary = Assert.Throws<RpcException>(() => client.Invoke("GetShelf", new { name = "x" }));

        Assert.Equal(
            (RpcStatusCode.ResourceExhausted, RpcStatusCode.ResourceExhausted), (stream.Code, unary.Code));
        Assert.InRange(streamBody.Sent, 1, 8 << 20);
        Assert.InRange(unaryBody.Sent, 1, 8 << 20);
    }

    [Fact]
    public static async Task Endless_blanks_end_with_the_deadline()
    {
        using EndlessStream body = new("[", (byte)' ');
        Answers answers = new(_ => Of(body));
        using RpcClient client = Connect(answers);

        RpcException error = await Assert.ThrowsAsync<RpcException>(async () =>
        {
            await foreach (DynamicMessage _ in client.InvokeServerStreamAsync(
                "Watch", new { number = 1 }, new RpcCallOptions { Timeout = TimeSpan.FromMilliseconds(300) }))
            {
            }
        });

        Assert.Equal(RpcStatusCode.DeadlineExceeded, error.Code);
    }

    [Fact]
    public static async Task A_ping_says_that_a_server_is_foreign()
    {
        using RpcClient client = Connect(new Answers(request =>
        {
            HttpResponseMessage answer = Answer(404, Json, """{"code":5,"message":"Not Found"}""");
            answer.Headers.TryAddWithoutValidation("Server", "Gateway/2");
            return answer;
        }));

        RpcPingResult ping = await client.PingAsync();

        Assert.Equal((false, "Gateway/2"), (ping.IsProtoRpc, ping.Product));
    }

    [Fact]
    public static void A_request_has_what_servers_of_REST_read()
    {
        HttpRequestMessage? sent = null;
        Answers answers = new(request =>
        {
            sent = request;
            return Answer(200, Json, "{}");
        });
        using RpcClient client = Connect(answers, new()
        {
            Security = new() { Authentication = RpcClientAuthentication.Bearer, Token = "t0ken" },
        });

        client.Invoke(
            "GetShelf", new { name = "a/b" }, new RpcCallOptions { Timeout = TimeSpan.FromSeconds(50) });

        Assert.Equal("http://127.0.0.1:1/v1/shelves/a%2Fb", sent!.RequestUri!.AbsoluteUri);
        Assert.Equal(HttpMethod.Get, sent.Method);
        Assert.Null(sent.Content);
        Assert.Equal("application/json", sent.Headers.Accept.ToString());
        Assert.Equal("Bearer t0ken", sent.Headers.Authorization!.ToString());
        Assert.EndsWith("u", sent.Headers.GetValues("grpc-timeout").Single(), StringComparison.Ordinal);
    }

    private static RpcException Fail(HttpResponseMessage answer)
    {
        using RpcClient client = Connect(new Answers(_ => answer));
        return Assert.Throws<RpcException>(() => client.Invoke("GetShelf", new { name = "x" }));
    }

    private static RpcClient Connect(Answers answers, RpcClientOptions? options = null) => RpcClient.Connect(
        "rest://127.0.0.1:1", RestProtos.Library, (options ?? new()) with
        {
            Lazy = true,
            Service = "rest.Library",
            HttpHandler = () => answers,
        });

    // A method that streams lists, which no endpoint has as its first binding.
    private static RpcSchema Watching(string replyBody)
    {
        RpcSchema schema = RestProtos.WithRules(
            ("Watcher/Watch", RestProtos.Rule(("get", "/v1/watch"), ("response_body", replyBody))));
        FileDescriptorSet set =
            FileDescriptorSet.Parser.ParseFrom(schema.ToDescriptorSet());
        set.File.Single(file => file.Name == "rest.proto").Service
            .Single(service => service.Name == "Watcher").Method[0].ServerStreaming = true;
        set.File.Single(file => file.Name == "rest.proto").Service
            .Remove(set.File.Single(file => file.Name == "rest.proto").Service
                .Single(service => service.Name == "Library"));
        return RpcSchema.FromDescriptorSet(set.ToByteArray());
    }

    private static async Task<(List<string> Replies, RpcException? Error)> StreamAsync(
        string body, bool isGateway = false, int size = 7)
    {
        using RpcClient client = Connect(new Answers(_ => Streamed(body, isGateway, size)));
        List<string> replies = [];
        try
        {
            await foreach (DynamicMessage reply in client.InvokeServerStreamAsync(
                "Watch", new { number = 1 }))
            {
                replies.Add(MessageFormats.Json.ToText(reply));
            }

            return (replies, null);
        }
        catch (RpcException e)
        {
            return (replies, e);
        }
    }

    private static HttpResponseMessage Streamed(string body, bool isGateway, int size)
    {
        HttpResponseMessage answer = Of(new SlowStream(Encoding.UTF8.GetBytes(body), size));
        if (isGateway)
        {
            answer.Headers.TryAddWithoutValidation("Grpc-Metadata-Content-Type", "application/grpc");
        }

        return answer;
    }

    private static HttpResponseMessage Of(Stream body)
    {
        HttpResponseMessage answer = new(HttpStatusCode.OK) { Content = new StreamContent(body) };
        answer.Content.Headers.ContentType = new MediaTypeHeaderValue(Json);
        return answer;
    }

    private static HttpResponseMessage Answer(int status, string type, string body)
    {
        HttpResponseMessage answer = new((HttpStatusCode)status)
        {
            Content = new ByteArrayContent(Encoding.UTF8.GetBytes(body)),
        };
        if (type.Length > 0)
        {
            answer.Content.Headers.ContentType = MediaTypeHeaderValue.Parse(type);
        }

        return answer;
    }

    private sealed class Answers(Func<HttpRequestMessage, HttpResponseMessage> make) : HttpMessageHandler
    {
        protected override Task<HttpResponseMessage> SendAsync(
            HttpRequestMessage request, CancellationToken cancellationToken) =>
            Task.FromResult(make(request));
    }

    /// <summary>Some bytes in each read.</summary>
    private sealed class SlowStream(byte[] bytes, int size) : MemoryStream(bytes)
    {
        public override ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken) =>
            base.ReadAsync(buffer[..Math.Min(size, buffer.Length)], cancellationToken);
    }

    /// <summary>A beginning, and then one byte for ever.</summary>
    private sealed class EndlessStream(string start, byte more) : Stream
    {
        public long Sent { get; private set; }

        public override bool CanRead => true;

        public override bool CanSeek => false;

        public override bool CanWrite => false;

        public override long Length => throw new NotSupportedException();

        public override long Position
        {
            get => Sent;
            set => throw new NotSupportedException();
        }

        public override int Read(Span<byte> buffer)
        {
            buffer.Fill(more);
            if (Sent == 0)
            {
                Encoding.UTF8.GetBytes(start, buffer);
            }

            Sent += buffer.Length;
            return buffer.Length;
        }

        public override async ValueTask<int> ReadAsync(
            Memory<byte> buffer, CancellationToken cancellationToken)
        {
            await Task.Yield();
            cancellationToken.ThrowIfCancellationRequested();
            return Read(buffer.Span);
        }

        public override int Read(byte[] buffer, int offset, int count) => Read(buffer.AsSpan(offset, count));

        public override void Flush()
        {
        }

        public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

        public override void SetLength(long value) => throw new NotSupportedException();

        public override void Write(byte[] buffer, int offset, int count) => throw new NotSupportedException();
    }
}

using System.Collections.Concurrent;
using System.Net;

namespace ProtoRpc.Http.Tests.Rest;

/// <summary>HTTP rules before all that handles methods: generated classes, canned replies, gateways,
/// mocks.</summary>
public static class RestHandlersTests
{
    [Theory]
    [InlineData("grpc://127.0.0.1:0")]
    [InlineData("http://127.0.0.1:0/")]
    [InlineData("ncacn_ip_tcp:127.0.0.1[0]")]
    public static async Task A_gateway_serves_the_rules_of_the_server_behind_it(string back)
    {
        using RpcServer server = RestServer.Handle(RpcServer.Create(
                RestProtos.Library, "rest.Library", new RpcServerOptions().WithHttp()))
            .AddEndpoint(back)
            .StartListening();
        using RpcClient client = RpcClient.Connect(
            server.Endpoints[0], RestProtos.Library, new RpcClientOptions { Service = "rest.Library" });
        using RpcServer gateway = RpcServer.Create(
                RestProtos.Library, "rest.Library", new RpcServerOptions().WithHttp())
            .Forward(client, "rest.Library")
            .AddEndpoint("http://127.0.0.1:0/")
            .StartListening();
        using HttpClient http = Client(gateway);

        Assert.Equal(
            """{"method":"GetShelf","request":{"name":"a/b","number":5}}""",
            (await http.GetStringAsync("/v1/shelves/a%2Fb?number=5")).Replace(": ", ":"));
        Assert.Equal("""["x"]""", await http.GetStringAsync("/v1/tags?tags=x"));
        Assert.Equal("hello", await http.GetStringAsync("/v1/download/hello"));
        Assert.Equal(HttpStatusCode.NotFound, (await http.GetAsync("/v1/fail/5")).StatusCode);
        if (!back.StartsWith("ncacn", StringComparison.Ordinal))
        {
            Assert.Equal(
                "{\"tags\":[\"1\"]}\n{\"tags\":[\"2\"]}\n", await http.GetStringAsync("/v1/watch/2"));
            Assert.Equal("1;2;", await http.GetStringAsync("/v1/parts/2"));
        }
    }

    [Fact]
    public static async Task Canned_replies_and_mocks_answer_by_rules()
    {
        using RpcServer server = RpcServer.Create(
                RestProtos.Library, "rest.Library", new RpcServerOptions().WithHttp())
            .Handle("GetShelf", RpcMethodHandler.OfReplies(new { method = "canned" }))
            .Handle("Watch", RpcMethodHandler.OfReplies(new { tags = new[] { "1" } }, new { }))
            .AddEndpoint("http://127.0.0.1:0/")
            .StartListening();
        using HttpClient http = Client(server);

        Assert.Equal("""{"method":"canned"}""", await http.GetStringAsync("/v1/shelves/x"));
        Assert.Equal("{\"tags\":[\"1\"]}\n{}\n", await http.GetStringAsync("/v1/watch/9"));
        Assert.Equal(HttpStatusCode.NotImplemented, (await http.GetAsync("/v1/shelves")).StatusCode);
    }

    [Fact]
    public static async Task Wrong_rules_are_warnings_of_the_listener_and_the_others_are_served()
    {
        ConcurrentQueue<string> warnings = new();
        RpcSchema schema = RestProtos.WithRules(
            ("Users/Get", RestProtos.Rule(("get", "/v1/users/{name}"))),
            ("Users/Find", RestProtos.Rule(("get", "/v1/users/{page_token}"))),
            ("Users/Bad", RestProtos.Rule(("get", "/v1/{name"))));
        using RpcServer server = RpcServer.Create(
                schema, "rest.Users",
                new RpcServerOptions { Warned = warnings.Enqueue }.WithHttp())
            .HandleAll((context, _) => ValueTask.FromResult<Google.Protobuf.IMessage>(
                MessageFormats.Json.Read(
                    context.Method.ReplyType, $$"""{"method":"{{context.Method.Name}}"}""")))
            .AddEndpoint("http://127.0.0.1:0/")
            .AddEndpoint("http://127.0.0.1:0/")
            .StartListening();
        using HttpClient http = Client(server);

        Assert.Equal("""{"method":"Get"}""", await http.GetStringAsync("/v1/users/x"));
        Assert.Equal(2, warnings.Count);
        Assert.Contains(
            warnings, text => text.Contains("rest.Users/Find") && text.Contains("rest.Users/Get"));
        Assert.Contains(
            warnings, text => text.Contains("'GET /v1/{name'") && text.Contains("rest.Users/Bad"));
    }

    [Fact]
    public static async Task Pages_send_no_GET_to_a_rule_for_all_methods()
    {
        using RpcServer server = RpcServer.Create(
                RestProtos.WithRules(("Users/Any", RestProtos.Rule(("any", "/v1/{name}")))),
                "rest.Users", new RpcServerOptions().WithHttp())
            .Handle("Any", RpcMethodHandler.OfReplies(new { method = "any" }))
            .AddEndpoint("http://127.0.0.1:0/")
            .StartListening();
        using HttpClient http = Client(server);

        Assert.Equal(HttpStatusCode.OK, (await http.GetAsync("/v1/x")).StatusCode);
        http.DefaultRequestHeaders.Add("Sec-Fetch-Site", "none");
        using HttpResponseMessage refused = await http.GetAsync("/v1/x");
        Assert.Equal(HttpStatusCode.MethodNotAllowed, refused.StatusCode);
        Assert.Equal(
            "POST, PUT, DELETE, PATCH, OPTIONS", string.Join(", ", refused.Content.Headers.Allow));
        Assert.Equal(HttpStatusCode.OK, (await http.PostAsync("/v1/x", null)).StatusCode);
    }

    private static HttpClient Client(RpcServer server) => new(new SocketsHttpHandler { UseProxy = false })
    {
        BaseAddress = new Uri(server.Endpoints[0].Uri),
    };
}

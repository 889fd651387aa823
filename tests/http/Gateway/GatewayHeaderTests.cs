namespace ProtoRpc.Http.Tests.Gateway;

/// <summary>Which headers pass a gateway.</summary>
public static class GatewayHeaderTests
{
    [Theory]
    [InlineData("x-tenant", true)]
    [InlineData("traceparent", true)]
    [InlineData("authorization", false)]
    [InlineData("Authorization", false)]
    [InlineData("cookie", false)]
    [InlineData("x-api-key", false)]
    [InlineData("x-forwarded-for", false)]
    [InlineData("forwarded", false)]
    [InlineData("sec-gpc", false)]
    public static async Task Pass_unless_they_are_the_callers_own(string name, bool passes)
    {
        Assert.Equal(passes ? "secret" : null, await PassedAsync(name, new()));
        Assert.Equal("secret", await PassedAsync(name, new() { ForwardHeaders = [name] }));
        Assert.Null(await PassedAsync(name, new() { ForwardHeaders = [name], BlockHeaders = [name] }));
    }

    // A client adds itself to what passes.
    [Fact]
    public static async Task The_name_of_the_callers_program_does_not_pass()
    {
        string? own = await PassedAsync("user-agent", new());

        Assert.StartsWith("protorpc/", own, StringComparison.Ordinal);
        Assert.Equal(
            $"secret {own}", await PassedAsync("user-agent", new() { ForwardHeaders = ["user-agent"] }));
    }

    [Fact]
    public static async Task Patterns_name_several()
    {
        RpcGatewayOptions options = new()
        {
            ForwardHeaders = ["x-forwarded-*"],
            BlockHeaders = ["x-internal-?"],
        };

        Assert.Equal("secret", await PassedAsync("x-forwarded-proto", options));
        Assert.Null(await PassedAsync("x-internal-a", options));
        Assert.Equal("secret", await PassedAsync("x-internal-ab", options));
    }

    [Theory]
    [InlineData("accept-language")]
    [InlineData("content-language")]
    [InlineData("expect")]
    [InlineData("protorpc-hops")]
    [InlineData("proxy-authorization")]
    public static async Task Of_the_connection_never_pass(string name)
    {
        Assert.NotEqual("2", await PassedAsync(name, new() { ForwardHeaders = [name] }, value: "2"));
    }

    [Fact]
    public static async Task Count_the_gateways()
    {
        Assert.Equal("1", await PassedAsync("protorpc-hops", new(), sends: false));
    }

    [Fact]
    public static async Task That_another_protocol_does_not_have_are_left_out()
    {
        using GatewayChain chain = new(GatewayChain.Http, GatewayChain.Tcp);
        using HttpClient http = new();
        using HttpRequestMessage request = new(
            HttpMethod.Post, new Uri($"{chain.Gateway.Endpoints[0]}streams.Words/Say"))
        {
            Content = new StringContent("{\"text\":\"hi\"}", null, "application/json"),
        };
        request.Headers.TryAddWithoutValidation("x-odd!name", "1");
        request.Headers.TryAddWithoutValidation("x-tenant", "a");

        using HttpResponseMessage response = await http.SendAsync(request);

        Assert.Contains("hi", await response.Content.ReadAsStringAsync(), StringComparison.Ordinal);
    }

    [Fact]
    public static async Task Of_the_reply_do_not_bring_the_servers_cookies_and_cache_rules()
    {
        using RpcServer server = Words((context, request) =>
        {
            context.ReplyHeaders.Add("set-cookie", "a=b");
            context.ReplyHeaders.Add("access-control-allow-origin", "*");
            context.ReplyHeaders.Add("x-mine", "1");
            return request;
        });
        using RpcClient client = RpcClient.Connect(server.Endpoints[0], WordsServer.Schema);
        using RpcServer gateway = RpcGateway.Create(client, serverOptions: new RpcServerOptions().WithHttp())
            .AddEndpoint(GatewayChain.Http).StartListening();
        using HttpClient http = new();
        using StringContent content = new("{}", null, "application/json");

        using HttpResponseMessage response = await http.PostAsync(
            new Uri($"{gateway.Endpoints[0]}streams.Words/Say"), content);

        Assert.Equal("1", response.Headers.GetValues("x-mine").Single());
        Assert.False(response.Headers.Contains("set-cookie"));
        Assert.False(response.Headers.Contains("access-control-allow-origin"));
    }

    private static RpcServer Words(
        Func<RpcServerCallContext, Google.Protobuf.IMessage, Google.Protobuf.IMessage> say) =>
        RpcServer.Create(WordsServer.Schema, "streams.Words", new RpcServerOptions().WithHttp())
            .Handle("Say", (context, request) => ValueTask.FromResult(say(context, request)))
            .AddEndpoint(GatewayChain.Http)
            .StartListening();

    private static async Task<string?> PassedAsync(
        string name, RpcGatewayOptions options, string value = "secret", bool sends = true)
    {
        string? came = null;
        using RpcServer server = Words((context, request) =>
        {
            came = context.RequestHeaders.GetText(name);
            return request;
        });
        using RpcClient client = RpcClient.Connect(server.Endpoints[0], WordsServer.Schema);
        using RpcServer gateway = RpcGateway.Create(
                client, options, new RpcServerOptions { EnableSessions = false }.WithHttp())
            .AddEndpoint("ncacn_ip_tcp:127.0.0.1[0]").StartListening();
        using RpcClient caller = RpcClient.Connect(
            gateway.Endpoints[0], WordsServer.Schema, new() { Service = "streams.Words" });
        RpcMetadata headers = new();
        if (sends)
        {
            headers.Add(name, value);
        }

        await caller.InvokeAsync("Say", WordsServer.Text("x"), new() { Headers = headers });
        return came;
    }
}

using System.Net;
using Google.Protobuf;

namespace ProtoRpc.Http.Tests;

/// <summary>Which methods are called by GET, which a link or an image of any page can send.</summary>
public static class GetTests
{
    private const string AnyAddress = "http://0.0.0.0:0/";
    private const string Loopback = "http://127.0.0.1:0/";
    private const string Connect = "?connect=v1&encoding=json&message=%7B%7D";

    [Theory]
    [InlineData(AnyAddress, false, "Buy", "?name=x", false)]
    [InlineData(AnyAddress, false, "Buy", Connect, false)]
    [InlineData(AnyAddress, false, "Look", "?name=x", true)]
    [InlineData(AnyAddress, false, "Look", Connect, true)]
    [InlineData(AnyAddress, true, "Buy", "?name=x", true)]
    [InlineData(AnyAddress, true, "Buy", Connect, true)]
    [InlineData(Loopback, false, "Buy", "?name=x", true)]
    [InlineData(Loopback, false, "Buy", Connect, true)]
    public static async Task Off_loopback_only_what_changes_nothing_or_the_listener_allows(
        string endpoint, bool allowGet, string method, string query, bool isCalled)
    {
        using RpcServer server = Start(endpoint, allowGet);
        using HttpClient http = Client(server);

        foreach (string path in new[] { "shop.Shop", "shop.proto" })
        {
            foreach (HttpMethod verb in new[] { HttpMethod.Get, HttpMethod.Head })
            {
                using HttpResponseMessage response = await http.SendAsync(
                    new HttpRequestMessage(verb, $"{path}/{method}{query}"));

                Assert.Equal(
                    isCalled ? HttpStatusCode.OK : HttpStatusCode.MethodNotAllowed, response.StatusCode);
                if (!isCalled)
                {
                    Assert.Equal("POST, OPTIONS", string.Join(", ", response.Content.Headers.Allow));
                }
            }
        }

        server.RequireCounts(counts => counts.Calls == (isCalled ? 4 : 0));
    }

    [Theory]
    [InlineData("Sec-Fetch-Site", "none", false)]
    [InlineData("Sec-Fetch-Site", "same-origin", false)]
    [InlineData("sec-fetch-mode", "no-cors", false)]
    [InlineData("Origin", "OWN", false)]
    [InlineData("Referer", "http://evil.example/page", false)]
    [InlineData("Referer", "https://OWN-HOST/", false)]
    [InlineData("Referer", "page", false)]
    [InlineData("Referer", "OWN/page?x=y", true)]
    [InlineData("User-Agent", "curl/8", true)]
    public static async Task On_loopback_a_browser_calls_by_GET_only_what_changes_nothing(
        string name, string value, bool isCalled)
    {
        using RpcServer server = Start(Loopback, allowGet: false);
        using HttpClient http = Client(server);
        string host = $"127.0.0.1:{server.Endpoints[0].Port}";
        string sent = value.Replace("OWN-HOST", host, StringComparison.Ordinal)
            .Replace("OWN", $"http://{host}", StringComparison.Ordinal);

        foreach (string query in new[] { "?name=x", Connect })
        {
            Assert.Equal(
                isCalled ? HttpStatusCode.OK : HttpStatusCode.MethodNotAllowed,
                await GetAsync("Buy" + query));
            Assert.Equal(HttpStatusCode.OK, await GetAsync("Look" + query));
        }

        async Task<HttpStatusCode> GetAsync(string path)
        {
            using HttpRequestMessage request = new(HttpMethod.Get, $"shop.Shop/{path}");
            request.Headers.TryAddWithoutValidation(name, sent);
            using HttpResponseMessage response = await http.SendAsync(request);
            return response.StatusCode;
        }
    }

    [Fact]
    public static async Task A_refusal_names_the_method_and_what_to_do_and_POST_still_calls()
    {
        using RpcServer server = Start(AnyAddress, allowGet: false);
        using HttpClient http = Client(server);

        string refused = await (await http.GetAsync(new Uri("shop.Shop/Buy?name=x", UriKind.Relative)))
            .Content.ReadAsStringAsync();
        using HttpResponseMessage posted = await http.PostAsync(
            new Uri("shop.Shop/Buy", UriKind.Relative),
            new StringContent("{}", mediaType: new("application/json")));
        using HttpResponseMessage asked = await http.SendAsync(new(HttpMethod.Options, "shop.Shop/Look"));
        using HttpResponseMessage page = await http.GetAsync(new Uri("shop.proto", UriKind.Relative));

        Assert.Contains("'shop.Shop/Buy'", refused, StringComparison.Ordinal);
        Assert.Contains("NO_SIDE_EFFECTS", refused, StringComparison.Ordinal);
        Assert.Contains("AllowGet", refused, StringComparison.Ordinal);
        Assert.Equal(HttpStatusCode.OK, posted.StatusCode);
        Assert.Equal("GET, HEAD, POST, OPTIONS", string.Join(", ", asked.Content.Headers.Allow));
        Assert.Equal(HttpStatusCode.OK, page.StatusCode);
    }

    private static RpcServer Start(string endpoint, bool allowGet)
    {
        RpcSchema schema = RpcSchema.Load([Path.Combine(AppContext.BaseDirectory, "protos", "shop.proto")]);
        HttpServerOptions options = new() { AllowUnencrypted = true, AllowGet = allowGet };
        return RpcServer.Create(schema, null, new RpcServerOptions().WithHttp(options))
            .Handle("Look", (_, request) => ValueTask.FromResult<IMessage>(request))
            .Handle("Buy", (_, request) => ValueTask.FromResult<IMessage>(request))
            .AddEndpoint(endpoint)
            .StartListening();
    }

    private static HttpClient Client(RpcServer server) => new(new SocketsHttpHandler { UseProxy = false })
    {
        BaseAddress = new Uri($"http://127.0.0.1:{server.Endpoints[0].Port}/"),
    };
}

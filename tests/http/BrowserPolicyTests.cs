using System.Net;
using System.Security.Cryptography.X509Certificates;
using System.Security.Principal;
using Google.Protobuf;

namespace ProtoRpc.Http.Tests;

public static class BrowserPolicyTests
{
    private const string Search = "/ProtoService.SearchService/Search?query=x";

    private static readonly HttpServerOptions Allowing = new()
    {
        AllowedOrigins = ["https://app.example.com"],
        AllowGet = true,
    };

    [Fact]
    public static async Task A_page_of_somewhere_else_may_not_call()
    {
        using SearchServer server = new();

        (HttpStatusCode byOrigin, _, _) = await server.GetAsync(Search, ("Origin", "https://evil.example"));
        (HttpStatusCode bySite, _, _) = await server.GetAsync(Search, ("Sec-Fetch-Site", "cross-site"));

        Assert.Equal(HttpStatusCode.Forbidden, byOrigin);
        Assert.Equal(HttpStatusCode.Forbidden, bySite);
        Assert.Equal(0, server.Server.Counters.Calls);
    }

    [Fact]
    public static async Task A_foreign_name_for_this_machine_makes_no_page_of_ours()
    {
        using SearchServer server = new();

        (HttpStatusCode status, _, _) = await server.GetAsync(
            Search, ("Host", "evil.example"), ("Sec-Fetch-Site", "same-origin"));

        Assert.Equal(HttpStatusCode.Forbidden, status);
    }

    [Fact]
    public static async Task Our_own_page_and_the_user_himself_may_call()
    {
        using SearchServer server = new(new() { AllowGet = true });

        (HttpStatusCode page, _, _) = await server.GetAsync(
            Search,
            ("Origin", $"http://127.0.0.1:{server.Endpoint.Port}"),
            ("Sec-Fetch-Site", "same-origin"));
        (HttpStatusCode user, _, _) = await server.GetAsync(Search, ("Sec-Fetch-Site", "none"));

        Assert.Equal(HttpStatusCode.OK, page);
        Assert.Equal(HttpStatusCode.OK, user);
    }

    [Fact]
    public static async Task A_page_of_the_list_may_ask_and_call()
    {
        using SearchServer server = new(Allowing);
        using HttpRequestMessage ask = new(HttpMethod.Options, Search);
        ask.Headers.Add("Origin", "https://app.example.com");
        ask.Headers.Add("Access-Control-Request-Method", "POST");

        using HttpResponseMessage asked = await server.Http.SendAsync(ask);
        (HttpStatusCode called, _, _) = await server.GetAsync(Search, ("Origin", "https://app.example.com"));
        (HttpStatusCode other, _, _) = await server.GetAsync(
            Search, ("Origin", "https://app.example.com.evil.example"));

        Assert.Equal(HttpStatusCode.NoContent, asked.StatusCode);
        Assert.Equal(
            "https://app.example.com", asked.Headers.GetValues("Access-Control-Allow-Origin").Single());
        Assert.Contains(
            "POST",
            asked.Headers.GetValues("Access-Control-Allow-Methods").Single(),
            StringComparison.Ordinal);
        Assert.Equal(HttpStatusCode.OK, called);
        Assert.Equal(HttpStatusCode.Forbidden, other);
    }

    [Theory]
    [InlineData("https://app.example.com", false, "x-team, x-trace", "x-team", "x-trace", "Authorization")]
    [InlineData("*", false, "x-team", "x-team", "Authorization")]
    [InlineData("https://app.example.com", true, "x-team", "x-team", "Authorization")]
    [InlineData("*", true, "x-team, authorization")]
    [InlineData("https://app.example.com", false, "x-team, not a token", "Authorization")]
    [InlineData("https://app.example.com", false, "", "Authorization")]
    public static async Task A_page_may_send_the_headers_that_it_asks_for(
        string allowed, bool hasPasswords, string asked, params string[] wanted)
    {
        HttpServerSecurity security =
            hasPasswords ? new() { Basic = (_, _) => new((IIdentity?)null) } : new();
        using SearchServer server =
            new(new HttpServerOptions { AllowedOrigins = [allowed], Security = security });

        string[] names = await AskAsync(server, asked);

        Assert.Equal(wanted.Order(), names.Except(Always).Order());
        Assert.Empty(Always.Except(names));
    }

    [Fact]
    public static async Task Pages_of_any_origin_may_not_send_headers_where_certificates_identify_callers()
    {
        using X509Certificate2 own = TestCertificate.Create("CN=localhost", "127.0.0.1");
        using SearchServer server = new(
            new HttpServerOptions
            {
                AllowedOrigins = ["*"],
                Security = new() { ClientCaCertificates = [own], AllowAnonymous = true },
            },
            new() { Certificate = own },
            "https://127.0.0.1:0/");

        Assert.Empty((await AskAsync(server, "x-team, authorization")).Except(Always));
    }

    [Theory]
    [InlineData(101, 5)]
    [InlineData(10, 500)]
    public static async Task A_page_that_asks_for_many_headers_gets_none_of_them(int count, int length)
    {
        using SearchServer server = new(Allowing);
        IEnumerable<string> names =
            Enumerable.Range(0, count).Select(n => $"x{n}".PadRight(length, 'y'));

        Assert.Equal(
            ["Authorization"], (await AskAsync(server, string.Join(", ", names))).Except(Always));
    }

    [Fact]
    public static async Task A_page_reads_the_headers_and_trailers_of_a_handler()
    {
        using RpcServer server = RpcServer.Create(
                SearchServer.Schema, null, new RpcServerOptions().WithHttp(Allowing))
            .Handle("Search", (context, _) =>
            {
                context.ReplyHeaders.Add("x-page", "1");
                context.ReplyTrailers.Add("x-sum", "2");
                return ValueTask.FromResult<IMessage>(SearchServer.Found("http://example.com/"));
            })
            .AddEndpoint("http://127.0.0.1:0/")
            .StartListening();
        using HttpClient http = new() { BaseAddress = new Uri(server.Endpoints[0].Uri) };
        using HttpRequestMessage request = new(HttpMethod.Get, Search);
        request.Headers.Add("Origin", "https://app.example.com");

        using HttpResponseMessage response = await http.SendAsync(request);

        string[] exposed = response.Headers.GetValues("Access-Control-Expose-Headers").Single().Split(", ");
        Assert.Contains("x-page", exposed);
        Assert.Contains("Trailer-x-sum", exposed, StringComparer.OrdinalIgnoreCase);
        Assert.DoesNotContain("Content-Type", exposed);
    }

    private static readonly string[] Always =
    [
        "Content-Type", "Content-Encoding", "Accept", "Rpc-Call-Context", "Connect-Timeout-Ms",
        "Connect-Protocol-Version", "Connect-Content-Encoding", "Connect-Accept-Encoding",
        "X-Grpc-Web", "X-User-Agent", "Grpc-Timeout",
    ];

    private static async Task<string[]> AskAsync(SearchServer server, string headers)
    {
        using HttpRequestMessage ask = new(HttpMethod.Options, Search);
        ask.Headers.Add("Origin", "https://app.example.com");
        ask.Headers.Add("Access-Control-Request-Method", "POST");
        ask.Headers.TryAddWithoutValidation("Access-Control-Request-Headers", headers);
        using HttpResponseMessage asked = await server.Http.SendAsync(ask);
        Assert.Equal(HttpStatusCode.NoContent, asked.StatusCode);
        return asked.Headers.GetValues("Access-Control-Allow-Headers").Single().Split(", ");
    }
}

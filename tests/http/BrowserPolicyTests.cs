using System.Net;

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
}

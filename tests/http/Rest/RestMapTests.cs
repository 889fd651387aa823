using System.Net;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Routing;
using Microsoft.Extensions.Logging;

namespace ProtoRpc.Http.Tests.Rest;

/// <summary>Paths of google.api.http on the endpoints of an application.</summary>
public static class RestMapTests
{
    [Theory]
    [InlineData("GET", "/v1/shelves/a%2Fb", HttpStatusCode.OK, "\"a/b\"")]
    [InlineData("GET", "/v1/shelves/a%252Fb", HttpStatusCode.OK, "\"a%2Fb\"")]
    [InlineData("GET", "/v1/shelves/mine", HttpStatusCode.OK, "GetMine")]
    [InlineData("DELETE", "/v1/shelves/mine", HttpStatusCode.OK, "DeleteShelf")]
    [InlineData("POST", "/v1/shelves/1/books/2:archive", HttpStatusCode.OK, "ArchiveBook")]
    [InlineData("GET", "/v1/files/a/b/stat", HttpStatusCode.OK, "StatFile")]
    [InlineData("POST", "/v1/files/a/b:undelete", HttpStatusCode.OK, "Undelete")]
    [InlineData("PURGE", "/v1/cache/x", HttpStatusCode.OK, "Purge")]
    [InlineData("GET", "/", HttpStatusCode.OK, "Root")]
    [InlineData("PUT", "/v1/shelves/a", HttpStatusCode.MethodNotAllowed, "DELETE, GET, HEAD, OPTIONS")]
    [InlineData("POST", "/v1/shelves/own", HttpStatusCode.OK, "the application")]
    [InlineData("GET", "/v1/shelves/own", HttpStatusCode.OK, "GetShelf")]
    [InlineData("GET", "/v1/nothing", HttpStatusCode.NotFound, "")]
    [InlineData("GET", "/rest.Library/GetShelf?name=x", HttpStatusCode.OK, "GetShelf")]
    public static async Task Rules_are_routes_of_the_application(
        string method, string target, HttpStatusCode expected, string part)
    {
        await using WebApplication app = await StartAsync(app =>
        {
            app.MapProtoRpc(Server());
            app.MapPost("/v1/shelves/own", () => "the application");
        });

        (HttpStatusCode status, string text) = await SendAsync(app, method, target);

        Assert.Equal(expected, status);
        Assert.Contains(part, text, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("/api/v1/shelves/a%2Fb", "\"a/b\"")]
    [InlineData("/api/v1/files/a/b%2Fc/stat", "\"files/a/b%2Fc\"")]
    [InlineData("/t/one/v1/shelves/1/books/a%20b", "\"shelves/1/books/a b\"")]
    [InlineData("/under/api/v1/shelves/a%2Fb", "\"a/b\"")]
    public static async Task A_group_and_a_base_put_a_prefix_before_the_rules(string target, string part)
    {
        await using WebApplication app = await StartAsync(app =>
        {
            app.UsePathBase("/under");
            app.UseRouting();
            app.MapGroup("/api").MapProtoRpc(Server());
            app.MapGroup("/t/{tenant}").MapProtoRpc(Server());
        });

        (HttpStatusCode status, string text) = await SendAsync(app, "GET", target);

        Assert.Equal(HttpStatusCode.OK, status);
        Assert.Contains(part, text, StringComparison.Ordinal);
        Assert.Equal(HttpStatusCode.NotFound, (await SendAsync(app, "GET", "/v1/shelves/a")).Status);
    }

    [Fact]
    public static async Task A_path_that_middleware_replaced_is_the_one_that_counts()
    {
        await using WebApplication app = await StartAsync(app =>
        {
            app.Use((http, next) =>
            {
                http.Request.Path = "/v1/shelves/a%2Fb 100%";
                return next(http);
            });
            app.UseRouting();
            app.MapProtoRpc(Server());
        });

        (_, string text) = await SendAsync(app, "GET", "/v1/shelves/evil%2Fx");

        Assert.Contains("\"a/b 100%\"", text, StringComparison.Ordinal);
    }

    private static RpcServer Server() =>
        RestServer.Handle(RpcServer.Create(RestProtos.Library, "rest.Library"));

    private static async Task<WebApplication> StartAsync(Action<WebApplication> map)
    {
        WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.UseUrls("http://127.0.0.1:0");
        WebApplication app = builder.Build();
        map(app);
        await app.StartAsync();
        return app;
    }

    private static async Task<(HttpStatusCode Status, string Text)> SendAsync(
        WebApplication app, string method, string target)
    {
        using HttpClient http = new(new SocketsHttpHandler { UseProxy = false })
        {
            BaseAddress = new Uri(app.Urls.First()),
        };
        using HttpResponseMessage answer = await http.SendAsync(new(new HttpMethod(method), target));
        return (answer.StatusCode, await answer.Content.ReadAsStringAsync());
    }
}

using System.Collections.Concurrent;
using System.Net;
using System.Text;
using Google.Protobuf.WellKnownTypes;
using Microsoft.AspNetCore.Authentication;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Routing;
using Microsoft.Extensions.DependencyInjection;
using Shop;

namespace ProtoRpc.Http.Tests.Hosting;

/// <summary>HTTP and gRPC on the endpoints of an application, behind its middleware.</summary>
public static class MapTests
{
    private const string Place = "/shop.Orders/Place";
    private const string Order = """{"order":{"id":"a","items":["x","y"]}}""";

    private static RpcSchema Schema { get; } = RpcSchema.FromDescriptors(OrdersReflection.Descriptor);

    [Fact]
    public static async Task Http_and_grpc_share_the_endpoints_of_the_application()
    {
        await using HostedApp app = await HostedApp.StartAsync(null, map => map.MapProtoRpc());
        await using RpcClient grpc = await RpcClient.ConnectAsync(RpcEndpoint.Parse(app.Grpc));
        await grpc.FetchSchemaAsync();

        (HttpStatusCode status, string text) = await PostAsync(app, Place);
        (_, string file) = await GetAsync(app, $"/{Schema.RootFiles[0]}");
        (HttpStatusCode byFile, _) = await PostAsync(app, $"/{Schema.RootFiles[0]}/Place");
        (_, string page) = await GetAsync(app, "/");
        List<OrderEvent> watched = await grpc.InvokeServerStreamAsync<OrderEvent>(
            "shop.Orders/Watch", new WatchRequest { Id = "w" }).ToListAsync();
        RpcException missing = await Assert.ThrowsAsync<RpcException>(() => RpcClient.Connect(
            RpcEndpoint.Parse(app.Grpc), SearchServer.Schema).InvokeAsync("Search", new { query = "x" }));

        Assert.Equal(HttpStatusCode.OK, status);
        Assert.Equal("""{"id":"a  Place","total":2}""", text.Replace(": ", ":").Replace(", ", ","));
        Assert.Contains("service Orders", file);
        Assert.Equal(HttpStatusCode.OK, byFile);
        Assert.Contains("data-path=\"/shop.Orders/Place\"", page);
        Assert.Equal([1, 2, 3], watched.Select(e => e.Number));
        Assert.Equal(RpcStatusCode.Unimplemented, missing.Code);
    }

    [Theory]
    [InlineData("/shop.Orders/Place", "/rpc/shop.Orders/Place")]
    [InlineData("/SHOP.orders/place/", "/rpc/shop.Orders/Place")]
    [InlineData("/shop.Orders/Nothing", "/rpc/shop.Orders/{**protorpc-method}")]
    public static async Task The_route_of_a_request_is_that_of_its_method(string path, string route)
    {
        ConcurrentQueue<string?> routes = [];
        await using HostedApp app = await HostedApp.StartAsync(
            null, map =>
            {
                map.Use(async (http, next) =>
                {
                    await next(http);
                    routes.Enqueue(((RouteEndpoint?)http.GetEndpoint())?.RoutePattern.RawText);
                });
                map.MapGroup("/rpc").MapProtoRpc();
                map.MapPost("/rpc/shop.Orders/Watch", () => "the application");
            });

        await PostAsync(app, "/rpc" + path);
        (_, string own) = await PostAsync(app, "/rpc/shop.Orders/Watch");

        // A client has the reply before the middleware has ended.
        await app.Application.StopAsync();
        Assert.Equal([route, "/rpc/shop.Orders/Watch"], routes);
        Assert.Equal("the application", own);
    }

    [Fact]
    public static async Task A_group_of_routes_puts_a_prefix_before_all()
    {
        await using HostedApp app = await HostedApp.StartAsync(
            null, map =>
            {
                map.MapGroup("/rpc").MapProtoRpc();
                map.MapGroup("/v2/{tenant}").MapProtoRpc();
                map.MapGet("/", () => "the application");
            });

        Assert.Equal(HttpStatusCode.OK, (await PostAsync(app, "/rpc" + Place)).Status);
        Assert.Equal(HttpStatusCode.OK, (await PostAsync(app, "/v2/x" + Place)).Status);
        Assert.Equal(HttpStatusCode.NotFound, (await PostAsync(app, Place)).Status);
        Assert.Contains("data-path=\"/rpc/shop.Orders/Place\"", (await GetAsync(app, "/rpc")).Text);
        Assert.Contains("data-path=\"/v2/y/shop.Orders/Place\"", (await GetAsync(app, "/v2/y/")).Text);
        Assert.Equal("the application", (await GetAsync(app, "/")).Text);
        Assert.Contains(
            "Method 'shop.Orders.Nope' not found", (await PostAsync(app, "/rpc/shop.Orders/Nope")).Text);
    }

    [Fact]
    public static async Task The_applications_own_routes_come_first_and_others_stay_its_own()
    {
        await using HostedApp app = await HostedApp.StartAsync(
            null, map =>
            {
                map.MapProtoRpc();
                map.MapGet("/", () => "the application");
                map.MapFallback(() => "elsewhere");
            });

        Assert.Equal("the application", (await GetAsync(app, "/")).Text);
        Assert.Equal("elsewhere", (await GetAsync(app, "/nothing")).Text);
        Assert.Equal(HttpStatusCode.OK, (await PostAsync(app, Place)).Status);
    }

    [Fact]
    public static async Task Middleware_shares_the_scope_of_the_call()
    {
        await using HostedApp app = await HostedApp.StartAsync(
            null, map =>
            {
                map.Use(async (http, next) =>
                {
                    http.RequestServices.GetRequiredService<CallNotes>().Lines.Add("middleware");
                    await next(http);
                });
                map.MapProtoRpc();
            });

        Assert.Contains("a  middleware,Place", (await PostAsync(app, Place)).Text);
    }

    [Theory]
    [InlineData("Host", "evil.example")]
    [InlineData("Origin", "http://evil.example")]
    [InlineData("Sec-Fetch-Site", "cross-site")]
    public static async Task Foreign_names_and_pages_are_refused_by_default(string header, string value)
    {
        await using HostedApp app = await HostedApp.StartAsync(null, map => map.MapProtoRpc());

        (HttpStatusCode status, _) = await PostAsync(app, Place, (header, value));

        Assert.Equal(HttpStatusCode.Forbidden, status);
        Assert.Equal(0, app.Server.Counters.Calls);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public static async Task The_cors_policy_of_the_application_lets_pages_call(bool isNamed)
    {
        await using HostedApp app = await HostedApp.StartAsync(
            builder =>
            {
                HostedApp.AddOrders(builder);
                builder.Services.AddCors(cors =>
                {
                    cors.AddPolicy("shop", p => p.WithOrigins("http://shop.example").AllowAnyHeader());
                    cors.AddDefaultPolicy(p => p.WithOrigins(isNamed ? "http://x" : "http://shop.example"));
                });
            },
            map =>
            {
                map.UseCors();
                IEndpointConventionBuilder mapped = map.MapProtoRpc();
                if (isNamed)
                {
                    mapped.RequireCors("shop");
                }
            });

        using HttpResponseMessage shop = await app.Http.SendAsync(
            NewPost(Place, ("Origin", "http://shop.example")));
        (HttpStatusCode evil, _) = await PostAsync(app, Place, ("Origin", "http://evil.example"));

        Assert.Equal(HttpStatusCode.OK, shop.StatusCode);
        Assert.Equal(
            "http://shop.example",
            Assert.Single(shop.Headers.GetValues("Access-Control-Allow-Origin")));
        Assert.Equal(HttpStatusCode.Forbidden, evil);
    }

    [Fact]
    public static async Task The_authentication_of_the_application_says_who_calls()
    {
        await using HostedApp app = await StartWithUsersAsync();
        await using RpcClient grpc = RpcClient.Connect(
            RpcEndpoint.Parse(app.Grpc), Schema, new RpcClientOptions { Lazy = true });
        RpcMetadata token = new();
        token.Add("authorization", "Bearer bob");

        (HttpStatusCode anonymous, _) = await PostAsync(app, Place);
        (_, string ann) = await PostAsync(app, Place, ("Authorization", "Bearer ann"));
        PlaceReply bob = await grpc.InvokeAsync<PlaceReply>(
            "Place", new PlaceRequest { Order = new Order { Id = "b" } },
            new RpcCallOptions { Headers = token });
        RpcException refused = await Assert.ThrowsAsync<RpcException>(
            () => grpc.InvokeAsync<PlaceReply>("Count", new Empty()));

        Assert.Equal(HttpStatusCode.Unauthorized, anonymous);
        Assert.Contains("a ann Place", ann);
        Assert.Equal("b bob Place", bob.Id);
        Assert.Equal(RpcStatusCode.Unauthenticated, refused.Code);
    }

    [Fact]
    public static async Task A_server_that_requires_a_proof_takes_that_of_the_application_and_no_less()
    {
        await using HostedApp app = await HostedApp.StartAsync(
            builder =>
            {
                HostedApp.AddOrders(builder);
                AddUsers(builder);
            },
            map =>
            {
                map.UseAuthentication();
                map.MapProtoRpc();
            },
            ("ProtoRpc:Security:Authentication", "Kerberos"));

        Assert.Equal(HttpStatusCode.Unauthorized, (await PostAsync(app, Place)).Status);
        Assert.Equal(
            HttpStatusCode.OK, (await PostAsync(app, Place, ("Authorization", "Bearer ann"))).Status);
    }

    [Fact]
    public static async Task Requests_are_bounded_as_on_the_servers_own_endpoints()
    {
        await using HostedApp app = await HostedApp.StartAsync(
            null, map => map.MapProtoRpc(), ("ProtoRpc:Limits:MaxMessageBytes", "1000"));
        HttpRequestMessage large = NewPost(Place);
        large.Content = new StringContent(
            Order.Replace("\"a\"", $"\"{new string('x', 2000)}\"", StringComparison.Ordinal),
            Encoding.UTF8, "application/json");

        using HttpResponseMessage answer = await app.Http.SendAsync(large);

        Assert.Equal(HttpStatusCode.RequestEntityTooLarge, answer.StatusCode);
    }

    [Fact]
    public static void Mapping_without_a_server_says_what_is_missing()
    {
        WebApplication application = HostedApp.Build(_ => { });

        InvalidOperationException error = Assert.Throws<InvalidOperationException>(
            () => application.MapProtoRpc());

        Assert.Contains("AddProtoRpc()", error.Message);
    }

    private static Task<HostedApp> StartWithUsersAsync() => HostedApp.StartAsync(
        builder =>
        {
            HostedApp.AddOrders(builder);
            AddUsers(builder);
        },
        map =>
        {
            map.UseAuthentication();
            map.UseAuthorization();
            map.MapProtoRpc().RequireAuthorization();
        });

    private static void AddUsers(WebApplicationBuilder builder)
    {
        builder.Services.AddAuthentication(NamedUser.Name)
            .AddScheme<AuthenticationSchemeOptions, NamedUser>(NamedUser.Name, null);
        builder.Services.AddAuthorization();
    }

    private static HttpRequestMessage NewPost(string path, params (string Name, string Value)[] headers)
    {
        HttpRequestMessage request = new(HttpMethod.Post, path)
        {
            Content = new StringContent(Order, Encoding.UTF8, "application/json"),
        };
        foreach ((string name, string value) in headers)
        {
            request.Headers.TryAddWithoutValidation(name, value);
        }

        return request;
    }

    private static async Task<(HttpStatusCode Status, string Text)> PostAsync(
        HostedApp app, string path, params (string Name, string Value)[] headers)
    {
        using HttpResponseMessage response = await app.Http.SendAsync(NewPost(path, headers));
        return (response.StatusCode, await response.Content.ReadAsStringAsync());
    }

    private static async Task<(HttpStatusCode Status, string Text)> GetAsync(HostedApp app, string path)
    {
        using HttpResponseMessage response = await app.Http.GetAsync(path);
        return (response.StatusCode, await response.Content.ReadAsStringAsync());
    }
}

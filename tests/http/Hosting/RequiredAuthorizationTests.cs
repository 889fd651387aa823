using System.Collections;
using System.Collections.Concurrent;
using System.Security.Principal;
using Microsoft.AspNetCore.Authentication;
using Microsoft.AspNetCore.Authorization;
using Microsoft.AspNetCore.Builder;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Shop;

namespace ProtoRpc.Http.Tests.Hosting;

/// <summary>Applications whose routes require authorization, beside endpoints that the server opens
/// itself.</summary>
public static class RequiredAuthorizationTests
{
    private const string Key = "ProtoRpc:Endpoints:0";
    private const string Explicit = "ProtoRpc:Security:Authentication";
    private const string Tcp = "tcp://127.0.0.1:0";

    public static TheoryData<string, string> Required => new()
    {
        { "routes", Tcp },
        { "routes", "http://127.0.0.1:0/" },
        { "routes", "grpc://127.0.0.1:0" },
        { "group", Tcp },
        { "fallback", Tcp },
        { "requirement", Tcp },
    };

    [Theory]
    [MemberData(nameof(Required))]
    public static async Task The_application_does_not_start_with_an_endpoint_that_is_open_to_all(
        string how, string endpoint)
    {
        RpcException error = await Assert.ThrowsAsync<RpcException>(() => StartAsync(how, (Key, endpoint)));

        Assert.Equal(RpcErrorIds.UncheckedEndpoint, error.ErrorId);
        Assert.Contains($"'{RpcEndpoint.Parse(endpoint)}' would serve anonymous callers", error.Message);
    }

    [Theory]
    [InlineData("routes", "inproc://required-authorization", null)]
    [InlineData("routes", Tcp, "None")]
    [InlineData("anonymous", Tcp, null)]
    [InlineData("nothing", Tcp, null)]
    public static async Task It_starts_with_checked_callers_or_by_explicit_choice(
        string how, string endpoint, string? authentication)
    {
        await using HostedApp app = await StartAsync(
            how, authentication is null
                ? [(Key, endpoint)]
                : [(Key, endpoint), (Explicit, authentication)]);

        Assert.True(app.Server.IsListening);
    }

    [Fact]
    public static async Task Rules_close_the_endpoints_as_well()
    {
        await using HostedApp app = await HostedApp.StartAsync(
            builder =>
            {
                AddServices(builder);
                builder.Services.Configure<RpcHostOptions>(options => options.Server = options.Server with
                {
                    Interceptors = [RpcAuthorization.FromRules(new Hashtable { ["*"] = "*" })],
                });
            },
            map => Map(map, "routes"), (Key, Tcp));

        Assert.True(app.Server.IsListening);
    }

    [Fact]
    public static async Task A_check_of_the_settings_counts_before_any_route()
    {
        RpcException error = await Assert.ThrowsAsync<RpcException>(() => HostedApp.StartAsync(
            builder =>
            {
                AddServices(builder);
                builder.Services.Configure<RpcHostOptions>(
                    options => options.Http = options.Http with { Security = Bearer });
            },
            map => map.MapProtoRpc(), (Key, Tcp)));

        Assert.Equal(RpcErrorIds.UncheckedEndpoint, error.ErrorId);
    }

    [Fact]
    public static async Task A_server_of_its_own_that_listens_is_not_mapped_with_a_check()
    {
        using RpcServer server = NewServer().StartListening();
        await using WebApplication application = HostedApp.Build(null);

        RpcException error = Assert.Throws<RpcException>(
            () => application.MapProtoRpc(server, new() { Security = Bearer }));

        Assert.Equal(RpcErrorIds.UncheckedEndpoint, error.ErrorId);
    }

    [Fact]
    public static async Task A_server_that_was_mapped_with_a_check_does_not_listen_afterwards()
    {
        using RpcServer server = NewServer();
        await using HostedApp app = await HostedApp.StartAsync(
            AddServices, map => Map(map, "routes", server));

        Assert.Equal(
            RpcErrorIds.UncheckedEndpoint,
            Assert.Throws<RpcException>(() => server.StartListening()).ErrorId);
    }

    [Fact]
    public static async Task An_application_without_AddProtoRpc_stops()
    {
        ConcurrentQueue<string> log = [];
        using RpcServer server = NewServer().StartListening();
        await using HostedApp app = await HostedApp.StartAsync(
            builder =>
            {
                AddAuthorization(builder);
                builder.Logging.AddProvider(new LogLines(log));
            },
            map => Map(map, "routes", server));

        await server.Completion.WaitAsync(TimeSpan.FromSeconds(20));

        Assert.True(app.Application.Lifetime.ApplicationStopping.IsCancellationRequested);
        Assert.Contains(log, line => line.Contains("would serve anonymous callers"));
    }

    private static HttpServerSecurity Bearer { get; } =
        new() { Bearer = (_, _) => new(new GenericIdentity("a")) };

    private static RpcServer NewServer() => RpcServer
        .Create(RpcSchema.FromDescriptors(OrdersReflection.Descriptor))
        .AddEndpoint(Tcp);

    private static Task<HostedApp> StartAsync(string how, params (string Key, string Value)[] settings) =>
        HostedApp.StartAsync(
            builder =>
            {
                AddServices(builder);
                if (how is "fallback" or "anonymous")
                {
                    builder.Services.AddAuthorizationBuilder().SetFallbackPolicy(
                        new AuthorizationPolicyBuilder().RequireAuthenticatedUser().Build());
                }
            },
            map => Map(map, how), settings);

    private static void AddServices(WebApplicationBuilder builder)
    {
        HostedApp.AddOrders(builder);
        AddAuthorization(builder);
    }

    private static void AddAuthorization(WebApplicationBuilder builder)
    {
        builder.Services.AddAuthentication(NamedUser.Name)
            .AddScheme<AuthenticationSchemeOptions, NamedUser>(NamedUser.Name, null);
        builder.Services.AddAuthorization();
    }

    private static void Map(WebApplication map, string how, RpcServer? server = null)
    {
        map.UseAuthentication();
        map.UseAuthorization();
        if (how == "group")
        {
            map.MapGroup("/outer").RequireAuthorization().MapGroup("/inner").MapProtoRpc();
            return;
        }

        IEndpointConventionBuilder routes = server is null ? map.MapProtoRpc() : map.MapProtoRpc(server);
        _ = how switch
        {
            "routes" => routes.RequireAuthorization(),
            "requirement" => routes.WithMetadata(new NameRequired()),
            "anonymous" => routes.AllowAnonymous(),
            _ => routes,
        };
    }

    private sealed class NameRequired : Attribute, IAuthorizationRequirementData
    {
        public IEnumerable<IAuthorizationRequirement> GetRequirements() => [];
    }
}

using System.Reflection;
using System.Runtime.CompilerServices;
using Google.Protobuf;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Options;
using Shop;
using Empty = Google.Protobuf.WellKnownTypes.Empty;

namespace ProtoRpc.Http.Tests.Client;

/// <summary>Options as hosts bind and configure them.</summary>
public static class OptionsTests
{
    public static TheoryData<Type> Options =>
    [
        typeof(RpcClientOptions), typeof(RpcCallOptions), typeof(RpcPingOptions), typeof(RpcServerOptions),
        typeof(RpcRawServerOptions), typeof(HttpServerOptions), typeof(HttpServerSecurity), typeof(RpcLimits),
        typeof(RpcTlsOptions), typeof(RpcClientSecurity), typeof(RpcServerSecurity),
    ];

    [Theory]
    [MemberData(nameof(Options))]
    public static void Options_are_set_when_they_are_made_and_do_not_change(Type options)
    {
        PropertyInfo[] others = options.GetProperties(BindingFlags.Public | BindingFlags.Instance)
            .Where(property => property.SetMethod is not { IsPublic: true } set
                || !set.ReturnParameter.GetRequiredCustomModifiers().Contains(typeof(IsExternalInit)))
            .ToArray();

        Assert.Empty(others.Select(property => property.Name));
        Assert.NotNull(Activator.CreateInstance(options));
    }

    [Fact]
    public static void Changing_a_default_changes_it_for_nobody_else()
    {
        Write(RpcLimits.Default, nameof(RpcLimits.MaxDepth), 5);
        Write(new RpcClientOptions().Limits, nameof(RpcLimits.MaxDepth), 5);
        Write(
            new RpcServerOptions().Security, nameof(RpcServerSecurity.Authentication),
            RpcAuthentication.Negotiate);
        Write(new RpcClientOptions().Security, nameof(RpcClientSecurity.Token), "x");

        Assert.Equal(100, RpcLimits.Default.MaxDepth);
        Assert.Equal(100, new RpcServerOptions().Limits.MaxDepth);
        Assert.Equal(100, new MessageMapper().MaxDepth);
        Assert.Equal(RpcAuthentication.None, new RpcServerOptions().Security.Authentication);
        Assert.Null(new RpcClientOptions().Security.Token);
    }

    [Fact]
    public static void A_section_of_the_configuration_can_be_bound()
    {
        IConfiguration configuration = new ConfigurationBuilder()
            .AddInMemoryCollection([new("RetryCount", "3"), new("Limits:CallTimeout", "00:00:07")])
            .Build();

        RpcClientOptions options = new ServiceCollection()
            .Configure<RpcClientOptions>(configuration)
            .BuildServiceProvider()
            .GetRequiredService<IOptions<RpcClientOptions>>().Value;

        Assert.Equal(new RpcRetryPolicy { Count = 3 }, options.Retry);
        Assert.Equal(TimeSpan.FromSeconds(7), options.Limits.CallTimeout);
        Assert.Equal(TimeSpan.FromSeconds(30), new RpcClientOptions().Limits.CallTimeout);
    }

    [Theory]
    [InlineData("Retry:Count")]
    [InlineData("RetryCount")]
    public static void A_retry_policy_can_be_bound(string count)
    {
        IConfiguration configuration = new ConfigurationBuilder()
            .AddInMemoryCollection(
            [
                new(count, "5"), new("Retry:StatusCodes:0", "Unavailable"), new("Retry:Idempotent", "true"),
                new("Retry:InitialPause", "00:00:00.5"),
            ])
            .Build();

        RpcClientOptions options = new ServiceCollection()
            .Configure<RpcClientOptions>(configuration)
            .BuildServiceProvider()
            .GetRequiredService<IOptions<RpcClientOptions>>().Value;

        Assert.Equal(
            new RpcRetryPolicy
            {
                Count = 5,
                StatusCodes = [RpcStatusCode.Unavailable],
                Idempotent = true,
                InitialPause = TimeSpan.FromSeconds(0.5),
            },
            options.Retry);
        Assert.Null(new RpcClientOptions().Retry);
    }

    [Fact]
    public static async Task A_client_keeps_the_options_that_it_was_made_with()
    {
        using OrderServer server = new("grpc://127.0.0.1:0");
        RpcClientOptions options = new() { Headers = new() { { "x-own", "1" } } };
        await using RpcClient client = RpcClient.Connect(server.Endpoint, OrderServer.Schema, options);

        options.Headers.Set("x-own", "2");
        Write(options.Limits, nameof(RpcLimits.MaxMessageElements), 1);
        Write(options.Limits, nameof(RpcLimits.CallTimeout), TimeSpan.FromTicks(1));
        await client.InvokeAsync("Place", new { order = new { id = "a" } });

        Assert.Equal("1", server.Headers.Single().GetText("x-own"));
    }

    [Fact]
    public static async Task A_server_keeps_the_options_that_it_was_made_with()
    {
        RpcServerOptions options = new();
        using RpcServer server = RpcServer.Create(OrderServer.Schema, "shop.Orders", options)
            .Handle("Count", (_, _) => ValueTask.FromResult<IMessage>(new PlaceReply { Total = 42 }))
            .AddEndpoint(OrderServer.NewLocal())
            .StartListening();
        await using RpcClient client = RpcClient.Connect(server.Endpoints[0], OrderServer.Schema);

        Write(options.Limits, nameof(RpcLimits.MaxMessageBytes), 1);
        Write(options.Limits, nameof(RpcLimits.HandlerTimeout), TimeSpan.FromTicks(1));
        Write(options.Security, nameof(RpcServerSecurity.Authentication), RpcAuthentication.Negotiate);
        PlaceReply reply = await client.InvokeAsync<PlaceReply>("Count", new Empty());

        Assert.Equal(42, reply.Total);
    }

    // As PowerShell and the binder of configurations do, which write init-only properties too.
    private static void Write(object options, string property, object value) =>
        options.GetType().GetProperty(property)!.SetValue(options, value);
}

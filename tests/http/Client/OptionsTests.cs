using System.Reflection;
using System.Runtime.CompilerServices;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Options;

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
    public static void A_section_of_the_configuration_can_be_bound()
    {
        IConfiguration configuration = new ConfigurationBuilder()
            .AddInMemoryCollection([new("RetryCount", "3"), new("Limits:CallTimeout", "00:00:07")])
            .Build();

        RpcClientOptions options = new ServiceCollection()
            .Configure<RpcClientOptions>(configuration)
            .BuildServiceProvider()
            .GetRequiredService<IOptions<RpcClientOptions>>().Value;

        Assert.Equal(3, options.RetryCount);
        Assert.Equal(TimeSpan.FromSeconds(7), options.Limits.CallTimeout);
        Assert.Equal(TimeSpan.FromSeconds(30), new RpcClientOptions().Limits.CallTimeout);
    }

    [Fact]
    public static async Task A_client_keeps_the_headers_that_it_was_made_with()
    {
        using OrderServer server = new("grpc://127.0.0.1:0");
        RpcClientOptions options = new() { Headers = new() { { "x-own", "1" } } };
        await using RpcClient client = RpcClient.Connect(server.Endpoint, OrderServer.Schema, options);

        options.Headers.Set("x-own", "2");
        await client.InvokeAsync("Place", new { order = new { id = "a" } });

        Assert.Equal("1", server.Headers.Single().GetText("x-own"));
    }
}

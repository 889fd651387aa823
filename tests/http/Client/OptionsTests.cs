using System.Reflection;
using System.Runtime.CompilerServices;

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
    public static void Every_option_can_be_set_after_it_was_made(Type options)
    {
        PropertyInfo[] fixedOnes = options.GetProperties(BindingFlags.Public | BindingFlags.Instance)
            .Where(property => property.SetMethod is not { IsPublic: true } set
                || set.ReturnParameter.GetRequiredCustomModifiers().Contains(typeof(IsExternalInit)))
            .ToArray();

        Assert.Empty(fixedOnes.Select(property => property.Name));
        Assert.NotNull(Activator.CreateInstance(options));
    }

    [Fact]
    public static void Changing_a_default_changes_it_for_nobody_else()
    {
        RpcLimits.Default.MaxDepth = 5;
        new RpcClientOptions().Limits.MaxDepth = 5;
        new RpcServerOptions().Security.Authentication = RpcAuthentication.Negotiate;
        new RpcClientOptions().Security.Token = "x";

        Assert.Equal(100, RpcLimits.Default.MaxDepth);
        Assert.Equal(100, new RpcServerOptions().Limits.MaxDepth);
        Assert.Equal(100, new MessageMapper().MaxDepth);
        Assert.Equal(RpcAuthentication.None, new RpcServerOptions().Security.Authentication);
        Assert.Null(new RpcClientOptions().Security.Token);
    }

    [Fact]
    public static async Task A_client_keeps_the_options_that_it_was_made_with()
    {
        using OrderServer server = new("grpc://127.0.0.1:0");
        RpcClientOptions options = new() { Headers = new() { { "x-own", "1" } } };
        await using RpcClient client = RpcClient.Connect(server.Endpoint, OrderServer.Schema, options);

        options.Headers.Set("x-own", "2");
        options.Limits.MaxMessageElements = 1;
        options.Limits.CallTimeout = TimeSpan.FromTicks(1);
        await client.InvokeAsync("Place", new { order = new { id = "a" } });

        Assert.Equal("1", server.Headers.Single().GetText("x-own"));
    }
}

using System.Collections;
using System.Collections.Specialized;
using Google.Protobuf;

namespace ProtoRpc.Tests.Server;

public static class RpcAuthorizationTests
{
    private static readonly string Me = LocalUser.Name;

    public static TheoryData<string, string[], bool> Rules => new()
    {
        { "*", ["*"], true },
        { "*", [Me], true },
        { "*", [Me.ToUpperInvariant()], true },
        { "*", ["nobody-else"], false },
        { "*", [], false },
        { "calls.Echo/Say", ["*"], true },
        { "calls.*/S?y", ["*"], true },
        { "CALLS.ECHO/*", ["*"], true },
        { "calls.Other/*", ["*"], false },
        { "*", ["@no-such-group"], false },
        { "*", ["nobody-else", "anonymous"], true },
    };

    [Theory]
    [MemberData(nameof(Rules))]
    public static void Lets_a_caller_through_by_its_rules(string pattern, string[] names, bool allowed)
    {
        using RpcServer server = Start(RpcTransport.Local, new Hashtable { [pattern] = names });
        using RpcClient client = EchoServer.Connect(server);

        RpcStatusCode status = StatusOf(client);

        Assert.Equal(allowed ? RpcStatusCode.OK : RpcStatusCode.PermissionDenied, status);
    }

    [Fact]
    public static void The_longest_pattern_that_matches_decides_alone()
    {
        using RpcServer server = Start(
            RpcTransport.Local, new Hashtable { ["*"] = "*", ["calls.Echo/*"] = "nobody-else" });
        using RpcClient client = EchoServer.Connect(server);

        Assert.Equal(RpcStatusCode.PermissionDenied, StatusOf(client));
    }

    [Theory]
    [InlineData("calls.Echo/S??", "calls.E??o/Say")]
    [InlineData("calls.E??o/Say", "calls.Echo/S??")]
    [InlineData("calls.Echo/Say", "CALLS.echo/say")]
    [InlineData("CALLS.echo/say", "calls.Echo/Say")]
    public static void Of_patterns_of_the_same_length_each_must_allow(string one, string other)
    {
        // Both orders, because these rules have one.
        foreach ((string first, string second) in new[] { ("*", "nobody-else"), ("nobody-else", "*") })
        {
            OrderedDictionary rules = new() { [one] = first, [other] = second };
            using RpcServer server = Start(RpcTransport.Local, rules);
            using RpcClient client = EchoServer.Connect(server);

            Assert.Equal(RpcStatusCode.PermissionDenied, StatusOf(client));
        }
    }

    [Fact]
    public static void Patterns_of_the_same_length_that_all_allow_let_a_caller_through()
    {
        Hashtable rules = new() { ["calls.Echo/S??"] = "*", ["calls.E??o/Say"] = Me, ["*"] = "nobody-else" };
        using RpcServer server = Start(RpcTransport.Local, rules);
        using RpcClient client = EchoServer.Connect(server);

        Assert.Equal(RpcStatusCode.OK, StatusOf(client));
    }

    [Theory]
    [InlineData("*", RpcStatusCode.Unauthenticated)]
    [InlineData("root", RpcStatusCode.Unauthenticated)]
    [InlineData("", RpcStatusCode.Unauthenticated)]
    [InlineData("anonymous", RpcStatusCode.OK)]
    public static void An_anonymous_caller_needs_a_rule_that_says_anonymous(
        string name, RpcStatusCode expected)
    {
        using RpcServer server = Start(RpcTransport.Tcp, new Hashtable { ["*"] = name });
        using RpcClient client = EchoServer.Connect(server);

        Assert.Equal(expected, StatusOf(client));
    }

    [Fact]
    public static void The_built_in_methods_cannot_get_around_the_rules()
    {
        using RpcServer server = Start(RpcTransport.Local, new Hashtable { ["calls.*"] = "*" });
        using RpcClient client = EchoServer.Connect(server);

        RpcException error = Assert.Throws<RpcException>(() => client.Ping());

        Assert.Equal(RpcStatusCode.PermissionDenied, error.Code);
        Assert.Contains("protorpc.BuiltIn/ping", error.Message);
    }

    [Fact]
    public static void Knows_the_groups_of_a_caller_that_the_kernel_names()
    {
        if (OperatingSystem.IsWindows())
        {
            return;
        }

        string group = ProtoRpc.Security.UnixGroups.Get(Me)[0];
        using RpcServer server = Start(RpcTransport.Local, new Hashtable { ["*"] = $"@{group}" });
        using RpcClient client = EchoServer.Connect(server);

        Assert.Equal(RpcStatusCode.OK, StatusOf(client));
    }

    [Fact]
    public static void Groups_with_very_many_members_are_known_too()
    {
        if (OperatingSystem.IsWindows())
        {
            return;
        }

        Assert.Equal(ProtoRpc.Security.UnixGroups.Get(Me), ProtoRpc.Security.UnixGroups.Get(Me, textSize: 1));
    }

    [Fact]
    public static void A_rule_that_cannot_be_used_is_named()
    {
        Assert.Contains("'7'", Assert.Throws<RpcException>(
            () => RpcAuthorization.FromRules(new Hashtable { [7] = "*" })).Message);
        Assert.Contains("'x'", Assert.Throws<RpcException>(
            () => RpcAuthorization.FromRules(new Hashtable { ["x"] = 7 })).Message);
    }

    [Fact]
    public static void Interceptors_stand_around_the_handler_in_order()
    {
        List<string> seen = [];
        RpcServerOptions options = new()
        {
            Interceptors = [new Recorder("outer", seen), new Recorder("inner", seen)],
        };
        using RpcServer server = EchoServer.Start(RpcTransport.Local, options);
        using RpcClient client = EchoServer.Connect(server);

        client.Invoke<EchoReply>("Say", new EchoRequest { Text = "x" });

        Assert.Equal(["outer in", "inner in", "inner out", "outer out"], seen);
    }

    private static RpcServer Start(RpcTransport transport, IDictionary rules) => EchoServer.Start(
        transport, new RpcServerOptions { Interceptors = [RpcAuthorization.FromRules(rules)] });

    private static RpcStatusCode StatusOf(RpcClient client)
    {
        try
        {
            client.Invoke<EchoReply>("Say", new EchoRequest { Text = "x" });
            return RpcStatusCode.OK;
        }
        catch (RpcException e)
        {
            return e.Code;
        }
    }

    private sealed class Recorder(string name, List<string> seen) : IRpcInterceptor
    {
        public async ValueTask<IMessage> InvokeAsync(
            RpcServerCallContext context, IMessage request, RpcHandler next)
        {
            seen.Add($"{name} in");
            IMessage reply = await next(context, request);
            seen.Add($"{name} out");
            return reply;
        }
    }
}

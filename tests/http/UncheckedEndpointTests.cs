using System.Collections;
using System.Security.Principal;

namespace ProtoRpc.Http.Tests;

/// <summary>Servers that check callers over HTTP and gRPC, and have endpoints on which the checks do not
/// run.</summary>
public static class UncheckedEndpointTests
{
    private const string Grpc = "grpc://127.0.0.1:0";
    private const string Http = "http://127.0.0.1:0/";
    private const string Tcp = "tcp://127.0.0.1:0";

    private static readonly HttpServerSecurity Bearer =
        new() { Bearer = (_, _) => new(new GenericIdentity("a")) };

    public static TheoryData<HttpServerSecurity> Checks => new(
        Bearer,
        new() { Basic = (_, _) => new(new GenericIdentity("a")) },
        new() { ClientCertificate = (_, _) => new(new GenericIdentity("a")) });

    public static TheoryData<RpcServerSecurity, Hashtable?> WaysOut => new()
    {
        { RpcServerSecurity.Anonymous, null },
        { new() { Authentication = RpcAuthentication.None }, null },
        { Ntlm(RpcAuthentication.Ntlm), null },
        { Ntlm(RpcAuthentication.Ntlm | RpcAuthentication.None), null },
        { new(), new() { ["*"] = "*" } },
        { new(), new() { ["*"] = "anonymous", ["streams.Words/*"] = "ann" } },
        { new(), new() { ["streams.Words/Say"] = "@admins" } },
        { new(), new() },
    };

    public static TheoryData<Hashtable> OpenRules => new(
        new Hashtable { ["*"] = "anonymous" },
        new Hashtable { ["*"] = "*", ["streams.Words/Split"] = "anonymous" },
        new Hashtable { ["*"] = "*", ["streams.W*"] = new[] { "ann", "Anonymous" } });

    [Theory]
    [MemberData(nameof(Checks))]
    public static void A_server_with_a_check_does_not_open_a_TCP_endpoint_to_all(HttpServerSecurity security)
    {
        RpcException error = Assert.Throws<RpcException>(
            () => new WordsServer(Grpc, new(), new() { Security = security }, Http, Tcp));

        Assert.Equal(RpcErrorIds.UncheckedEndpoint, error.ErrorId);
        Assert.Contains("'ncacn_ip_tcp:127.0.0.1[0]' would serve anonymous callers", error.Message);
        Assert.Contains("RpcServerSecurity.Authentication without None", error.Message);
        Assert.Contains("RpcServerOptions.Interceptors with authorization rules", error.Message);
        Assert.Contains("RpcServerSecurity.Authentication None", error.Message);
    }

    [Fact]
    public static void It_does_not_do_so_where_the_check_has_no_endpoint_either()
    {
        Assert.Equal(
            RpcErrorIds.UncheckedEndpoint,
            Assert.Throws<RpcException>(
                () => new WordsServer(Tcp, new(), new() { Security = Bearer })).ErrorId);
    }

    [Theory]
    [MemberData(nameof(WaysOut))]
    public static void It_opens_one_with_authentication_rules_or_by_explicit_choice(
        RpcServerSecurity security, Hashtable? rules)
    {
        RpcServerOptions options = new()
        {
            Security = security,
            Interceptors = rules is null ? [] : [RpcAuthorization.FromRules(rules)],
        };

        using WordsServer server = new(Http, options, new() { Security = Bearer }, Tcp);

        Assert.Equal(2, server.Server.Endpoints.Count);
    }

    [Theory]
    [MemberData(nameof(OpenRules))]
    public static void Rules_that_leave_a_method_to_anonymous_callers_do_not_suffice(Hashtable rules)
    {
        RpcServerOptions options = new() { Interceptors = [RpcAuthorization.FromRules(rules)] };

        Assert.Equal(
            RpcErrorIds.UncheckedEndpoint,
            Assert.Throws<RpcException>(
                () => new WordsServer(Grpc, options, new() { Security = Bearer }, Tcp)).ErrorId);
    }

    [Fact]
    public static void Endpoints_whose_callers_the_system_identifies_count_as_checked()
    {
        string name = $"unchecked-{Guid.NewGuid():N}";
        using WordsServer server = new(
            Http, new(), new() { Security = Bearer }, $"local://{name}", $"inproc://{name}",
            $"ncacn_np:[\\pipe\\{name}]");

        Assert.Equal(4, server.Server.Endpoints.Count);
    }

    [Fact]
    public static void Without_a_check_and_with_anonymous_callers_allowed_TCP_stays_open()
    {
        using WordsServer open = new(Http, null, null, Tcp);
        using WordsServer allowed = new(
            Http, null, new() { Security = Bearer with { AllowAnonymous = true } }, Tcp);

        Assert.Equal(4, open.Server.Endpoints.Count + allowed.Server.Endpoints.Count);
    }

    [Fact]
    public static async Task A_running_server_gets_no_unchecked_endpoint_and_stays_as_it_was()
    {
        using WordsServer server = new(Http, new(), new() { Security = Bearer });
        RpcEndpoint http = server.Endpoint;

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => server.Server.ChangeAsync(new() { Endpoints = [http, RpcEndpoint.Parse(Tcp)] }));

        Assert.Equal(RpcErrorIds.UncheckedEndpoint, error.ErrorId);
        Assert.Equal([http], server.Server.Endpoints);
    }

    [Fact]
    public static async Task A_running_server_gets_one_together_with_rules_and_keeps_them()
    {
        using WordsServer server = new(Http, new(), new() { Security = Bearer });
        RpcEndpoint[] both = [server.Endpoint, RpcEndpoint.Parse(Tcp)];
        RpcAuthorization rules = RpcAuthorization.FromRules(new Hashtable { ["*"] = "*" });

        await server.Server.ChangeAsync(new() { Endpoints = both, Interceptors = [rules] });
        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => server.Server.ChangeAsync(new() { Interceptors = [] }));
        await server.Server.ChangeAsync(new() { Endpoints = both[..1], Interceptors = [] });

        Assert.Equal(RpcErrorIds.UncheckedEndpoint, error.ErrorId);
        Assert.Single(server.Server.Endpoints);
    }

    [Fact]
    public static void A_gateway_is_no_exception()
    {
        using WordsServer back = new();
        using RpcClient client = back.Connect();
        RpcServerOptions options = new RpcServerOptions().WithHttp(new() { Security = Bearer });

        using RpcServer gateway = RpcGateway.Create(client, null, options).AddEndpoint(Http).AddEndpoint(Tcp);

        Assert.Equal(
            RpcErrorIds.UncheckedEndpoint,
            Assert.Throws<RpcException>(() => gateway.StartListening()).ErrorId);
        Assert.False(gateway.IsListening);
    }

    private static RpcServerSecurity Ntlm(RpcAuthentication accepted) => new()
    {
        Authentication = accepted,
        NtlmAccounts = [NtlmAccount.From(new("ann", "secret"))],
    };
}

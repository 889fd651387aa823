using System.Net;
using System.Security.Principal;

namespace ProtoRpc.Http.Tests;

/// <summary>Passwords and tokens of clients, on the transports that carry them in a header.</summary>
public static class ClientAuthorizationTests
{
    private static readonly HttpServerOptions Guarded = new()
    {
        Security = new HttpServerSecurity
        {
            Basic = (credential, _) => new(credential is { UserName: @"CORP\bob", Password: "pä:ss" }
                ? new GenericIdentity("bob", "Basic")
                : null),
            Bearer = (token, _) => new(token == "t0ken" ? new GenericIdentity("holder", "Bearer") : null),
        },
    };

    [Theory]
    [InlineData("grpc://127.0.0.1:0")]
    [InlineData("http://127.0.0.1:0/")]
    public static void A_token_goes_with_every_call(string kind)
    {
        using WordsServer server = new(kind, http: Guarded);
        using RpcClient client = Connect(server, Token("t0ken"));

        Assert.StartsWith("holder|", Who(client), StringComparison.Ordinal);
        Assert.Equal("ProtoRpc", client.Ping().Product);
        Assert.Equal(RpcStatusCode.Unauthenticated, Fails(() => Who(Connect(server, Token("guessed")))).Code);
    }

    [Fact]
    public static void A_password_goes_over_grpc()
    {
        using WordsServer server = new(http: Guarded);
        using RpcClient client = Connect(server, Password("pä:ss"));

        Assert.StartsWith("bob|", Who(client), StringComparison.Ordinal);
        Assert.Equal(
            RpcStatusCode.Unauthenticated, Fails(() => Who(Connect(server, Password("guessed")))).Code);
    }

    [Fact]
    public static void A_schema_is_loaded_with_a_token_over_http()
    {
        using WordsServer server = new("http://127.0.0.1:0/", http: Guarded);
        Uri file = new($"{server.Endpoint.Uri}streams.proto");

        Assert.NotNull(RpcHttpSchema.Load(file, new RpcClientOptions { Security = Token("t0ken") })
            .GetService("streams.Words"));
        Assert.Equal(RpcStatusCode.Unauthenticated, Fails(() => RpcHttpSchema.Load(file)).Code);
    }

    [Theory]
    [InlineData("grpc://rpc.test:1", true)]
    [InlineData("http://rpc.test:1/", true)]
    [InlineData("grpc://rpc.test:1", false)]
    public static void Nothing_secret_goes_in_clear_over_a_network(string endpoint, bool isToken)
    {
        RpcException error = Fails(() => RpcClient.Connect(
            RpcEndpoint.Parse(endpoint), WordsServer.Schema,
            new RpcClientOptions { Lazy = true, Security = isToken ? Token("t0ken") : Password("secret") }));

        Assert.Equal("UnencryptedEndpoint", error.ErrorId);
        Assert.DoesNotContain("t0ken", error.Message, StringComparison.Ordinal);
        Assert.DoesNotContain("secret", error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("tcp://127.0.0.1:1", "t0ken", "AuthenticationNotSupported")]
    [InlineData("grpcs://rpc.test:1", "Bearer t0ken", "InvalidCredential")]
    [InlineData("https://rpc.test:1/", "t0ken\r\nx: y", "InvalidCredential")]
    [InlineData("https://rpc.test:1/", "", "InvalidCredential")]
    public static void A_token_that_cannot_be_sent_is_refused(string endpoint, string token, string id)
    {
        RpcException error = Fails(() => RpcClient.Connect(
            RpcEndpoint.Parse(endpoint), WordsServer.Schema,
            new RpcClientOptions { Lazy = true, Service = "streams.Words", Security = Token(token) }));

        Assert.Equal(id, error.ErrorId);
    }

    [Fact]
    public static void A_token_is_in_no_text_of_the_options()
    {
        RpcClientOptions options = new() { Security = Token("t0ken") };

        Assert.DoesNotContain("t0ken", options.ToString(), StringComparison.Ordinal);
        Assert.DoesNotContain("t0ken", options.Security.ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public static void A_header_and_a_token_do_not_go_together()
    {
        RpcMetadata headers = new();
        headers.Add("Authorization", "Basic eDp5");

        RpcException error = Fails(() => RpcClient.Connect(
            RpcEndpoint.Parse("https://rpc.test:1/"), WordsServer.Schema,
            new RpcClientOptions { Lazy = true, Headers = headers, Security = Token("t0ken") }));

        Assert.Equal("InvalidCredential", error.ErrorId);
    }

    private static RpcClientSecurity Token(string token) =>
        new() { Authentication = RpcClientAuthentication.Bearer, Token = token };

    private static RpcClientSecurity Password(string password) => new()
    {
        Authentication = RpcClientAuthentication.User,
        Credential = new NetworkCredential("bob", password, "CORP"),
    };

    private static RpcClient Connect(WordsServer server, RpcClientSecurity security) =>
        server.Connect(new RpcClientOptions { Security = security });

    private static string Who(RpcClient client) =>
        WordsServer.TextOf(client.Invoke(client.GetMethod("Say"), WordsServer.Text("who")));

    private static RpcException Fails(Action action) => Assert.Throws<RpcException>(action);
}

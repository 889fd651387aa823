using System.Net;
using System.Net.Http.Headers;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Security.Principal;
using ProtoRpc.AspNetCore.Http;
using ProtoRpc.Security.Ntlm;

namespace ProtoRpc.Http.Tests;

public static class HttpAuthenticationTests
{
    private const string Who = "/ProtoService.SearchService/Who?query=x";

    private static readonly HttpServerOptions ByPassword = new()
    {
        Security = new HttpServerSecurity
        {
            Basic = (credential, _) => ValueTask.FromResult<IIdentity?>(
                credential is { UserName: "änn", Password: "p:w" }
                    ? new GenericIdentity("änn", "Basic")
                    : null),
            Bearer = (token, _) => ValueTask.FromResult<IIdentity?>(
                token == "secret" ? new GenericIdentity("robot", "Bearer") : null),
        },
    };

    [Theory]
    [InlineData(null)]
    [InlineData("Basic")]
    [InlineData("Basic ###")]
    [InlineData("Basic w6Rubg==")]
    [InlineData("Basic w6Rubjpubw==")]
    [InlineData("Bearer wrong")]
    [InlineData("Bearer")]
    [InlineData("Digest x")]
    public static async Task Who_proves_nothing_is_refused_before_the_handler(string? authorization)
    {
        using SearchServer server = new(ByPassword);
        using HttpRequestMessage request = new(HttpMethod.Get, Who);
        request.Headers.TryAddWithoutValidation("Authorization", authorization);

        using HttpResponseMessage response = await server.Http.SendAsync(request);

        Assert.Equal(HttpStatusCode.Unauthorized, response.StatusCode);
        Assert.Equal(
            ["Basic", "Bearer"], response.Headers.WwwAuthenticate.Select(challenge => challenge.Scheme));
        Assert.Equal(0, server.Server.Counters.Calls);
    }

    [Theory]
    [InlineData("Basic w6RubjpwOnc=", "änn")]
    [InlineData("bearer secret", "robot")]
    public static async Task Who_proves_it_is_known_to_the_handler(string authorization, string name)
    {
        using SearchServer server = new(ByPassword);

        (HttpStatusCode status, _, string text) =
            await server.GetAsync(Who, ("Authorization", authorization));

        Assert.Equal(HttpStatusCode.OK, status);
        Assert.Contains($"<url>{name}</url>", text, StringComparison.Ordinal);
    }

    [Fact]
    public static void A_client_answers_the_challenge_with_its_credential()
    {
        using SearchServer server = new(ByPassword);
        RpcClientOptions options = new()
        {
            Security = new RpcClientSecurity
            {
                Authentication = RpcClientAuthentication.User,
                Credential = new NetworkCredential("änn", "p:w"),
            },
        };
        using RpcClient client = RpcClient.Connect(server.Endpoint, SearchServer.Schema, options);

        DynamicMessage reply = client.Invoke(
            client.GetMethod("Who"), MessageFormats.Json.Read(SearchServer.RequestType, """{"query":"x"}"""));

        Assert.Contains("änn", MessageFormats.Json.ToText(reply), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("http://127.0.0.1:0/")]
    [InlineData("grpc://127.0.0.1:0")]
    public static async Task A_check_that_throws_fails_the_call_and_is_reported(string endpoint)
    {
        HttpServerOptions http = With((_, _) => throw new InvalidOperationException("secret: pw=1"));
        List<RpcFailedCall> failed = [];
        using SearchServer server = new(
            http, new RpcServerOptions { CallFailed = failed.Add },
            endpoint);
        using RpcClient client = RpcClient.Connect(
            server.Endpoint, SearchServer.Schema, new RpcClientOptions { RetryCount = 0 });
        RpcCallOptions options = new() { Headers = new RpcMetadata { { "authorization", "Bearer x" } } };

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => client.InvokeAsync("Who", new { query = "x" }, options));

        Assert.Equal(RpcStatusCode.Unknown, error.Code);
        Assert.NotNull(error.CorrelationId);
        Assert.DoesNotContain("secret", error.Message, StringComparison.Ordinal);
        Assert.Equal("secret: pw=1", Assert.Single(failed).Error.Message);
    }

    [Theory]
    [InlineData("http://127.0.0.1:0/")]
    [InlineData("grpc://127.0.0.1:0")]
    public static async Task A_check_whose_own_call_fails_does_not_name_the_server_that_it_called(
        string endpoint)
    {
        using ClosedPort closed = new();
        HttpServerOptions http = With((_, _) =>
        {
            using RpcClient client = RpcClient.Connect(
                $"grpc://127.0.0.1:{closed.Number}", SearchServer.Schema, new() { RetryCount = 0 });
            return default;
        });
        List<RpcFailedCall> failed = [];

        RpcException error = await RefusalAsync(http, failed, endpoint);

        Assert.NotNull(error.CorrelationId);
        Assert.DoesNotContain($"{closed.Number}", error.ToString(), StringComparison.Ordinal);
        Assert.Contains($"{closed.Number}", Assert.Single(failed).Error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("http://127.0.0.1:0/")]
    [InlineData("grpc://127.0.0.1:0")]
    public static async Task A_check_may_say_why_it_refuses(string endpoint)
    {
        HttpServerOptions http = With((_, _) => throw new RpcException(
            RpcStatusCode.PermissionDenied, "The token expired."));
        List<RpcFailedCall> failed = [];

        RpcException error = await RefusalAsync(http, failed, endpoint);

        Assert.Equal(RpcStatusCode.PermissionDenied, error.Code);
        Assert.Contains("The token expired.", error.Message, StringComparison.Ordinal);
        Assert.Null(error.CorrelationId);
        Assert.Empty(failed);
    }

    private static HttpServerOptions With(HttpCallerCheck<string> bearer) =>
        new() { Security = new() { Bearer = bearer } };

    private static async Task<RpcException> RefusalAsync(
        HttpServerOptions http, List<RpcFailedCall> failed, string endpoint)
    {
        using SearchServer server = new(http, new RpcServerOptions { CallFailed = failed.Add }, endpoint);
        using RpcClient client = RpcClient.Connect(
            server.Endpoint, SearchServer.Schema, new RpcClientOptions { RetryCount = 0 });
        RpcCallOptions options = new() { Headers = new RpcMetadata { { "authorization", "Bearer x" } } };
        return await Assert.ThrowsAsync<RpcException>(
            () => client.InvokeAsync("Who", new { query = "x" }, options));
    }

    [Fact]
    public static void Passwords_in_clear_are_taken_on_loopback_only()
    {
        RpcException error = Assert.Throws<RpcException>(
            () =>
                new SearchServer(ByPassword with { AllowUnencrypted = true }, endpoint: "http://0.0.0.0:0/"));

        Assert.Equal("UnencryptedEndpoint", error.ErrorId);
    }

    [Theory]
    [InlineData("http://0.0.0.0:0/", "UnencryptedEndpoint")]
    [InlineData("https://127.0.0.1:0/", "MissingCertificate")]
    public static void Endpoints_that_everybody_could_read_are_refused(string endpoint, string id)
    {
        RpcException error = Assert.Throws<RpcException>(() => new SearchServer(endpoint: endpoint));

        Assert.Equal(id, error.ErrorId);
    }

    [Fact]
    public static async Task Clients_prove_themselves_by_certificate_over_tls()
    {
        using X509Certificate2 mine = NewCertificate("CN=localhost");
        using X509Certificate2 theirs = NewCertificate("CN=client");
        HttpServerOptions http = new()
        {
            Security = new HttpServerSecurity
            {
                ClientCertificate = (certificate, _) => ValueTask.FromResult<IIdentity?>(
                    certificate.Thumbprint == theirs.Thumbprint
                        ? new GenericIdentity("client", "Certificate")
                        : null),
            },
        };
        using SearchServer server = new(http, new() { Certificate = mine }, "https://127.0.0.1:0/");
        RpcClientOptions options = new()
        {
            Tls = new RpcTlsOptions { ClientCertificate = theirs, SkipCertificateCheck = true },
        };
        using RpcClient client = RpcClient.Connect(server.Endpoint, SearchServer.Schema, options);

        DynamicMessage reply = client.Invoke(
            client.GetMethod("Who"), MessageFormats.Json.Read(SearchServer.RequestType, """{"query":"x"}"""));
        (HttpStatusCode without, _, _) = await server.GetAsync(Who);

        Assert.Contains("client", MessageFormats.Json.ToText(reply), StringComparison.Ordinal);
        Assert.Equal(HttpStatusCode.Unauthorized, without);
    }

    [Theory]
    [InlineData("https://127.0.0.1:0/", true, true)]
    [InlineData("https://127.0.0.1:0/", false, false)]
    [InlineData("grpcs://127.0.0.1:0", true, false)]
    [InlineData("grpcs://127.0.0.1:0", false, true)]
    public static void A_certificate_of_an_authority_identifies_no_caller(
        string endpoint, bool byConstraints, bool allowAnonymous)
    {
        using X509Certificate2 mine = NewCertificate("CN=localhost");
        using X509Certificate2 theirs = TestCertificate.Create(
            "CN=authority", [], -1, 1, byConstraints
                ? new X509BasicConstraintsExtension(true, false, 0, critical: true)
                : new X509KeyUsageExtension(X509KeyUsageFlags.KeyCertSign, critical: true));
        HttpServerOptions http = new()
        {
            Security = new HttpServerSecurity
            {
                ClientCertificate = (_, _) => ValueTask.FromResult<IIdentity?>(new GenericIdentity("anyone")),
                AllowAnonymous = allowAnonymous,
            },
        };
        using SearchServer server = new(http, new() { Certificate = mine }, endpoint);
        using RpcClient client = RpcClient.Connect(server.Endpoint, SearchServer.Schema, new()
        {
            Tls = new RpcTlsOptions { ClientCertificate = theirs, SkipCertificateCheck = true },
        });

        RpcException error = Assert.Throws<RpcException>(() => client.Invoke(
            client.GetMethod("Who"),
            MessageFormats.Json.Read(SearchServer.RequestType, """{"query":"x"}""")));

        Assert.Equal(RpcStatusCode.Unauthenticated, error.Code);
        Assert.Contains("CA:FALSE", error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("30")]
    [InlineData("")]
    [InlineData("0101FF")]
    public static void A_constraint_that_cannot_be_read_counts_as_that_of_an_authority(string bytes)
    {
        using RSA key = TestCertificate.NewKey();
        using X509Certificate2 odd = TestCertificate.CreateBare(
            key, "CN=x", [], -1, 1, new X509Extension("2.5.29.19", Convert.FromHexString(bytes), true));

        Assert.True(CallerCertificate.IsAuthority(odd));
    }

    [Theory]
    [InlineData("3000", false)]
    [InlineData("30030101FF", true)]
    [InlineData("3003010100", false)]
    public static void The_right_to_issue_certificates_makes_an_authority(string bytes, bool expected)
    {
        using RSA key = TestCertificate.NewKey();
        using X509Certificate2 one = TestCertificate.CreateBare(
            key, "CN=x", [], -1, 1, new X509Extension("2.5.29.19", Convert.FromHexString(bytes), true));

        Assert.Equal(expected, CallerCertificate.IsAuthority(one));
    }

    [Fact]
    public static async Task Ntlm_proves_a_connection()
    {
        RpcServerOptions options = new()
        {
            Security = new RpcServerSecurity
            {
                Authentication = RpcAuthentication.Ntlm,
                NtlmAccounts = [NtlmAccount.From(new NetworkCredential("bob", "Pa55word", "CORP"))],
            },
        };
        using SearchServer server = new(options: options, endpoint: "http://127.0.0.1:0/");
        using NtlmClientContext client = new(
            NtlmCredential.From(new NetworkCredential("bob", "Pa55word", "CORP")), new NtlmClientOptions());

        (HttpStatusCode anonymous, _, _) = await server.GetAsync(Who);
        using HttpResponseMessage challenged = await SendTokenAsync(server, client.Step([]));
        byte[] challenge = Convert.FromBase64String(challenged.Headers.WwwAuthenticate.Single().Parameter!);
        using HttpResponseMessage proved = await SendTokenAsync(server, client.Step(challenge));
        (HttpStatusCode next, _, string text) = await server.GetAsync(Who);

        Assert.Equal(HttpStatusCode.Unauthorized, anonymous);
        Assert.Equal(HttpStatusCode.Unauthorized, challenged.StatusCode);
        Assert.Equal(HttpStatusCode.OK, proved.StatusCode);
        Assert.Equal(HttpStatusCode.OK, next);
        Assert.Contains("bob", text, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("Via", "1.1 proxy", RpcAuthentication.Ntlm)]
    [InlineData("Forwarded", "for=192.0.2.1", RpcAuthentication.Ntlm)]
    [InlineData("X-Forwarded-For", "192.0.2.1", RpcAuthentication.Ntlm | RpcAuthentication.None)]
    public static async Task A_connection_that_a_proxy_shares_proves_nothing_for_other_requests(
        string header, string value, RpcAuthentication authentication)
    {
        RpcServerOptions options = new()
        {
            Security = new RpcServerSecurity
            {
                Authentication = authentication,
                NtlmAccounts = [NtlmAccount.From(new NetworkCredential("bob", "Pa55word", "CORP"))],
            },
        };
        using SearchServer server = new(options: options);
        using NtlmClientContext client = new(
            NtlmCredential.From(new NetworkCredential("bob", "Pa55word", "CORP")), new NtlmClientOptions());
        using HttpResponseMessage challenged = await SendTokenAsync(server, client.Step([]));
        byte[] challenge = Convert.FromBase64String(challenged.Headers.WwwAuthenticate.Single().Parameter!);
        using HttpResponseMessage proved = await SendTokenAsync(server, client.Step(challenge));

        (HttpStatusCode other, _, string refusal) = await server.GetAsync(Who, (header, value));
        (HttpStatusCode empty, _, _) = await server.GetAsync(Who, (header, value), ("Authorization", ""));
        (HttpStatusCode direct, _, string text) = await server.GetAsync(Who);

        Assert.Equal(HttpStatusCode.OK, proved.StatusCode);
        Assert.Equal(HttpStatusCode.Unauthorized, other);
        Assert.Contains("proxy", refusal, StringComparison.Ordinal);
        Assert.Equal(HttpStatusCode.Unauthorized, empty);
        Assert.Equal(HttpStatusCode.OK, direct);
        Assert.Contains("bob", text, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task The_runtime_proves_itself_by_its_own_ntlm()
    {
        RpcServerOptions options = new()
        {
            Security = new RpcServerSecurity
            {
                Authentication = RpcAuthentication.Ntlm,
                NtlmAccounts = [NtlmAccount.From(new NetworkCredential("bob", "Pa55word", "CORP"))],
            },
        };
        using SearchServer server = new(options: options);

        HttpStatusCode right = await AskAsync(server, new NetworkCredential("bob", "Pa55word", "CORP"));
        HttpStatusCode wrong = await AskAsync(server, new NetworkCredential("bob", "guess", "CORP"));

        Assert.Equal(HttpStatusCode.OK, right);
        Assert.Equal(HttpStatusCode.Unauthorized, wrong);
        server.Server.RequireCounts(counts => counts.Calls == 1);
    }

    private static async Task<HttpStatusCode> AskAsync(SearchServer server, NetworkCredential credential)
    {
        using HttpClient http = new(new SocketsHttpHandler { UseProxy = false, Credentials = credential });
        using HttpResponseMessage response = await http.GetAsync(new Uri(new Uri(server.Endpoint.Uri), Who));
        return response.StatusCode;
    }

    // All on one connection, since nobody else uses the client.
    private static async Task<HttpResponseMessage> SendTokenAsync(SearchServer server, byte[] token)
    {
        using HttpRequestMessage request = new(HttpMethod.Get, Who);
        request.Headers.Authorization = new AuthenticationHeaderValue("NTLM", Convert.ToBase64String(token));
        HttpResponseMessage response = await server.Http.SendAsync(request);
        await response.Content.LoadIntoBufferAsync();
        return response;
    }

    private static X509Certificate2 NewCertificate(string name) => TestCertificate.Create(name);
}

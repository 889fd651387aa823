using System.Net;
using System.Net.Http.Headers;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Security.Principal;
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
        Assert.Equal(1, server.Server.Counters.Calls);
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

    private static X509Certificate2 NewCertificate(string name)
    {
        using ECDsa key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        CertificateRequest request = new(name, key, HashAlgorithmName.SHA256);
        using X509Certificate2 certificate =
            request.CreateSelfSigned(DateTimeOffset.UtcNow.AddDays(-1), DateTimeOffset.UtcNow.AddDays(1));
        return X509CertificateLoader.LoadPkcs12(certificate.Export(X509ContentType.Pkcs12), password: null);
    }
}

using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace ProtoRpc.Http.Tests.Tool;

/// <summary>TLS, credentials and headers of <c>protorpc proxy</c> and <c>listen</c>, on both sides.</summary>
public sealed class ToolSecurityTests : IDisposable
{
    private const string Tcp = "tcp://127.0.0.1:0";
    private static readonly string Schema = Path.Combine(AppContext.BaseDirectory, "protos", "streams.proto");

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("protorpc-");

    private static string[] Words => ["--schema", Schema, "--service", "streams.Words"];

    public void Dispose() => _folder.Delete(recursive: true);

    [Theory]
    [InlineData("https://127.0.0.1:0/", "grpcs://127.0.0.1:0")]
    [InlineData("grpcs://127.0.0.1:0", "https://127.0.0.1:0/")]
    [InlineData(Tcp, Tcp)]
    public async Task A_proxy_speaks_TLS_on_both_sides(string front, string back)
    {
        (string front, string key) own = ToolProcess.WriteCertificate(_folder.FullName, "front");
        (string back, string key) theirs = ToolProcess.WriteCertificate(_folder.FullName, "back");
        using WordsServer server = new(back, new RpcServerOptions
        {
            Certificate = Load(theirs.back, theirs.key),
            UseTls = back == Tcp,
        });
        await using ToolProcess proxy = await ToolProcess.StartAsync(
            null,
            [
                "proxy", front, $"{server.Endpoint}", .. Words, "--cacert", theirs.back,
                "--listen-cert", own.front, "--listen-key", own.key,
                .. back == Tcp ? ["--tls", "--listen-tls"] : Array.Empty<string>(),
            ]);

        using RpcClient caller = Caller(proxy, new() { Tls = Trust(own.front), UseTls = front == Tcp });

        Assert.Equal("hi", await SayAsync(caller, "hi"));
    }

    [Fact]
    public async Task A_proxy_does_not_trust_a_server_unless_it_is_told_to()
    {
        (string path, string key) = ToolProcess.WriteCertificate(_folder.FullName, "back");
        using WordsServer server =
            new("grpcs://127.0.0.1:0", new RpcServerOptions { Certificate = Load(path, key) });
        string[] arguments = ["proxy", Tcp, $"{server.Endpoint}", .. Words];

        (int code, _, string error) = await ToolProcess.RunAsync(null, arguments);
        await using ToolProcess trusting =
            await ToolProcess.StartAsync(null, [.. arguments, "--insecure"]);
        using RpcClient caller = Caller(trusting);

        Assert.Equal(64 + (int)RpcStatusCode.Unavailable, code);
        Assert.Contains("certificate", error, StringComparison.Ordinal);
        Assert.Equal("hi", await SayAsync(caller, "hi"));
    }

    [Fact]
    public async Task A_proxy_takes_tokens_and_passwords_and_sends_its_own()
    {
        using WordsServer server = new(
            "grpc://127.0.0.1:0",
            http: new HttpServerOptions
            {
                Security = new() { Bearer = (token, _) => new(token == "theirs" ? Identity : null) },
            });
        await using ToolProcess proxy = await ToolProcess.StartAsync(
            new() { ["THEIR_TOKEN"] = "theirs", ["ANNS_PASSWORD"] = "pass:word" },
            [
                "proxy", "http://127.0.0.1:0/", "grpc://127.0.0.1:0", $"{server.Endpoint}", .. Words,
                "--bearer", "env:THEIR_TOKEN", "--listen-bearer", "ours", "--listen-user",
                "ann:env:ANNS_PASSWORD",
            ]);

        foreach (string endpoint in proxy.Endpoints)
        {
            using RpcClient ours = Caller(endpoint, Bearer("ours"));
            using RpcClient ann = Caller(endpoint, User("ann", "pass:word"));
            Assert.Equal("hi", await SayAsync(ours, "hi"));
            Assert.Equal("hi", await SayAsync(ann, "hi"));
            await RefusesAsync(endpoint, Bearer("theirs"));
            await RefusesAsync(endpoint, User("ann", "pass"));
            await RefusesAsync(endpoint, User("bob", "pass:word"));
            await RefusesAsync(endpoint, new());
        }
    }

    [Fact]
    public async Task A_proxy_authenticates_by_NTLM_on_native_endpoints_of_both_sides()
    {
        using WordsServer server = new(Tcp, new RpcServerOptions
        {
            Security = new()
            {
                Authentication = RpcAuthentication.Ntlm,
                NtlmAccounts = [NtlmAccount.From(new NetworkCredential("gate", "keeper"))],
            },
        });
        await using ToolProcess proxy = await ToolProcess.StartAsync(
            null,
            [
                "proxy", Tcp, $"{server.Endpoint}", .. Words, "--user", "gate:keeper", "--auth", "ntlm",
                "--listen-user", "ann:secret",
            ]);

        using RpcClient ann = Caller(proxy, User("ann", "secret"));

        Assert.Equal("hi", await SayAsync(ann, "hi"));
        await RefusesAsync(proxy.Endpoints[0], new());
        await RefusesAsync(proxy.Endpoints[0], User("ann", "wrong"));
    }

    [Fact]
    public async Task A_listener_lets_in_callers_whose_certificate_is_of_its_authorities()
    {
        (string path, string key) = ToolProcess.WriteCertificate(_folder.FullName, "server");
        (string known, string knownKey) = ToolProcess.WriteCertificate(_folder.FullName, "known");
        (string other, string otherKey) = ToolProcess.WriteCertificate(_folder.FullName, "other");
        await using ToolProcess listening = await ToolProcess.StartAsync(
            null,
            ["listen", "grpcs://127.0.0.1:0", .. Words, "--cert", path, "--key", key, "--cacert", known]);
        RpcTlsOptions trust = Trust(path);
        string[] call =
        [
            "invoke", listening.Endpoints[0], "streams.Words/Say", "--schema", Schema, "--cacert", path,
        ];

        (int good, _, string error) =
            await ToolProcess.RunAsync(null, [.. call, "--cert", known, "--key", knownKey]);
        (int bad, _, _) = await ToolProcess.RunAsync(null, [.. call, "--cert", other, "--key", otherKey]);

        Assert.Equal((0, ""), (good, error));
        Assert.NotEqual(0, bad);
        await RefusesAsync(listening.Endpoints[0], new() { Tls = trust });
    }

    [Fact]
    public async Task Issuers_of_a_callers_certificate_are_not_fetched_from_addresses_in_it()
    {
        using TcpListener issuers = new(IPAddress.Loopback, 0);
        issuers.Start();
        (string path, string key) = ToolProcess.WriteCertificate(_folder.FullName, "server");
        (string known, _) = ToolProcess.WriteCertificate(_folder.FullName, "known");
        await using ToolProcess listening = await ToolProcess.StartAsync(
            null,
            ["listen", "https://127.0.0.1:0/", .. Words, "--cert", path, "--key", key, "--cacert", known]);
        using X509Certificate2 stranger = Stranger($"http://{issuers.LocalEndpoint}/issuer.crt");
        using SocketsHttpHandler handler = new();
        handler.SslOptions.RemoteCertificateValidationCallback = (_, _, _, _) => true;
        handler.SslOptions.ClientCertificateContext =
            SslStreamCertificateContext.Create(stranger, additionalCertificates: null, offline: true);
        using HttpClient client = new(handler);
        using StringContent content = new("{}", null, "application/json");

        using HttpResponseMessage answer =
            await client.PostAsync($"{listening.Endpoints[0]}streams.Words/Say", content);

        Assert.Equal(HttpStatusCode.Unauthorized, answer.StatusCode);
        Assert.False(issuers.Pending());
    }

    private static X509Certificate2 Stranger(string issuer)
    {
        using RSA authority = TestCertificate.NewKey();
        using RSA key = TestCertificate.NewKey();
        CertificateRequest request =
            new("CN=stranger", key, HashAlgorithmName.SHA256, RSASignaturePadding.Pkcs1);
        request.CertificateExtensions.Add(new X509AuthorityInformationAccessExtension(null, [issuer]));
        using X509Certificate2 bare = request.Create(
            new X500DistinguishedName("CN=authority"),
            X509SignatureGenerator.CreateForRSA(authority, RSASignaturePadding.Pkcs1),
            DateTimeOffset.UtcNow.AddDays(-1), DateTimeOffset.UtcNow.AddDays(1), [1, 2, 3]);
        return TestCertificate.WithKey(bare, key);
    }

    [Fact]
    public async Task Headers_of_a_proxy_go_with_each_call()
    {
        List<string> seen = [];
        using WordsServer server = new("grpc://127.0.0.1:0", new RpcServerOptions
        {
            Interceptors = [new Look(context => seen.Add(
                $"{context.RequestHeaders.GetText("tenant")} "
                + $"{context.RequestHeaders.GetBytes("key-bin")?.Length}"))],
        });
        await using ToolProcess proxy = await ToolProcess.StartAsync(
            null,
            ["proxy", Tcp, $"{server.Endpoint}", .. Words, "-H", "tenant: blue", "-H", "key-bin: AQID"]);
        using RpcClient caller = Caller(proxy);

        await SayAsync(caller, "hi");

        Assert.Equal("blue 3", Assert.Single(seen));
    }

    [Theory]
    [InlineData("--cacert cannot be used", "grpc://127.0.0.1:0", "grpc://127.0.0.1:1", "--cacert", "x.pem")]
    [InlineData("--insecure cannot be used", Tcp, "tcp://127.0.0.1:1", "--insecure")]
    [InlineData("--tls cannot be used", Tcp, "local://x", "--tls")]
    [InlineData("--listen-cert cannot be used", Tcp, "tcp://127.0.0.1:1", "--listen-cert", "@")]
    [InlineData("need a certificate", "https://127.0.0.1:0/", "tcp://127.0.0.1:1")]
    [InlineData("need a certificate", Tcp, "tcp://127.0.0.1:1", "--listen-tls")]
    [InlineData("--key is the key of --cert", Tcp, "grpcs://127.0.0.1:1", "--key", "x")]
    [InlineData("'no.pem' cannot be used", Tcp, "grpcs://127.0.0.1:1", "--cert", "no.pem")]
    [InlineData("--bearer alone", Tcp, "grpc://127.0.0.1:1", "--bearer", "x", "--user", "a:b")]
    [InlineData("NAME:PASSWORD", Tcp, "grpc://127.0.0.1:1", "--user", "ann")]
    [InlineData("'NO_SUCH' of --bearer is not set", Tcp, "grpc://127.0.0.1:1", "--bearer", "env:NO_SUCH")]
    [InlineData("--auth self calls as", Tcp, "tcp://127.0.0.1:1", "--auth", "self", "--user", "a:b")]
    [InlineData("would accept anonymous callers", Tcp, "tcp://127.0.0.1:1", "--listen-bearer", "x")]
    [InlineData("has no name", Tcp, "grpc://127.0.0.1:1", "-H", "x")]
    [InlineData("cannot be sent", Tcp, "grpc://127.0.0.1:1", "-H", "a b: x")]
    [InlineData("must be base64", Tcp, "grpc://127.0.0.1:1", "-H", "a-bin: ?")]
    [InlineData("--mask leaves fields out of --record", Tcp, "grpc://127.0.0.1:1", "--mask", "x")]
    public async Task Options_that_mean_nothing_or_would_not_protect_are_refused(
        string text, string front, string back, params string[] more)
    {
        string own = Path.Combine(_folder.FullName, "own.pfx");
        File.WriteAllBytes(own, TestCertificate.CreatePfx("", "CN=own", ["own"]));

        (int code, string output, string error) = await ToolProcess.RunAsync(
            null, ["proxy", front, back, .. Words, .. more.Select(one => one == "@" ? own : one)]);

        Assert.Contains(text, error, StringComparison.Ordinal);
        Assert.Equal(2, code);
        Assert.Equal("", output);
    }

    [Theory]
    [InlineData("listen", "--bearer", "x", "grpc://127.0.0.1:0", Tcp)]
    [InlineData("listen", "--bearer", "x", Tcp)]
    [InlineData("mock", "--bearer", "x", "http://127.0.0.1:0/", Tcp)]
    public async Task A_token_leaves_no_TCP_endpoint_open_to_all(
        string verb, string option, string value, params string[] endpoints)
    {
        (int code, string output, string error) = await ToolProcess.RunAsync(
            null, [verb, .. endpoints, option, value, .. Words]);

        Assert.Contains("would accept anonymous callers", error, StringComparison.Ordinal);
        Assert.Contains("Give --user or --auth as well; --auth none", error, StringComparison.Ordinal);
        Assert.Equal(2, code);
        Assert.Equal("", output);
    }

    [Fact]
    public async Task Calls_through_a_proxy_are_recorded_without_what_is_masked()
    {
        string file = Path.Combine(_folder.FullName, "calls.jsonl");
        using WordsServer server = new("grpc://127.0.0.1:0");
        await using (ToolProcess proxy = await ToolProcess.StartAsync(
            null,
            [
                "proxy", Tcp, $"{server.Endpoint}", .. Words, "--record", file, "--mask", "text", "--mask",
                "no",
            ]))
        {
            using RpcClient caller = Caller(proxy);
            Assert.Equal("hidden", await SayAsync(caller, "hidden"));
            Assert.Contains("--mask 'no'", proxy.Error, StringComparison.Ordinal);
        }

        string line = Assert.Single(await File.ReadAllLinesAsync(file));
        Assert.Contains("streams.Words/Say", line, StringComparison.Ordinal);
        Assert.DoesNotContain("hidden", line, StringComparison.Ordinal);
    }

    private static System.Security.Principal.GenericIdentity Identity => new("gateway");

    private static RpcClientOptions Bearer(string token) => new()
    {
        Security = new() { Authentication = RpcClientAuthentication.Bearer, Token = token },
    };

    private static RpcClientOptions User(string name, string password) => new()
    {
        Security = new()
        {
            Authentication = RpcClientAuthentication.User,
            Credential = new NetworkCredential(name, password),
        },
    };

    private static RpcTlsOptions Trust(string path) =>
        new() { CaCertificates = [X509CertificateLoader.LoadCertificateFromFile(path)] };

    private static X509Certificate2 Load(string path, string key)
    {
        using X509Certificate2 pem = X509Certificate2.CreateFromPemFile(path, key);
        return X509CertificateLoader.LoadPkcs12(pem.Export(X509ContentType.Pkcs12), null);
    }

    private static RpcClient Caller(ToolProcess process, RpcClientOptions? options = null) =>
        Caller(process.Endpoints[0], options ?? new());

    private static RpcClient Caller(string endpoint, RpcClientOptions options) => RpcClient.Connect(
        endpoint, WordsServer.Schema, options with { Service = "streams.Words", Lazy = true });

    private static async Task<string> SayAsync(RpcClient caller, string text) =>
        WordsServer.TextOf(await caller.InvokeAsync("Say", WordsServer.Text(text)));

    private static async Task RefusesAsync(string endpoint, RpcClientOptions options)
    {
        using RpcClient caller = Caller(endpoint, options);
        RpcException error = await Assert.ThrowsAsync<RpcException>(() => SayAsync(caller, "x"));
        Assert.True(
            error.Code is RpcStatusCode.Unauthenticated or RpcStatusCode.PermissionDenied, error.Message);
    }

    private sealed class Look(Action<RpcServerCallContext> look) : IRpcInterceptor
    {
        public ValueTask<Google.Protobuf.IMessage> InvokeAsync(
            RpcServerCallContext context, Google.Protobuf.IMessage request, RpcHandler next)
        {
            look(context);
            return next(context, request);
        }

        public ValueTask InvokeStreamAsync(
            RpcServerCallContext context, RpcServerStream stream, RpcStreamHandler next)
        {
            look(context);
            return next(context, stream);
        }
    }
}

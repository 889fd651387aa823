using System.Diagnostics;
using System.Net;
using System.Security.Cryptography.X509Certificates;
using ProtoRpc.Http.Tests.Tool;

namespace ProtoRpc.Http.Tests.Proxies;

/// <summary>Calls through a proxy: of the options, and of the environment.</summary>
public sealed class ProxyTests : IDisposable
{
    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(30);

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("protorpc-");

    public void Dispose() => _folder.Delete(recursive: true);

    [Fact]
    public async Task Grpc_calls_and_streams_pass_through_a_tunnel()
    {
        using WordsServer server = new();
        using ConnectProxy proxy = new(server.Endpoint.Port);
        await using RpcClient client = server.Connect(new() { Proxy = new WebProxy(proxy.Address) });

        Assert.Equal("x", WordsServer.TextOf(await client.InvokeAsync("Say", WordsServer.Text("x"))));
        List<string> words = [];
        await using (RpcStreamingCall call = await client.OpenAsync("Split"))
        {
            await call.SendAsync(WordsServer.Text("a b c"));
            await call.CompleteAsync();
            while (await call.ReadAsync())
            {
                words.Add(WordsServer.TextOf(call.Current));
            }
        }

        Assert.Equal(["a", "b", "c"], words);
        Assert.Equal($"CONNECT 127.0.0.1:{server.Endpoint.Port} HTTP/1.1", Assert.Single(proxy.Requests));
    }

    [Fact]
    public async Task TLS_is_between_client_and_server()
    {
        (string certificate, string key) = ToolProcess.WriteCertificate(_folder.FullName, "localhost");
        using X509Certificate2 loaded = X509Certificate2.CreateFromPemFile(certificate, key);
        using WordsServer server = new("grpcs://127.0.0.1:0", new() { Certificate = loaded });
        using ConnectProxy proxy = new(server.Endpoint.Port);
        WebProxy address = new(proxy.Address);
        await using RpcClient client = server.Connect(
            new() { Proxy = address, Tls = new() { CaCertificates = [loaded] } });

        Assert.Equal("x", WordsServer.TextOf(await client.InvokeAsync("Say", WordsServer.Text("x"))));
        RpcException error = Assert.Throws<RpcException>(() => server.Connect(new() { Proxy = address }));
        Assert.Equal(RpcErrorIds.CertificateNotTrusted, error.ErrorId);
        Assert.All(proxy.Requests, line => Assert.StartsWith("CONNECT ", line, StringComparison.Ordinal));
    }

    [Theory]
    [InlineData("grpc://127.0.0.1:0")]
    [InlineData("http://127.0.0.1:0/")]
    public async Task A_proxy_may_ask_for_a_user(string endpoint)
    {
        using WordsServer server = new(endpoint);
        using ConnectProxy proxy = new(server.Endpoint.Port, "user:p@ss");
        WebProxy address = new(proxy.Address) { Credentials = new NetworkCredential("user", "p@ss") };
        await using RpcClient client = server.Connect(new() { Proxy = address });

        Assert.Equal("x", WordsServer.TextOf(await client.InvokeAsync("Say", WordsServer.Text("x"))));
        Assert.NotEmpty(proxy.Requests);
    }

    [Theory]
    [InlineData("407", RpcStatusCode.Unauthenticated, "http://USER:PASSWORD@HOST:PORT")]
    [InlineData("502", RpcStatusCode.Unavailable, "502 Bad Gateway")]
    [InlineData("nobody", RpcStatusCode.Unavailable, "nothing listens there")]
    [InlineData("socks", RpcStatusCode.InvalidArgument, "gRPC needs an http:// or https:// proxy")]
    public void What_the_proxy_does_not_do_is_said_with_its_address(
        string kind, RpcStatusCode code, string why)
    {
        using WordsServer server = new();
        using ClosedPort closed = new();
        using ConnectProxy proxy = new(
            kind == "502" ? closed.Number : server.Endpoint.Port, kind == "407" ? "user:secret" : null);
        string address = kind switch
        {
            "nobody" => $"http://127.0.0.1:{closed.Number}",
            "socks" => "socks5://127.0.0.1:1080",
            _ => proxy.Address,
        };
        WebProxy route = new(address) { Credentials = new NetworkCredential("user", "wrong-password") };

        RpcException error = Assert.Throws<RpcException>(
            () => server.Connect(new() { Proxy = route, RetryCount = 0 }));

        Assert.Equal((code, RpcErrorIds.ProxyRefused), (error.Code, error.ErrorId));
        Assert.Contains(why, error.Message, StringComparison.Ordinal);
        Assert.Contains($"'{address}'", error.Message, StringComparison.Ordinal);
        Assert.DoesNotContain("wrong-password", error.ToString(), StringComparison.Ordinal);
        Assert.False(error.MayHaveExecuted);
    }

    [Theory]
    [InlineData("grpc", "https_proxy")]
    [InlineData("grpc", "ALL_PROXY")]
    [InlineData("grpc", "grpc_proxy")]
    [InlineData("http", "http_proxy")]
    public async Task The_tool_takes_the_proxy_of_the_environment(string scheme, string variable)
    {
        using WordsServer server = Named(scheme);
        using ConnectProxy proxy = new(server.Endpoint.Port);
        string[] call = Call($"{scheme}://words.example:{server.Endpoint.Port}");

        (int code, string output, string error) = await RunAsync(new() { [variable] = proxy.Address }, call);

        Assert.Equal((0, ""), (code, error));
        Assert.Contains("hello", output, StringComparison.Ordinal);
        Assert.Contains($"words.example:{server.Endpoint.Port}", Assert.Single(proxy.Requests));

        // Nobody knows the name but the proxy.
        string[] exceptions = ["words.example", "example", ".example", "*"];
        foreach ((int failed, _, string why) in await Task.WhenAll(exceptions.Select(exception => RunAsync(
            new() { [variable] = proxy.Address, ["NO_PROXY"] = exception }, call))))
        {
            Assert.Equal(64 + (int)RpcStatusCode.Unavailable, failed);
            Assert.Contains("words.example", why, StringComparison.Ordinal);
        }

        Assert.Single(proxy.Requests);
    }

    [Fact]
    public async Task The_tool_takes_a_proxy_by_an_option_before_the_environment()
    {
        using WordsServer server = Named("grpc");
        using ConnectProxy proxy = new(server.Endpoint.Port, "user:p ss");
        string[] call = Call($"grpc://words.example:{server.Endpoint.Port}");
        string address = proxy.Address.Replace("//", "//user:p%20ss@", StringComparison.Ordinal);

        (int code, string output, string error) = await ToolProcess.RunAsync(
            null, [.. call, "--proxy", address]);
        Assert.Equal((0, ""), (code, error));
        Assert.Contains("hello", output, StringComparison.Ordinal);

        (code, _, error) = await RunAsync(
            new() { ["https_proxy"] = address }, [.. call, "--proxy", "none"]);
        Assert.Equal(64 + (int)RpcStatusCode.Unavailable, code);
        Assert.Contains("host name is unknown", error, StringComparison.Ordinal);
        Assert.Single(proxy.Requests);
    }

    [Theory]
    [InlineData("ncacn_ip_tcp:127.0.0.1[1]", "http://127.0.0.1:1", "cannot be used with")]
    [InlineData("grpc://127.0.0.1:1", "http://", "must be an address")]
    public async Task An_option_that_makes_no_sense_is_an_error(string endpoint, string proxy, string why)
    {
        (int code, _, string error) = await ToolProcess.RunAsync(
            null, [.. Call(endpoint), "--proxy", proxy]);

        Assert.Equal(2, code);
        Assert.Contains(why, error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task The_proxy_of_the_environment_is_not_asked_for_loopback()
    {
        using WordsServer server = new();
        using ClosedPort closed = new();

        (int code, string output, string error) = await RunAsync(
            new() { ["https_proxy"] = $"http://127.0.0.1:{closed.Number}" }, Call($"{server.Endpoint}"));

        Assert.Equal((0, ""), (code, error));
        Assert.Contains("hello", output, StringComparison.Ordinal);
    }

    // The client calls an address of localhost, which is not the name in the exceptions.
    [Theory]
    [InlineData("grpc", "localhost", true)]
    [InlineData("grpc", "other.example", false)]
    [InlineData("http", "localhost", true)]
    public async Task A_balanced_client_asks_the_exceptions_for_the_name_of_the_host(
        string scheme, string exception, bool isDirect)
    {
        using WordsServer server = new(scheme == "http" ? "http://127.0.0.1:0/" : "grpc://127.0.0.1:0");
        using ConnectProxy proxy = new(server.Endpoint.Port);
        WebProxy rules = new(proxy.Address) { BypassList = [exception.Replace(".", @"\.")] };
        await using RpcClient client = RpcClient.Connect(
            [RpcEndpoint.Parse($"{scheme}://localhost:{server.Endpoint.Port}")], RpcLoadBalancing.RoundRobin,
            WordsServer.Schema, new() { Proxy = rules, Service = "streams.Words" });

        Assert.Equal("x", WordsServer.TextOf(await client.InvokeAsync("Say", WordsServer.Text("x"))));

        Assert.Equal(isDirect, proxy.Requests.IsEmpty);
    }

    private static WordsServer Named(string scheme) => new(
        scheme == "http" ? "http://127.0.0.1:0/" : "grpc://127.0.0.1:0",
        http: new() { AllowedHosts = ["words.example"] });

    private static string[] Call(string endpoint) =>
    [
        "call", endpoint, "streams.Words/Say", "-d", "{\"text\":\"hello\"}", "--schema",
        Path.Combine(AppContext.BaseDirectory, "protos", "streams.proto"),
    ];

    // A process of its own: .NET reads the variables once.
    private static async Task<(int Code, string Output, string Error)> RunAsync(
        Dictionary<string, string> environment, string[] arguments)
    {
        ProcessStartInfo start = new("dotnet")
        {
            RedirectStandardOutput = true,
            RedirectStandardError = true,
            ArgumentList = { "exec", Path.Combine(AppContext.BaseDirectory, "ProtoRpc.Tool.dll") },
        };
        Array.ForEach(arguments, start.ArgumentList.Add);
        foreach (string name in start.Environment.Keys
            .Where(name => name.EndsWith("_proxy", StringComparison.OrdinalIgnoreCase)).ToArray())
        {
            start.Environment.Remove(name);
        }

        foreach ((string name, string value) in environment)
        {
            start.Environment[name] = value;
        }

        using Process tool = Process.Start(start)!;
        Task<string> output = tool.StandardOutput.ReadToEndAsync();
        Task<string> error = tool.StandardError.ReadToEndAsync();
        await tool.WaitForExitAsync().WaitAsync(Limit);
        return (tool.ExitCode, await output, await error);
    }
}

using System.Security.Cryptography.X509Certificates;

namespace ProtoRpc.Http.Tests.Grpc;

/// <summary>gRPC, gRPC-Web and Connect below a path, as behind a reverse proxy.</summary>
public sealed class BasePathTests : IDisposable
{
    private readonly X509Certificate2 _certificate = TestCertificate.Create("CN=localhost", "127.0.0.1");

    public void Dispose() => _certificate.Dispose();

    [Theory]
    [InlineData("grpc", "/api/v1")]
    [InlineData("grpc", "/api/")]
    [InlineData("grpcs", "/api")]
    [InlineData("grpc", "/\u00FCber weg")]
    [InlineData("grpc", "/a%20b/%C3%BC")]
    [InlineData("grpc", "/a%2Fb")]
    [InlineData("grpc", "/100%")]
    [InlineData("grpc", "/a//b")]
    public async Task A_listener_serves_everything_below_its_path(string scheme, string path)
    {
        using WordsServer server = new(
            $"{scheme}://127.0.0.1:0{path}",
            scheme == "grpcs" ? new() { Certificate = _certificate } : new());
        using RpcClient client = RpcClient.Connect(
            server.Endpoint.Uri, new() { Tls = new() { CaCertificates = [_certificate] } });

        RpcPingResult ping = await client.PingAsync();
        RpcSchema schema = await client.FetchSchemaAsync();
        RpcMethodInfo split = schema.GetMethod("streams.Words/Split");
        List<object?> words = await client.InvokeServerStreamAsync(split, new { text = "a b" })
            .Select(reply => reply["text"]).ToListAsync();

        Assert.Equal(path.TrimEnd('/'), server.Endpoint.Name);
        Assert.Equal("ProtoRpc", ping.Product);
        Assert.Equal("Serving", ping.Health);
        Assert.Equal(["a", "b"], words);
        Assert.Equal("hi", client.Invoke("streams.Words/Say", new { text = "hi" })["text"]);
    }

    [Fact]
    public async Task Nothing_is_served_beside_the_path()
    {
        using WordsServer server = new("grpc://127.0.0.1:0/api");
        byte[] body = WordsServer.Frame(WordsServer.Text("x"));

        foreach (string path in new[] { "", "/apix", "/ap", "/api/api", "/other" })
        {
            using HttpResponseMessage reply = await server.PostAsync(body, $"{path}/streams.Words/Say");
            Assert.Equal("12", WordsServer.Find(reply, "grpc-status"));
        }

        using HttpResponseMessage inside = await server.PostAsync(body, "/api/streams.Words/Say");
        Assert.Equal("0", WordsServer.Find(inside, "grpc-status"));
    }

    [Fact]
    public void A_client_without_the_path_is_told_that_there_is_no_service()
    {
        using WordsServer server = new("grpc://127.0.0.1:0/api");
        using RpcClient client = Connect($"grpc://127.0.0.1:{server.Endpoint.Port}");

        RpcException error = Assert.Throws<RpcException>(() => Say(client, "x"));

        Assert.Equal(RpcStatusCode.Unimplemented, error.Code);
        Assert.Contains("'/streams.Words/Say'", error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("grpc")]
    [InlineData("grpcweb")]
    [InlineData("connect")]
    public void Every_protocol_of_an_HTTP_endpoint_has_its_path(string scheme)
    {
        using WordsServer server = new("http://127.0.0.1:0/a%20pi/v1");
        string address = $"{scheme}://127.0.0.1:{server.Endpoint.Port}";
        using RpcClient inside = Connect($"{address}/a%20pi/v1");
        using RpcClient outside = Connect(address);

        Assert.Equal("x", Say(inside, "x"));
        Assert.Equal(RpcStatusCode.Unimplemented, Assert.Throws<RpcException>(() => Say(outside, "x")).Code);
    }

    [Fact]
    public async Task Two_kinds_of_endpoints_at_one_port_have_their_own_paths()
    {
        using WordsServer first = new("http://127.0.0.1:0/web");
        int port = first.Endpoint.Port;
        await first.Server.ChangeAsync(new()
        {
            Endpoints = [first.Endpoint, RpcEndpoint.Parse($"grpc://127.0.0.1:{port}/rpc")],
        });
        using RpcClient grpc = Connect($"grpc://127.0.0.1:{port}/rpc");
        using RpcClient connect = Connect($"connect://127.0.0.1:{port}/web");
        using RpcClient wrong = Connect($"grpc://127.0.0.1:{port}/web");

        Assert.Equal("x", Say(grpc, "x"));
        Assert.Equal("y", Say(connect, "y"));
        Assert.Equal(RpcStatusCode.Unimplemented, Assert.Throws<RpcException>(() => Say(wrong, "x")).Code);
    }

    [Fact]
    public void A_proxy_that_removes_the_path_reaches_a_listener_without_one()
    {
        using WordsServer server = new();
        List<string> paths = [];
        using RpcClient client = Connect(
            $"{server.Endpoint.Uri}/team/words", () => new PathRemover("/team/words", paths));

        Assert.Equal("x", Say(client, "x"));
        Assert.All(paths, path => Assert.StartsWith("/team/words/", path, StringComparison.Ordinal));
        Assert.NotEmpty(paths);
    }

    [Theory]
    [InlineData("grpc://127.0.0.1:0,localhost:0", "several hosts")]
    [InlineData("grpc+unix://@words", "every account")]
    public void A_listener_has_one_host_and_a_socket_with_an_owner(string endpoint, string why)
    {
        RpcException error = Assert.Throws<RpcException>(() => new WordsServer(endpoint));

        Assert.Equal(RpcErrorIds.InvalidEndpoint, error.ErrorId);
        Assert.Contains(why, error.Message, StringComparison.Ordinal);
    }

    private static RpcClient Connect(string endpoint, Func<HttpMessageHandler>? handler = null) =>
        RpcClient.Connect(
            endpoint, WordsServer.Schema,
            new() { Service = "streams.Words", Lazy = true, HttpHandler = handler });

    private static string Say(RpcClient client, string text) =>
        WordsServer.TextOf(client.Invoke("Say", WordsServer.Text(text)));

    private sealed class PathRemover(string path, List<string> paths)
        : DelegatingHandler(new SocketsHttpHandler { UseProxy = false })
    {
        protected override Task<HttpResponseMessage> SendAsync(
            HttpRequestMessage request, CancellationToken cancellationToken)
        {
            UriBuilder address = new(request.RequestUri!);
            paths.Add(address.Path);
            address.Path = address.Path[path.Length..];
            request.RequestUri = address.Uri;
            request.VersionPolicy = HttpVersionPolicy.RequestVersionExact;
            return base.SendAsync(request, cancellationToken);
        }
    }
}

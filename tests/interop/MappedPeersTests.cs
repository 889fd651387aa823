using System.Globalization;

namespace ProtoRpc.Interop;

/// <summary>The clients of others at a server that an ASP.NET Core application maps.</summary>
[PeerCall("grpcio", "gRPC", PeerSide.Client, PeerCalls.AllKinds | PeerCalls.Tls | PeerCalls.UnixSockets)]
[PeerCall(
    "@grpc/grpc-js", "gRPC", PeerSide.Client, PeerCalls.AllKinds | PeerCalls.Tls | PeerCalls.UnixSockets)]
[PeerCall("curl", "HTTP", PeerSide.Client, PeerCalls.Unary | PeerCalls.Tls | PeerCalls.UnixSockets)]
public static class MappedPeersTests
{
    private const string Json = "{\"response_size\":3,\"response_type\":\"COMPRESSABLE\"}";

    [Theory]
    [PeerData(Peer.PythonGrpc)]
    [PeerData(Peer.NodeGrpc)]
    public static async Task All_cases_of_grpc_pass_on_http2_without_tls(Peer peer)
    {
        using OwnInteropServer server = new();
        await using MappedApplication app = await MappedApplication.StartAsync(server.Server);

        Dictionary<string, string> results = await GrpcClientProcess.RunAsync(peer, app.GrpcOn("tcp"));

        Assert.Superset(InteropCases.Names.ToHashSet(), results.Keys.ToHashSet());
        Assert.All(results, result => Assert.Equal("passed", result.Value));
    }

    [Theory]
    [PeerData(Peer.PythonGrpc)]
    [PeerData(Peer.NodeGrpc)]
    public static async Task Cases_of_grpc_pass_on_a_unix_socket(Peer peer)
    {
        using OwnInteropServer server = new();
        await using MappedApplication app = await MappedApplication.StartAsync(server.Server);

        Dictionary<string, string> results = await GrpcClientProcess.RunAsync(
            peer, app.GrpcOn("unix"),
            "--case", "empty_unary", "--case", "large_unary", "--case", "ping_pong");

        Assert.Equal(3, results.Count);
        Assert.All(results, result => Assert.Equal("passed", result.Value));
    }

    [Theory]
    [PeerData(Peer.PythonGrpc)]
    [PeerData(Peer.NodeGrpc)]
    public static async Task Cases_of_grpc_pass_with_tls_by_a_name_of_the_certificate(Peer peer)
    {
        using OwnInteropServer server = new();
        await using MappedApplication app = await MappedApplication.StartAsync(server.Server);

        Dictionary<string, string> results = await GrpcClientProcess.RunAsync(
            peer, app.GrpcOn("tls"), "--authority", app.AuthorityFile, "--server-name", TlsFiles.ServerName,
            "--case", "empty_unary", "--case", "large_unary", "--case", "ping_pong");

        Assert.Equal(3, results.Count);
        Assert.All(results, result => Assert.Equal("passed", result.Value));
    }

    [PeerTheory(Peer.Curl)]
    [InlineData("http1", "1.1")]
    [InlineData("http2", "2", "--http2-prior-knowledge")]
    [InlineData("https", "1.1", "--http1.1")]
    [InlineData("https", "2", "--http2")]
    public static async Task Curl_calls_on_every_port(
        string endpoint, string version, params string[] arguments)
    {
        using OwnInteropServer server = new();
        await using MappedApplication app = await MappedApplication.StartAsync(server.Server);
        (string address, string[] connect) = endpoint switch
        {
            "http1" => (app.Http1, Array.Empty<string>()),
            "http2" => (app.Http2, []),
            _ => ($"https://{TlsFiles.ServerName}:{PortOf(app.Https)}",
            [
                "--cacert", app.AuthorityFile,
                "--resolve", $"{TlsFiles.ServerName}:{PortOf(app.Https)}:127.0.0.1",
            ]),
        };

        await CallAsync(address, version, [.. connect, .. arguments]);
    }

    [PeerFact(Peer.Curl)]
    public static async Task Curl_calls_on_a_Unix_socket()
    {
        using OwnInteropServer server = new();
        await using MappedApplication app = await MappedApplication.StartAsync(server.Server);

        await CallAsync(
            "http://anything.example", "2", ["--unix-socket", app.Socket, "--http2-prior-knowledge"]);
    }

    private static async Task CallAsync(string address, string version, string[] arguments)
    {
        using PeerProcess curl = PeerProcess.Start(
            "curl",
            [
                "-s", "-S", "--noproxy", "*", "-w", "\n%{http_code} %{http_version}",
                .. arguments, "-H", "Content-Type: application/json", "-d", Json,
                $"{address}/grpc.testing.TestService/UnaryCall",
            ]);
        string[] said = (await curl.ReadToEndAsync()).Split('\n');

        Assert.Equal($"200 {version}", said[^1]);
        Assert.Contains("\"body\":\"AAAA\"", said[0], StringComparison.Ordinal);
    }

    private static string PortOf(string url) => new Uri(url).Port.ToString(CultureInfo.InvariantCulture);
}

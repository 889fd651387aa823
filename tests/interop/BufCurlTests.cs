using System.Globalization;
using System.Text;
using System.Text.Json;
using System.Text.Json.Nodes;

namespace ProtoRpc.Interop;

/// <summary>buf curl, the client of connect-go, calls our listener by all three protocols, without and with
/// TLS, and reads our schema.</summary>
[PeerCall(
    "buf curl (connect-go)", "Connect", PeerSide.Client, PeerCalls.AllKinds | PeerCalls.Errors
        | PeerCalls.ErrorDetails | PeerCalls.Metadata | PeerCalls.Deadlines | PeerCalls.Compression
        | PeerCalls.Tls)]
[PeerCall(
    "buf curl (connect-go)", "gRPC", PeerSide.Client, PeerCalls.AllKinds | PeerCalls.Errors
        | PeerCalls.ErrorDetails | PeerCalls.Metadata | PeerCalls.Deadlines | PeerCalls.Compression
        | PeerCalls.Tls | PeerCalls.Reflection)]
[PeerCall(
    "buf curl (connect-go)", "gRPC-Web", PeerSide.Client, PeerCalls.AllKinds | PeerCalls.Errors
        | PeerCalls.ErrorDetails | PeerCalls.Metadata | PeerCalls.Deadlines | PeerCalls.Compression
        | PeerCalls.Tls)]
public sealed class BufCurlTests : IDisposable
{
    // buf shifts the code of a status by three bits.
    private const int NotFound = (int)RpcStatusCode.NotFound << 3;
    private const int Aborted = (int)RpcStatusCode.Aborted << 3;
    private const int DeadlineExceeded = (int)RpcStatusCode.DeadlineExceeded << 3;
    private const int Unimplemented = (int)RpcStatusCode.Unimplemented << 3;

    // HTTP/2 at the port of http://, which a client begins without asking for it.
    private const string Http2 = "http with HTTP/2";

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("protorpc-");
    private readonly TlsFiles _tls = new();
    private readonly WordsServer _server;
    private readonly string _schema;

    public BufCurlTests()
    {
        _server = new WordsServer(
            "http://127.0.0.1:0/", new() { Certificate = _tls.Server },
            new() { ReplyCompression = RpcReplyCompression.Always },
            "https://127.0.0.1:0/", "grpc://127.0.0.1:0", "grpcs://127.0.0.1:0");
        _schema = Path.Combine(_folder.FullName, "words.binpb");
        File.WriteAllBytes(_schema, WordsServer.Schema.ToDescriptorSet());
    }

    public void Dispose()
    {
        _server.Dispose();
        _tls.Dispose();
        _folder.Delete(recursive: true);
    }

    [PeerTheory(Peer.Buf)]
    [InlineData("connect", "http")]
    [InlineData("connect", "https")]
    [InlineData("grpcweb", "http")]
    [InlineData("grpcweb", "https")]
    [InlineData("connect", Http2)]
    [InlineData("grpcweb", Http2)]
    [InlineData("grpc", Http2)]
    [InlineData("grpc", "grpc")]
    [InlineData("grpc", "grpcs")]
    public async Task Calls_methods_of_each_kind(string protocol, string scheme)
    {
        string text = new('x', 20_000);

        Assert.Equal([text], await TextsAsync(protocol, scheme, "Words/Say", text));
        Assert.Equal(["a", text, "c"], await TextsAsync(protocol, scheme, "Words/Split", $"a {text} c"));
        Assert.Equal([$"a {text} c"], await TextsAsync(protocol, scheme, "Words/Join", "a", text, "c"));
        // It streams in both directions over HTTP/2 alone.
        if (scheme != "http")
        {
            Assert.Equal(["one!", "two!"], await TextsAsync(protocol, scheme, "Words/Chat", "one", "two"));
        }
    }

    [PeerTheory(Peer.Buf)]
    [InlineData("connect", "http")]
    [InlineData("connect", "https")]
    [InlineData("grpcweb", "http")]
    [InlineData("grpc", "grpc")]
    public async Task Reads_status_details_and_metadata(string protocol, string scheme)
    {
        PeerResult failed = await CallAsync(protocol, scheme, "Words/Say", ["fail"]);
        PeerResult broken = await CallAsync(protocol, scheme, "Words/Split", ["a fail"]);
        PeerResult late = await CallAsync(protocol, scheme, "Words/Say", ["wait"], "--timeout", "400ms");
        PeerResult missing = await CallAsync(protocol, scheme, "Silent/Say", ["a"]);
        PeerResult headers = await CallAsync(
            protocol, scheme, "Words/Say", ["headers"],
            "-v", "-H", "x-asked: here", "-H", "x-asked-bin: AP8");

        JsonNode error = JsonNode.Parse(failed.Errors)!;
        Assert.Equal(NotFound, failed.Code);
        Assert.Equal("Kein Öl: 100 % leer\n", (string?)error["message"]);
        Assert.Equal("streams.Text", (string?)error["details"]![0]!["type"]);
        Assert.Equal("CghhIGRldGFpbA", (string?)error["details"]![0]!["value"]);
        Assert.Equal((Aborted, "a"), (broken.Code, Assert.Single(TextsOf(broken.Output))));
        Assert.Equal("in the middle", (string?)JsonNode.Parse(broken.Errors)!["message"]);
        Assert.Equal(DeadlineExceeded, late.Code);
        Assert.Equal(Unimplemented, missing.Code);
        Assert.Equal(0, headers.Code);
        Assert.Contains("X-First: here", headers.Errors, StringComparison.OrdinalIgnoreCase);
        // It shows no trailers that are in a body, as those of gRPC-Web are.
        if (protocol != "grpcweb")
        {
            Assert.Contains("X-Last-Bin: AP8", headers.Errors, StringComparison.OrdinalIgnoreCase);
        }
    }

    [PeerTheory(Peer.Buf)]
    [InlineData("grpc", "grpc-v1")]
    [InlineData("grpc", "grpc-v1alpha")]
    [InlineData("grpcs", "grpc-v1")]
    [InlineData(Http2, "grpc-v1")]
    public async Task Reads_our_schema_by_reflection(string scheme, string version)
    {
        string[] reflect = ["--protocol", "grpc", "--reflect-protocol", version];

        PeerResult services = await RunAsync(scheme, "", ["--list-services", .. reflect]);
        PeerResult methods = await RunAsync(scheme, "", ["--list-methods", .. reflect]);
        PeerResult said = await RunAsync(
            scheme, "/streams.Words/Say", ["-d", RequestsOf("hello"), .. reflect]);

        Assert.Contains("streams.Words", services.Output.Split('\n'));
        Assert.Superset(
            new[] { "Say", "Split", "Join", "Chat" }.Select(name => $"streams.Words/{name}").ToHashSet(),
            methods.Output.Split('\n').ToHashSet());
        Assert.Equal("hello", Assert.Single(TextsOf(said.Output)));
    }

    private async Task<List<string>> TextsAsync(
        string protocol, string scheme, string method, params string[] texts)
    {
        PeerResult result = await CallAsync(protocol, scheme, method, texts);
        Assert.True(result is { Code: 0, Errors: "" }, $"{result.Code}: {result.Errors}");
        return TextsOf(result.Output);
    }

    private Task<PeerResult> CallAsync(
        string protocol, string scheme, string method, string[] texts, params string[] further) =>
        RunAsync(
            scheme, $"/streams.{method}",
            ["--protocol", protocol, "--schema", _schema, "-d", RequestsOf(texts), .. further]);

    private async Task<PeerResult> RunAsync(string scheme, string path, string[] arguments)
    {
        string start = scheme == Http2 ? "http:" : $"{scheme}:";
        RpcEndpoint endpoint = _server.Server.Endpoints.Single(
            endpoint => endpoint.Uri.StartsWith(start, StringComparison.Ordinal));
        string port = endpoint.Port.ToString(CultureInfo.InvariantCulture);
        string[] tls = ["--cacert", _tls.AuthorityFile, "--servername", TlsFiles.ServerName];
        using PeerProcess buf = PeerProcess.Start(
            Peers.Node,
            [new("BUF_CACHE_DIR", Path.Combine(_folder.FullName, "cache")), new("NO_PROXY", "*")],
            [
                Peers.Buf, "curl", .. arguments, .. endpoint.IsTls ? tls : [],
                .. scheme == Http2 ? ["--http2-prior-knowledge"] : Array.Empty<string>(),
                $"{(endpoint.IsTls ? "https" : "http")}://127.0.0.1:{port}{path}",
            ]);
        return await buf.ReadResultAsync();
    }

    private static string RequestsOf(params string[] texts) =>
        string.Concat(texts.Select(text => new JsonObject { ["text"] = text }.ToJsonString()));

    // One JSON value after the other.
    private static List<string> TextsOf(string output)
    {
        List<string> texts = [];
        Utf8JsonReader reader = new(
            Encoding.UTF8.GetBytes(output), new JsonReaderOptions { AllowMultipleValues = true });
        while (reader.Read())
        {
            texts.Add((string)JsonNode.Parse(ref reader)!["text"]!);
        }

        return texts;
    }
}

using Google.Protobuf;

namespace ProtoRpc.Interop;

/// <summary>Connect and gRPC-Web between our clients and servers and those of
/// @connectrpc/connect-node.</summary>
public sealed class ConnectNodeTests : IDisposable
{
    private static readonly string Folder = Path.Combine(AppContext.BaseDirectory, "node");

    private readonly string _descriptors = Path.GetTempFileName();

    public ConnectNodeTests() => File.WriteAllBytes(_descriptors, WordsServer.Schema.ToDescriptorSet());

    public void Dispose() => File.Delete(_descriptors);

    [PeerCall(
        "@connectrpc/connect-node", "Connect", PeerSide.Client, PeerCalls.AllKinds | PeerCalls.Errors
            | PeerCalls.ErrorDetails | PeerCalls.Metadata | PeerCalls.Deadlines | PeerCalls.Cancellation
            | PeerCalls.Compression | PeerCalls.Tls)]
    [PeerCall(
        "@connectrpc/connect-node", "gRPC-Web", PeerSide.Client, PeerCalls.AllKinds | PeerCalls.Errors
            | PeerCalls.ErrorDetails | PeerCalls.Metadata | PeerCalls.Deadlines | PeerCalls.Cancellation
            | PeerCalls.Compression)]
    [PeerTheory(Peer.NodeConnect)]
    [InlineData("--json")]
    [InlineData("--compression=gzip")]
    [InlineData("--compression=br", "--json")]
    [InlineData("--grpc-web")]
    [InlineData("--grpc-web", "--compression=gzip")]
    [InlineData("--http2")]
    [InlineData("--http2", "--json", "--compression=gzip")]
    public async Task Its_client_calls_our_server(params string[] arguments)
    {
        bool isSecure = arguments.Contains("--http2");
        using TlsFiles tls = new();
        using WordsServer server = new(
            isSecure ? "https://127.0.0.1:0/" : "http://127.0.0.1:0/",
            isSecure ? new RpcServerOptions { Certificate = tls.Server } : null,
            new() { ReplyCompression = RpcReplyCompression.Always });
        string[] further = isSecure
            ? ["--authority", tls.AuthorityFile, "--server-name", TlsFiles.ServerName]
            : [];
        using PeerProcess client = PeerProcess.Start(
            Peers.Node,
            [
                Path.Combine(Folder, "connect_client.mjs"), .. arguments, .. further,
                server.Endpoint.Uri.TrimEnd('/'), _descriptors,
            ]);

        string output = await client.ReadToEndAsync();

        // Its client also streams in both directions over HTTP/1.1, and requests over gRPC-Web.
        string[] cases = output.Split('\n', StringSplitOptions.RemoveEmptyEntries);
        Assert.Equal(9, cases.Length);
        Assert.All(cases, outcome => Assert.EndsWith(" passed", outcome, StringComparison.Ordinal));
    }

    [PeerCall(
        "@connectrpc/connect-node", "Connect", PeerSide.Server, PeerCalls.AllKinds | PeerCalls.Errors
            | PeerCalls.ErrorDetails | PeerCalls.Metadata | PeerCalls.Deadlines | PeerCalls.Compression
            | PeerCalls.Tls)]
    [PeerCall(
        "@connectrpc/connect-node", "gRPC-Web", PeerSide.Server, PeerCalls.Unary | PeerCalls.ServerStream
            | PeerCalls.Errors | PeerCalls.ErrorDetails | PeerCalls.Metadata | PeerCalls.Deadlines
            | PeerCalls.Compression | PeerCalls.Tls)]
    [PeerTheory(Peer.NodeConnect)]
    [InlineData("connect", "", "Binary", RpcCompression.None)]
    [InlineData("connect", "", "Json", RpcCompression.Gzip)]
    [InlineData("connect", "", "Binary", RpcCompression.Brotli)]
    [InlineData("connect", "--http2", "Binary", RpcCompression.None)]
    [InlineData("connect", "--http2", "Json", RpcCompression.Gzip)]
    [InlineData("connects", "--certificate", "Binary", RpcCompression.None)]
    [InlineData("grpcweb", "", "Binary", RpcCompression.None)]
    [InlineData("grpcweb", "", "Binary", RpcCompression.Gzip)]
    [InlineData("grpcwebs", "--certificate", "Binary", RpcCompression.None)]
    public async Task Our_client_calls_its_server(
        string scheme, string argument, string format, RpcCompression compression)
    {
        using TlsFiles tls = new();
        using PeerProcess server = PeerProcess.Start(
            Peers.Node,
            [
                Path.Combine(Folder, "connect_server.mjs"), _descriptors,
                .. argument == "--certificate"
                    ? ["--certificate", tls.ServerFile, "--key", tls.ServerKeyFile]
                    : argument.Length > 0 ? new[] { argument } : [],
            ]);
        string port = (await server.ReadLineAsync()).Split(' ')[1];
        using RpcClient client = RpcClient.Connect(
            RpcEndpoint.Parse($"{scheme}://127.0.0.1:{port}"), WordsServer.Schema, new()
            {
                Service = "streams.Words",
                Format = format == "Json" ? MessageFormats.Json : MessageFormats.Binary,
                Compression = compression,
                ReplyCompression = RpcReplyCompression.Always,
                Tls = new() { CaCertificates = [tls.Authority], ServerName = TlsFiles.ServerName },
            });
        string text = new('x', 20_000);
        RpcMetadata headers = new();
        headers.Add("x-text", "here");
        headers.Add("x-bytes-bin", [0, 255]);
        RpcReplyInfo info = new();

        IMessage said = client.Invoke(
            "Say", WordsServer.Text(text), new RpcCallOptions { Headers = headers, ReplyInfo = info });
        Assert.Equal(text, WordsServer.TextOf(said));
        RequireMetadata(info);

        info = new RpcReplyInfo();
        List<string> split = await TextsAsync(client.InvokeServerStreamAsync(
            "Split", WordsServer.Text($"a {text} c"),
            new RpcCallOptions { Headers = headers, ReplyInfo = info }));
        Assert.Equal(["a", text, "c"], split);
        RequireMetadata(info);

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke("Say", WordsServer.Text("fail")));
        RpcException later = await Assert.ThrowsAsync<RpcException>(() => TextsAsync(
            client.InvokeServerStreamAsync("Split", WordsServer.Text("a fail"))));
        foreach (RpcException failure in new[] { error, later })
        {
            Assert.Equal((RpcStatusCode.NotFound, "Kein Öl: 100 %"), (failure.Code, failure.Message));
            Assert.Equal("a detail", WordsServer.TextOf((DynamicMessage)Assert.Single(failure.Details)));
        }

        RpcException late = await Assert.ThrowsAsync<RpcException>(() => TextsAsync(
            client.InvokeServerStreamAsync(
                "Split", WordsServer.Text("a wait"),
                new RpcCallOptions { Timeout = TimeSpan.FromMilliseconds(300) })));
        Assert.Equal(RpcStatusCode.DeadlineExceeded, late.Code);

        if (!scheme.StartsWith("grpcweb", StringComparison.Ordinal))
        {
            IMessage joined = await client.InvokeClientStreamAsync("Join", RequestsAsync("a", text, "c"));
            Assert.Equal($"a {text} c", WordsServer.TextOf(joined));
        }

        if (scheme == "connects" || argument == "--http2")
        {
            await using RpcStreamingCall call = client.Open(client.GetMethod("Chat"));
            foreach (string word in new[] { "one", "two" })
            {
                Assert.True(await call.SendAsync(WordsServer.Text(word)));
                Assert.True(await call.ReadAsync());
                Assert.Equal($"{word}!", WordsServer.TextOf(call.Current));
            }
        }
    }

    private static void RequireMetadata(RpcReplyInfo info)
    {
        Assert.Equal("here", info.Headers.GetText("x-head"));
        Assert.Equal("here", info.Trailers.GetText("x-trail"));
        Assert.Equal([0, 255], info.Trailers.GetBytes("x-trail-bin"));
    }

    private static async IAsyncEnumerable<object> RequestsAsync(params string[] texts)
    {
        foreach (string text in texts)
        {
            await Task.Yield();
            yield return WordsServer.Text(text);
        }
    }

    private static async Task<List<string>> TextsAsync(IAsyncEnumerable<DynamicMessage> replies)
    {
        List<string> texts = [];
        await foreach (DynamicMessage reply in replies)
        {
            texts.Add(WordsServer.TextOf(reply));
        }

        return texts;
    }
}

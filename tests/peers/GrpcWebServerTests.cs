using System.Net;
using Google.Protobuf;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

namespace ProtoRpc.Peers;

/// <summary>Calls of our client on grpcweb:// endpoints to Grpc.AspNetCore.Web.</summary>
[PeerCall(
    "Grpc.AspNetCore.Web", "gRPC-Web", PeerSide.Server, PeerCalls.Unary | PeerCalls.ServerStream
        | PeerCalls.Errors | PeerCalls.ErrorDetails | PeerCalls.Metadata | PeerCalls.Deadlines
        | PeerCalls.Compression)]
public sealed class GrpcWebServerTests : IAsyncLifetime
{
    private WebApplication _application = null!;
    private string _address = "";

    public async ValueTask InitializeAsync()
    {
        WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.Services.AddGrpc();
        builder.Services.AddSingleton<WordsService>();
        builder.WebHost.ConfigureKestrel(kestrel => kestrel.Listen(
            IPAddress.Loopback, 0, listen => listen.Protocols = HttpProtocols.Http1));
        _application = builder.Build();
        _application.UseGrpcWeb(new GrpcWebOptions { DefaultEnabled = true });
        _application.MapGrpcService<WordsService>();
        await _application.StartAsync();
        _address = $"grpcweb://127.0.0.1:{new Uri(_application.Urls.First()).Port}";
    }

    public ValueTask DisposeAsync() => _application.DisposeAsync();

    [Theory]
    [InlineData(false, RpcCompression.None)]
    [InlineData(false, RpcCompression.Gzip)]
    [InlineData(true, RpcCompression.None)]
    [InlineData(true, RpcCompression.Gzip)]
    public async Task Calls_metadata_and_failures_go_both_ways(bool isText, RpcCompression compression)
    {
        using RpcClient client = Connect(isText, compression);
        RpcMetadata headers = new();
        headers.Add("x-asked", "here");
        headers.Add("x-asked-bin", [0, 255, 7]);
        RpcReplyInfo info = new();
        RpcCallOptions options = new() { Headers = headers, ReplyInfo = info };

        IMessage said = client.Invoke("Say", WordsServer.Text("headers"), options);
        IMessage large = await client.InvokeAsync("Say", WordsServer.Payload(50_000));
        IMessage encoding = client.Invoke("Say", WordsServer.Text("encoding"));
        IMessage empty = client.Invoke("Say", WordsServer.Text("empty"));

        Assert.Equal("3", WordsServer.TextOf(said));
        Assert.Equal("here", info.Headers.GetText("x-first"));
        Assert.Equal([0, 255, 7], info.Trailers.GetBytes("x-last-bin"));
        Assert.Equal(WordsServer.Payload(50_000), large);
        Assert.Equal(
            compression == RpcCompression.Gzip ? "gzip" : "none", WordsServer.TextOf(encoding));
        Assert.Equal("", WordsServer.TextOf(empty));
        foreach (RpcStatusCode code in Enum.GetValues<RpcStatusCode>().Where(c => c != RpcStatusCode.OK))
        {
            RpcException error = Assert.Throws<RpcException>(
                () => client.Invoke("Say", WordsServer.Text($"status {(int)code}"), options));
            Assert.Equal((code, "Kein Öl: 100 % leer\n"), (error.Code, error.Message));
            Assert.Equal("of a failure", info.Trailers.GetText("x-last"));
            Assert.Equal([0, 255], info.Trailers.GetBytes("x-last-bin"));
        }
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Replies_stream_and_end_with_the_deadline(bool isText)
    {
        using RpcClient client = Connect(isText, RpcCompression.None);
        List<string> words = [];

        await foreach (DynamicMessage reply in client.InvokeServerStreamAsync(
            "Split", WordsServer.Text("one two three")))
        {
            words.Add(WordsServer.TextOf(reply));
        }

        RpcException late = Assert.Throws<RpcException>(() => client.Invoke(
            "Say", WordsServer.Text("wait"),
            new RpcCallOptions { Timeout = TimeSpan.FromMilliseconds(300) }));

        Assert.Equal(["one", "two", "three"], words);
        Assert.Equal(RpcStatusCode.DeadlineExceeded, late.Code);
    }

    [Fact]
    public void Details_are_read_and_missing_methods_are_unimplemented()
    {
        using RpcClient client = Connect(isText: false, RpcCompression.None);

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke("Say", WordsServer.Text("details")));
        using RpcClient other = RpcClient.Connect(
            RpcEndpoint.Parse(_address), SearchServer.Schema, new() { Lazy = true });
        RpcException missing = Assert.Throws<RpcException>(
            () => other.Invoke("Search", new { query = "x" }));

        Assert.Equal(RpcStatusCode.FailedPrecondition, error.Code);
        Assert.Contains(
            error.Details.Cast<DynamicMessage>(), detail => detail.Type.FullName == "google.rpc.BadRequest");
        Assert.Equal(RpcStatusCode.Unimplemented, missing.Code);
    }

    private RpcClient Connect(bool isText, RpcCompression compression) => RpcClient.Connect(
        RpcEndpoint.Parse(_address), WordsServer.Schema, new()
        {
            Service = "streams.Words",
            GrpcWebText = isText,
            Compression = compression,
        });
}

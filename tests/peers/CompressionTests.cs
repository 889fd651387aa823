using System.IO.Compression;
using Google.Protobuf;
using Grpc.AspNetCore.Server;
using Grpc.Core;
using Grpc.Net.Client;
using Grpc.Net.Compression;
using Microsoft.Extensions.DependencyInjection;
using ProtoRpc.Http.Tests.Streams;
using GrpcException = Grpc.Core.RpcException;

namespace ProtoRpc.Peers;

/// <summary>Compressed messages between us and gRPC for .NET.</summary>
[PeerCall("Grpc.AspNetCore", "gRPC", PeerSide.Server, PeerCalls.Unary | PeerCalls.Compression)]
[PeerCall("Grpc.Net.Client", "gRPC", PeerSide.Client, PeerCalls.Unary | PeerCalls.Compression)]
public static class CompressionTests
{
    [Theory]
    [InlineData(RpcCompression.None, "none")]
    [InlineData(RpcCompression.Gzip, "gzip")]
    public static async Task Their_server_reads_our_requests(RpcCompression compression, string encoding)
    {
        await using PeerApplication server = await PeerApplication.StartWordsAsync();
        using RpcClient client = server.Connect();
        RpcReplyInfo info = new();

        Text reply = await client.InvokeAsync<Text>(
            "Say", new Text { Text_ = "encoding", Payload = ByteString.CopyFrom(new byte[20_000]) },
            new() { Compression = compression, ReplyInfo = info });

        Assert.Equal(encoding, reply.Text_);
        Assert.Equal(compression == RpcCompression.None, info.BytesSent > 20_000);
    }

    // A server must send nothing that its client does not accept.
    [Theory]
    [InlineData("gzip", true)]
    [InlineData("deflate", true)]
    [InlineData("br", true)]
    [InlineData("other", false)]
    public static async Task Our_client_reads_their_replies(string algorithm, bool isCompressed)
    {
        await using PeerApplication server = await PeerApplication.StartWordsAsync(
            services => services.Configure<GrpcServiceOptions>(options =>
            {
                options.ResponseCompressionAlgorithm = algorithm;
                options.ResponseCompressionLevel = CompressionLevel.Fastest;
                options.CompressionProviders = [new GzipCompressionProvider(CompressionLevel.Fastest),
                    new DeflateCompressionProvider(CompressionLevel.Fastest),
                    new BrotliProvider("br"), new BrotliProvider("other")];
            }));
        using RpcClient client = server.Connect();
        RpcReplyInfo info = new();

        Text reply = await client.InvokeAsync<Text>(
            "Say", new Text { Text_ = "encoding" }, new() { ReplyInfo = info });

        Assert.Equal(10_000, reply.Payload.Length);
        Assert.Equal(isCompressed, info.IsCompressed);
        Assert.Equal(isCompressed, info.BytesReceived < 10_000);
    }

    [Fact]
    public static async Task A_compressed_reply_that_inflates_over_the_limit_fails()
    {
        await using PeerApplication server = await PeerApplication.StartWordsAsync(
            services => services.Configure<GrpcServiceOptions>(
                options => options.ResponseCompressionAlgorithm = "gzip"));
        using RpcClient client = server.Connect(new() { Limits = new() { MaxMessageBytes = 100_000 } });

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => client.InvokeAsync<Text>("Say", new Text { Text_ = "large 1000000" }));

        Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
    }

    [Theory]
    [InlineData("gzip", "compressed")]
    [InlineData("deflate", "compressed")]
    [InlineData("br", "compressed")]
    [InlineData(null, "plain")]
    public static async Task Our_server_reads_their_requests_and_compresses_replies(
        string? algorithm, string expected)
    {
        using WordsServer server = new();
        string? encoding = null;
        using GrpcChannel channel = GrpcNetClient.Open(
            server.Endpoint,
            new()
            {
                CompressionProviders =
                [
                    new GzipCompressionProvider(CompressionLevel.Fastest),
                    new DeflateCompressionProvider(CompressionLevel.Fastest),
                    new BrotliProvider("br"),
                ],
            },
            received: reply => encoding = WordsServer.Find(reply, "grpc-encoding"));

        Text reply = await new Words.WordsClient(channel).SayAsync(
            new Text { Text_ = "gzip" }, HeadersFor(algorithm));

        Assert.Equal((expected, "gzip"), (reply.Text_, encoding));
    }

    [Fact]
    public static async Task Our_server_says_which_compression_it_reads()
    {
        using WordsServer server = new();
        string? accepted = null;
        using GrpcChannel channel = GrpcNetClient.Open(
            server.Endpoint,
            new()
            {
                CompressionProviders = [new BrotliProvider("other")],
            },
            received: reply => accepted = WordsServer.Find(reply, "grpc-accept-encoding"));

        GrpcException error = await Assert.ThrowsAsync<GrpcException>(
            async () => await new Words.WordsClient(channel).SayAsync(
                new Text { Text_ = "x" }, HeadersFor("other")));

        Assert.Equal(StatusCode.Unimplemented, error.StatusCode);
        Assert.Contains("'other'", error.Status.Detail, StringComparison.Ordinal);
        Assert.Equal("identity,gzip,deflate,br", accepted);
    }

    private static Metadata HeadersFor(string? algorithm) =>
        algorithm is null ? [] : new Metadata { { "grpc-internal-encoding-request", algorithm } };

    private sealed class BrotliProvider(string name) : ICompressionProvider
    {
        public string EncodingName => name;

        public Stream CreateCompressionStream(Stream stream, CompressionLevel? compressionLevel) =>
            new BrotliStream(stream, compressionLevel ?? CompressionLevel.Fastest, leaveOpen: true);

        public Stream CreateDecompressionStream(Stream stream) =>
            new BrotliStream(stream, CompressionMode.Decompress);
    }
}

using System.IO.Compression;
using System.Net;

namespace ProtoRpc.Http.Tests.Grpc;

/// <summary>Media types and encodings are compared without case.</summary>
public static class LetterCaseTests
{
    [Theory]
    [InlineData("Application/gRPC", "GZip")]
    [InlineData("application/GRPC+Proto", "gzip")]
    [InlineData("application/grpc", "Identity")]
    public static async Task A_reply_is_understood(string type, string encoding)
    {
        RpcClientOptions options = new()
        {
            HttpHandler = () => new Peer(type, encoding),
            Service = "streams.Words",
            RetryCount = 0,
            Lazy = true,
        };
        using RpcClient client = RpcClient.Connect("grpc://127.0.0.1:1", WordsServer.Schema, options);

        DynamicMessage reply = await client.InvokeAsync("Say", WordsServer.Text("x"));

        Assert.Equal("hello", WordsServer.TextOf(reply));
    }

    [Theory]
    [InlineData("GZIP", 1)]
    [InlineData("IDENTITY", 0)]
    public static async Task A_request_is_understood(string encoding, byte flag)
    {
        using WordsServer server = new();

        using HttpResponseMessage response = await server.PostAsync(
            Frame(flag), type: "Application/GRPC", headers: [("grpc-encoding", encoding)]);

        Assert.Equal("0", WordsServer.Find(response, "grpc-status"));
    }

    private static byte[] Frame(byte flag)
    {
        byte[] body = WordsServer.Text("hello").ToByteArray();
        if (flag == 1)
        {
            using MemoryStream packed = new();
            using (GZipStream gzip = new(packed, CompressionLevel.Fastest, leaveOpen: true))
            {
                gzip.Write(body);
            }

            body = packed.ToArray();
        }

        return [flag, 0, 0, 0, (byte)body.Length, .. body];
    }

    private sealed class Peer(string type, string encoding) : HttpMessageHandler
    {
        protected override Task<HttpResponseMessage> SendAsync(
            HttpRequestMessage request, CancellationToken cancellationToken)
        {
            byte flag = encoding.Equals("gzip", StringComparison.OrdinalIgnoreCase) ? (byte)1 : (byte)0;
            HttpResponseMessage response = new(HttpStatusCode.OK)
            {
                Version = HttpVersion.Version20,
                Content = new ByteArrayContent(Frame(flag)),
            };
            response.Content.Headers.TryAddWithoutValidation("Content-Type", type);
            response.Headers.TryAddWithoutValidation("grpc-encoding", encoding);
            response.TrailingHeaders.TryAddWithoutValidation("grpc-status", "0");
            return Task.FromResult(response);
        }
    }
}

using System.Diagnostics;
using System.IO.Compression;
using System.Net;
using System.Net.Sockets;
using System.Text;
using Google.Protobuf;

namespace ProtoRpc.Http.Tests;

/// <summary>Compressed bodies that end too early, and replies that come too slowly.</summary>
public static class CutOffBodyTests
{
    private const string Search = "/ProtoService.SearchService/Search";

    [Theory]
    [InlineData("gzip")]
    [InlineData("deflate")]
    [InlineData("br")]
    public static async Task A_request_without_its_end_is_refused(string encoding)
    {
        using SearchServer server = new();
        byte[] packed = Pack(encoding, Encoding.UTF8.GetBytes($"{{\"query\":\"{new string('q', 100)}\"}}"));

        for (int cut = 0; cut < Math.Min(9, packed.Length); cut++)
        {
            using ByteArrayContent content = new(packed, 0, packed.Length - cut);
            content.Headers.TryAddWithoutValidation("Content-Type", "application/json");
            content.Headers.TryAddWithoutValidation("Content-Encoding", encoding);
            using HttpResponseMessage response = await server.Http.PostAsync(
                new Uri(Search, UriKind.Relative), content);

            Assert.Equal(cut == 0 ? HttpStatusCode.OK : HttpStatusCode.BadRequest, response.StatusCode);
        }

        server.Server.RequireCounts(counts => counts.Calls - counts.Errors == 1);
    }

    [Fact]
    public static async Task A_message_of_gRPC_without_its_end_is_refused()
    {
        using WordsServer server = new();
        byte[] packed = Pack("gzip", WordsServer.Text(new string('q', 100)).ToByteArray());

        for (int cut = 0; cut < 9; cut++)
        {
            byte[] frame = [1, 0, 0, 0, (byte)(packed.Length - cut), .. packed[..^cut]];
            using HttpResponseMessage response =
                await server.PostAsync(frame, headers: ("grpc-encoding", "gzip"));

            Assert.Equal(cut == 0 ? "0" : "13", WordsServer.Find(response, "grpc-status"));
        }
    }

    [Theory]
    [InlineData("gzip", 0)]
    [InlineData("gzip", 4)]
    [InlineData("deflate", 3)]
    [InlineData("br", 1)]
    public static async Task A_reply_without_its_end_fails_the_call(string encoding, int cut)
    {
        byte[] packed = Pack(encoding, SearchServer.Found(new string('u', 100)).ToByteArray());
        packed = packed[..^cut];
        byte[] head = Encoding.ASCII.GetBytes(
            $"HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Encoding: {encoding}\r\n"
            + $"Connection: close\r\nContent-Length: {packed.Length}\r\n\r\n");
        using Answerer server = new((stream, _) => stream.WriteAsync((byte[])[.. head, .. packed]).AsTask());
        using RpcClient client = RpcClient.Connect(server.Address, SearchServer.Schema);
        IMessage request = Request();

        if (cut == 0)
        {
            Assert.NotNull(client.Invoke(client.GetMethod("Search"), request));
            Assert.NotNull(await client.InvokeAsync(client.GetMethod("Search"), request));
            return;
        }

        RpcException blocking = Assert.Throws<RpcException>(
            () => client.Invoke(client.GetMethod("Search"), request));
        RpcException waiting = await Assert.ThrowsAsync<RpcException>(
            () => client.InvokeAsync(client.GetMethod("Search"), request));

        Assert.Equal(("BadReply", RpcStatusCode.Internal), (blocking.ErrorId, blocking.Code));
        Assert.Equal(("BadReply", RpcStatusCode.Internal), (waiting.ErrorId, waiting.Code));
    }

    [Theory]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 100000\r\n\r\n")]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\n\r\n")]
    [InlineData("HTTP/1.1 200 OK\r\nX-Long: ")]
    [InlineData("HTTP/1.1 500 No\r\nContent-Type: text/html\r\n\r\n")]
    public static async Task The_deadline_holds_while_a_reply_drips(string head)
    {
        using Answerer server = new(async (stream, end) =>
        {
            await stream.WriteAsync(Encoding.ASCII.GetBytes(head), end);
            while (true)
            {
                await stream.WriteAsync("a"u8.ToArray(), end);
                await Task.Delay(50, end);
            }
        });
        using RpcClient client = RpcClient.Connect(server.Address, SearchServer.Schema);
        RpcCallOptions options = new() { Timeout = TimeSpan.FromSeconds(1) };

        long start = Stopwatch.GetTimestamp();
        RpcException blocking = Assert.Throws<RpcException>(
            () => client.Invoke(client.GetMethod("Search"), Request(), options));
        TimeSpan took = Stopwatch.GetElapsedTime(start);
        start = Stopwatch.GetTimestamp();
        RpcException waiting = await Assert.ThrowsAsync<RpcException>(
            () => client.InvokeAsync(client.GetMethod("Search"), Request(), options));
        TimeSpan tookWaiting = Stopwatch.GetElapsedTime(start);

        Assert.Equal(RpcStatusCode.DeadlineExceeded, blocking.Code);
        Assert.Equal(RpcStatusCode.DeadlineExceeded, waiting.Code);
        Assert.InRange(took.TotalSeconds, 0.9, 15);
        Assert.InRange(tookWaiting.TotalSeconds, 0.9, 15);
    }

    [Theory]
    [InlineData("0n")]
    [InlineData("0H")]
    [InlineData("1n")]
    public static async Task A_call_of_gRPC_without_time_is_not_run(string timeout)
    {
        using WordsServer server = new();

        foreach (string method in new[] { "Say", "Split", "Chat" })
        {
            using HttpResponseMessage response = await server.PostAsync(
                WordsServer.Frame(WordsServer.Text("wait")), $"/streams.Words/{method}",
                headers: ("grpc-timeout", timeout));

            Assert.Equal("4", WordsServer.Find(response, "grpc-status"));
        }

        Assert.False(server.Waiting.Task.IsCompleted);
    }

    [Fact]
    public static async Task A_call_over_HTTP_without_time_is_not_run()
    {
        using SearchServer server = new();

        (HttpStatusCode status, _, _) = await server.GetAsync(
            "/ProtoService.SearchService/Wait?query=x", ("Connect-Timeout-Ms", "0"));

        Assert.Equal(HttpStatusCode.GatewayTimeout, status);
        Assert.False(server.Waiting.Task.IsCompleted);
    }

    private static IMessage Request() =>
        MessageFormats.Json.Read(SearchServer.RequestType, """{"query":"x"}""");

    private static byte[] Pack(string encoding, byte[] plain)
    {
        using MemoryStream packed = new();
        using (Stream stream = encoding switch
        {
            "gzip" => new GZipStream(packed, CompressionLevel.Optimal, leaveOpen: true),
            "deflate" => new ZLibStream(packed, CompressionLevel.Optimal, leaveOpen: true),
            _ => new BrotliStream(packed, CompressionLevel.Optimal, leaveOpen: true),
        })
        {
            stream.Write(plain);
        }

        return packed.ToArray();
    }

    /// <summary>Answers each call over HTTP/1.1 with bytes, whatever was asked.</summary>
    private sealed class Answerer : IDisposable
    {
        private readonly TcpListener _listener = new(IPAddress.Loopback, 0);
        private readonly CancellationTokenSource _end = new();

        public Answerer(Func<NetworkStream, CancellationToken, Task> answer)
        {
            _listener.Start();
            _ = AcceptAsync(answer);
        }

        public string Address => $"http://127.0.0.1:{((IPEndPoint)_listener.LocalEndpoint).Port}/";

        public void Dispose()
        {
            _end.Cancel();
            _listener.Dispose();
            _end.Dispose();
        }

        private async Task AcceptAsync(Func<NetworkStream, CancellationToken, Task> answer)
        {
            while (!_end.IsCancellationRequested)
            {
                TcpClient client = await _listener.AcceptTcpClientAsync(_end.Token);
                _ = AnswerAsync(client, answer);
            }
        }

        private async Task AnswerAsync(TcpClient client, Func<NetworkStream, CancellationToken, Task> answer)
        {
            using (client)
            {
                byte[] request = new byte[64 * 1024];
                int count = await client.GetStream().ReadAsync(request, _end.Token);

                // With this the client asks whether anybody is there.
                await (request.AsSpan(0, count).StartsWith("OPTIONS"u8)
                    ? client.GetStream().WriteAsync(
                        "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"u8.ToArray(),
                        _end.Token).AsTask()
                    : answer(client.GetStream(), _end.Token));
                client.Client.Shutdown(SocketShutdown.Send);
                while (await client.GetStream().ReadAsync(request, _end.Token) > 0)
                {
                }
            }
        }
    }
}

using System.Buffers.Binary;
using System.IO.Compression;
using System.Net;
using System.Net.Sockets;
using System.Text;
using Microsoft.AspNetCore.Http;
using ProtoRpc.AspNetCore.Grpc;

namespace ProtoRpc.Http.Tests.Grpc;

/// <summary>Clients who break the rules; the server answers with a status,
/// and serves others meanwhile.</summary>
public sealed class BadGrpcClientTests : IDisposable
{
    private const string Unimplemented = "12";
    private const string Internal = "13";
    private const string ResourceExhausted = "8";
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);

    private readonly WordsServer _server = new();

    public void Dispose()
    {
        using RpcClient client = _server.Connect();
        Assert.Equal(
            "ok", WordsServer.TextOf(client.Invoke(client.GetMethod("Say"), WordsServer.Text("ok"))));
        _server.Server.RequireCounts(counts => counts.InFlight == 0);
        _server.Dispose();
    }

    [Theory]
    [InlineData(new byte[0], Internal, "ends before its message")]
    [InlineData(new byte[] { 0, 0, 0 }, Internal, "in the middle of a message")]
    [InlineData(new byte[] { 0, 0, 0, 0, 9, 1 }, Internal, "in the middle of a message")]
    [InlineData(new byte[] { 2, 0, 0, 0, 0 }, Internal, "0x02")]
    [InlineData(new byte[] { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }, Internal, "sent more")]
    [InlineData(new byte[] { 0, 0xff, 0xff, 0xff, 0xff }, ResourceExhausted, "the server's limit")]
    [InlineData(new byte[] { 1, 0, 0, 0, 0 }, Internal, "no grpc-encoding")]
    [InlineData(new byte[] { 0, 0, 0, 0, 2, 0x0a, 0x7f }, "3", "streams.Text")]
    public async Task Frames_that_lie_are_refused(byte[] body, string status, string text)
    {
        using HttpResponseMessage response = await _server.PostAsync(body);

        Assert.Equal(status, WordsServer.Find(response, "grpc-status"));
        Assert.Contains(text, WordsServer.Find(response, "grpc-message"));
    }

    [Fact]
    public async Task A_bomb_is_refused_by_what_it_inflates_to()
    {
        using MemoryStream packed = new();
        using (GZipStream gzip = new(packed, CompressionLevel.SmallestSize, leaveOpen: true))
        {
            for (int i = 0; i < 64; i++)
            {
                gzip.Write(new byte[1024 * 1024]);
            }
        }

        byte[] frame = [1, 0, 0, 0, 0, .. packed.ToArray()];
        BinaryPrimitives.WriteInt32BigEndian(frame.AsSpan(1), (int)packed.Length);

        using HttpResponseMessage response = await _server.PostAsync(
            frame, headers: ("grpc-encoding", "gzip"));

        Assert.Equal(ResourceExhausted, WordsServer.Find(response, "grpc-status"));
        Assert.Contains("larger than the server's limit", WordsServer.Find(response, "grpc-message"));
    }

    [Fact]
    public async Task An_unknown_encoding_is_answered_with_those_that_are_known()
    {
        using HttpResponseMessage response = await _server.PostAsync(
            WordsServer.Frame(WordsServer.Text("x"), flag: 1), headers: ("grpc-encoding", "snappy"));

        Assert.Equal(Unimplemented, WordsServer.Find(response, "grpc-status"));
        Assert.Contains("gzip", WordsServer.Find(response, "grpc-accept-encoding"));
        DefaultHttpContext context = new();
        context.Request.Headers["grpc-encoding"] = "snappy";
        RpcException error = Assert.Throws<RpcException>(() => GrpcRequest.EncodingOf(context.Request));
        Assert.Equal("UnknownGrpcEncoding", error.ErrorId);
    }

    [Theory]
    [InlineData("grpc-timeout", "soon")]
    [InlineData("grpc-timeout", "123456789S")]
    [InlineData("rpc-call-context-bin", "!")]
    public async Task A_header_that_means_nothing_is_refused(string name, string value)
    {
        using HttpResponseMessage response = await _server.PostAsync(
            WordsServer.Frame(WordsServer.Text("x")), headers: (name, value));

        Assert.Equal(Internal, WordsServer.Find(response, "grpc-status"));
        Assert.Contains(name, WordsServer.Find(response, "grpc-message"));
    }

    [Theory]
    [InlineData("application/json", HttpStatusCode.UnsupportedMediaType)]
    [InlineData("application/grpc+json", HttpStatusCode.UnsupportedMediaType)]
    [InlineData("application/grpcish", HttpStatusCode.UnsupportedMediaType)]
    [InlineData("application/grpc+proto", HttpStatusCode.OK)]
    [InlineData("application/grpc; charset=utf-8", HttpStatusCode.OK)]
    public async Task The_media_type_must_be_one_of_grpc(string type, HttpStatusCode status)
    {
        using HttpResponseMessage response = await _server.PostAsync(
            WordsServer.Frame(WordsServer.Text("x")), type: type);

        Assert.Equal(status, response.StatusCode);
    }

    [Theory]
    [InlineData("/streams.Words/Shout", "Say, Split, Join, Chat")]
    [InlineData("/streams.Wards/Say", "streams.Words")]
    [InlineData("/", "streams.Words")]
    public async Task A_path_that_leads_nowhere_is_unimplemented(string path, string text)
    {
        using HttpResponseMessage response = await _server.PostAsync([], path);

        Assert.Equal(HttpStatusCode.OK, response.StatusCode);
        Assert.Equal(Unimplemented, WordsServer.Find(response, "grpc-status"));
        Assert.Contains(text, WordsServer.Find(response, "grpc-message"));
    }

    [Fact]
    public async Task A_handlers_reserved_trailer_does_not_become_the_status()
    {
        using HttpResponseMessage response = await _server.PostAsync(
            WordsServer.Frame(WordsServer.Text("reserved")));

        Assert.Equal(Internal, WordsServer.Find(response, "grpc-status"));
        Assert.Contains("which the protocol reserves", WordsServer.Find(response, "grpc-message"));
    }

    [Fact]
    public async Task A_flood_of_headers_is_refused()
    {
        (string, string)[] flood = [.. Enumerable.Range(0, 500).Select(
            i => ($"x-{i}", new string('a', 100)))];

        // Answered, or cut off while the flood still comes.
        string? status = null;
        try
        {
            using HttpResponseMessage response = await _server.PostAsync(
                WordsServer.Frame(WordsServer.Text("x")), headers: flood);
            status = WordsServer.Find(response, "grpc-status");
        }
        catch (HttpRequestException)
        {
        }

        Assert.NotEqual("0", status);
        Assert.Equal(0, _server.Server.Counters.Calls);
    }

    [Fact]
    public async Task A_client_of_HTTP_1_is_told_what_is_spoken_here()
    {
        string answer = await ExchangeAsync("GET / HTTP/1.1\r\nHost: x\r\n\r\n"u8.ToArray());

        Assert.StartsWith("HTTP/1.1 400", answer, StringComparison.Ordinal);
        Assert.Contains("HTTP/2", answer, StringComparison.Ordinal);
    }

    [Fact]
    public void A_client_that_begins_TLS_learns_at_once_that_there_is_none()
    {
        long start = Environment.TickCount64;

        RpcException error = Assert.Throws<RpcException>(() => RpcClient.Connect(
            RpcEndpoint.Parse(_server.Endpoint.Uri.Replace("grpc", "grpcs", StringComparison.Ordinal)),
            WordsServer.Schema));

        Assert.Equal("WrongProtocol", error.ErrorId);
        Assert.InRange(Environment.TickCount64 - start, 0, 5000);
    }

    [Fact]
    public async Task A_stream_that_is_reset_ends_its_handler()
    {
        using RpcClient client = _server.Connect();
        RpcStreamingCall call = client.Open(client.GetMethod("Join"));
        await call.SendAsync(WordsServer.Text("one"));
        await _server.Waiting.Task.WaitAsync(Patience);
        Assert.Equal(1, _server.Server.Counters.InFlight);

        await call.DisposeAsync();

        _server.Server.RequireCounts(counts => counts is { Errors: 1, InFlight: 0 });
    }

    [Fact]
    public async Task A_connection_that_is_cut_ends_its_handlers()
    {
        Socket? socket = null;
        using HttpClient http = new(new SocketsHttpHandler
        {
            ConnectCallback = async (context, cancellation) =>
            {
                socket = new Socket(SocketType.Stream, ProtocolType.Tcp);
                await socket.ConnectAsync(context.DnsEndPoint, cancellation);
                return new NetworkStream(socket, ownsSocket: true);
            },
        });
        using HttpRequestMessage request = new(
            HttpMethod.Post, $"http://127.0.0.1:{_server.Endpoint.Port}/streams.Words/Split")
        {
            Version = HttpVersion.Version20,
            VersionPolicy = HttpVersionPolicy.RequestVersionExact,
            Content = new ByteArrayContent(WordsServer.Frame(WordsServer.Text("one wait"))),
        };
        request.Content.Headers.ContentType = new("application/grpc");
        using HttpResponseMessage response = await http.SendAsync(
            request, HttpCompletionOption.ResponseHeadersRead);
        await _server.Waiting.Task.WaitAsync(Patience);

        socket!.Dispose();

        Assert.Equal("cancelled", await _server.Ended.Task.WaitAsync(Patience));
        _server.Server.RequireCounts(counts => counts.InFlight == 0);
    }

    // What a server of another protocol is told, up to its end.
    private async Task<string> ExchangeAsync(byte[] bytes)
    {
        using TcpClient tcp = new();
        await tcp.ConnectAsync("127.0.0.1", _server.Endpoint.Port);
        await tcp.GetStream().WriteAsync(bytes);
        using MemoryStream answer = new();
        using CancellationTokenSource late = new(Patience);
        try
        {
            await tcp.GetStream().CopyToAsync(answer, late.Token);
        }
        catch (IOException)
        {
            // Reset is an end as well.
        }

        return Encoding.ASCII.GetString(answer.ToArray());
    }
}

using System.Net;
using System.Net.Http.Headers;
using System.Net.Sockets;
using System.Text;

namespace ProtoRpc.Http.Tests.Grpc;

/// <summary>Calls of gRPC-Web on the HTTP endpoint, as browsers send them.</summary>
public sealed class GrpcWebTests : IDisposable
{
    private readonly WordsServer _server = new("http://127.0.0.1:0/");

    public void Dispose() => _server.Dispose();

    [Theory]
    [InlineData("application/grpc-web")]
    [InlineData("application/grpc-web+proto")]
    [InlineData("application/grpc-web-text")]
    [InlineData("application/grpc-web-text+proto")]
    public async Task A_call_has_its_reply_and_then_its_trailers_in_the_body(string type)
    {
        (HttpResponseMessage response, List<(byte Flags, byte[] Body)> frames) =
            await PostAsync("Say", type, WordsServer.Frame(WordsServer.Text("headers")), ("x-asked", "here"));

        Assert.Equal(HttpStatusCode.OK, response.StatusCode);
        Assert.StartsWith(type, response.Content.Headers.ContentType!.MediaType, StringComparison.Ordinal);
        Assert.Equal("here", response.Headers.GetValues("x-first").Single());
        Assert.Equal([(byte)0, (byte)0x80], frames.Select(f => f.Flags));
        Assert.Contains("grpc-status:0\r\n", Encoding.ASCII.GetString(frames[1].Body));
    }

    [Theory]
    [InlineData("application/grpc-web")]
    [InlineData("application/grpc-web-text")]
    public async Task Replies_stream(string type)
    {
        (_, List<(byte Flags, byte[] Body)> frames) =
            await PostAsync("Split", type, WordsServer.Frame(WordsServer.Text("one two three")));

        Assert.Equal(4, frames.Count);
        Assert.EndsWith("three", Encoding.ASCII.GetString(frames[2].Body), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_failure_is_in_the_trailers()
    {
        (HttpResponseMessage response, List<(byte Flags, byte[] Body)> frames) =
            await PostAsync("Say", "application/grpc-web", WordsServer.Frame(WordsServer.Text("fail")));

        Assert.Equal(HttpStatusCode.OK, response.StatusCode);
        string trailers = Encoding.ASCII.GetString(Assert.Single(frames).Body);
        Assert.Contains("grpc-status:5\r\n", trailers);
        Assert.Contains("grpc-message:Kein %C3%96l: 100 %25 leer%0A\r\n", trailers);
    }

    [Theory]
    [InlineData("Shout", "", "grpc-status:12")]
    [InlineData("Say", "AAAA", "grpc-status:13")]
    [InlineData("Say", "####", "grpc-status:13")]
    public async Task Nonsense_is_refused_in_the_trailers(string method, string text, string status)
    {
        (_, List<(byte Flags, byte[] Body)> frames) =
            await PostAsync(
                method, "application/grpc-web-text", Encoding.ASCII.GetBytes(text), encoded: true);

        Assert.Contains(status, Encoding.ASCII.GetString(Assert.Single(frames).Body));
    }

    [Fact]
    public async Task Pieces_of_text_may_have_padding_of_their_own()
    {
        byte[] frame = WordsServer.Frame(WordsServer.Text("pieces"));
        string text = Convert.ToBase64String(frame[..4]) + Convert.ToBase64String(frame[4..]);

        (_, List<(byte Flags, byte[] Body)> frames) =
            await PostAsync("Say", "application/grpc-web-text", Encoding.ASCII.GetBytes(text), encoded: true);

        Assert.EndsWith("pieces", Encoding.ASCII.GetString(frames[0].Body), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Pages_of_other_origins_may_not_call()
    {
        (HttpResponseMessage response, _) = await PostAsync(
            "Say", "application/grpc-web", WordsServer.Frame(WordsServer.Text("x")),
            ("Origin", "https://evil.example"));

        Assert.Equal(HttpStatusCode.Forbidden, response.StatusCode);
    }

    private Task<(HttpResponseMessage Response, List<(byte Flags, byte[] Body)> Frames)> PostAsync(
        string method, string type, byte[] body, params (string Name, string Value)[] headers) =>
        PostAsync(method, type, body, encoded: false, headers);

    private async Task<(HttpResponseMessage Response, List<(byte Flags, byte[] Body)> Frames)> PostAsync(
        string method, string type, byte[] body, bool encoded, params (string Name, string Value)[] headers)
    {
        bool isText = type.Contains("text", StringComparison.Ordinal);
        using HttpClient http = new(new SocketsHttpHandler { UseProxy = false });
        using HttpRequestMessage request = new(
            HttpMethod.Post, $"{_server.Endpoint.Uri}streams.Words/{method}")
        {
            Content = new ByteArrayContent(
                isText && !encoded ? Encoding.ASCII.GetBytes(Convert.ToBase64String(body)) : body),
        };
        request.Content.Headers.ContentType = MediaTypeHeaderValue.Parse(type);
        foreach ((string name, string value) in headers)
        {
            request.Headers.TryAddWithoutValidation(name, value);
        }

        HttpResponseMessage response = await http.SendAsync(request);
        byte[] answer = await response.Content.ReadAsByteArrayAsync();
        bool isAnswered = response.StatusCode == HttpStatusCode.OK;
        return (response, isAnswered ? FrameBytes.Split(isText ? Decode(answer) : answer) : []);
    }

    // Four characters at a time, for each piece has its own padding.
    private static byte[] Decode(byte[] text) =>
        [.. Encoding.ASCII.GetString(text).Chunk(4).SelectMany(
            four => Convert.FromBase64String(new string(four)))];

    [Fact]
    public async Task Texts_that_are_received_count_as_memory_of_requests()
    {
        RpcLimits limits = new() { MaxMemoryBytes = 1024 * 1024 };
        using WordsServer server = new("http://127.0.0.1:0/", new RpcServerOptions { Limits = limits });
        using Socket first = await SendPartAsync(server.Endpoint.Port);
        using Socket second = await SendPartAsync(server.Endpoint.Port);
        using CancellationTokenSource patience = new(TimeSpan.FromSeconds(30));
        byte[] answer = new byte[4096];

        // One of the two waits for the rest of its request, for which there is room.
        Task<int> any = await Task.WhenAny(
            ReadAsync(first, answer, patience.Token), ReadAsync(second, answer, patience.Token));

        Assert.Contains(
            "HTTP/1.1 200", Encoding.ASCII.GetString(answer, 0, await any), StringComparison.Ordinal);
    }

    private static Task<int> ReadAsync(Socket socket, byte[] answer, CancellationToken cancellation) =>
        socket.ReceiveAsync(answer.AsMemory(), cancellation).AsTask();

    private static async Task<Socket> SendPartAsync(int port)
    {
        Socket socket = new(SocketType.Stream, ProtocolType.Tcp);
        await socket.ConnectAsync(IPAddress.Loopback, port);
        await socket.SendAsync(Encoding.ASCII.GetBytes(
            "POST /streams.Words/Say HTTP/1.1\r\nHost: localhost\r\n"
            + "Content-Type: application/grpc-web-text\r\nContent-Length: 1000000\r\n\r\n"
            + new string('A', 900_000)));
        return socket;
    }
}

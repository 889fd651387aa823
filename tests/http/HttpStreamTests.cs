using System.Buffers;
using System.Net;
using System.Text;
using Google.Protobuf;
using ProtoRpc.Protocols.Http;

namespace ProtoRpc.Http.Tests;

/// <summary>Replies that stream over HTTP: lines of JSON, or binary messages with their lengths.</summary>
public static class HttpStreamTests
{
    private const string Split = "streams.Words/Split";

    [Theory]
    [InlineData("application/x-ndjson", "application/x-ndjson")]
    [InlineData("application/json", "application/x-ndjson")]
    [InlineData("*/*", "application/x-ndjson")]
    [InlineData(null, "application/x-ndjson")]
    public static async Task Each_reply_is_a_line_of_json(string? accept, string mediaType)
    {
        using WordsServer server = new("http://127.0.0.1:0/");

        (HttpStatusCode status, string type, string text) = await GetAsync(server, "a \n b", accept);

        Assert.Equal(HttpStatusCode.OK, status);
        Assert.Equal(mediaType, type);
        Assert.Equal("{\"text\":\"a\"}\n{\"text\":\"\\n\"}\n{\"text\":\"b\"}\n", text);
    }

    [Fact]
    public static async Task Binary_replies_have_their_lengths_before_them()
    {
        using WordsServer server = new("http://127.0.0.1:0/");

        using HttpResponseMessage response = await SendAsync(server, "a b", "application/x-protobuf");

        Assert.Equal(
            "application/x-protobuf; delimited=true", response.Content.Headers.ContentType?.ToString());
        Assert.Equal("030A0161030A0162", Convert.ToHexString(await response.Content.ReadAsByteArrayAsync()));
    }

    [Fact]
    public static async Task Without_replies_the_body_is_empty()
    {
        using WordsServer server = new("http://127.0.0.1:0/");

        (HttpStatusCode status, string type, string text) = await GetAsync(server, "", accept: null);

        Assert.Equal(HttpStatusCode.OK, status);
        Assert.Equal("application/x-ndjson", type);
        Assert.Equal("", text);
    }

    [Fact]
    public static async Task A_failure_before_the_first_reply_is_one_of_http()
    {
        using WordsServer server = new("http://127.0.0.1:0/");

        (HttpStatusCode status, string type, string text) = await GetAsync(
            server, "fail", "application/json");

        Assert.Equal(HttpStatusCode.Conflict, status);
        Assert.Equal("application/json", type);
        Assert.Contains("\"code\":\"aborted\"", text, StringComparison.Ordinal);
        server.Server.RequireCounts(counts => counts.Errors == 1);
    }

    [Fact]
    public static async Task A_failure_behind_replies_is_the_last_line()
    {
        using WordsServer server = new("http://127.0.0.1:0/");

        (HttpStatusCode status, _, string text) = await GetAsync(server, "a fail b", "application/json");

        Assert.Equal(HttpStatusCode.OK, status);
        Assert.Equal(
            "{\"text\":\"a\"}\n{\"@error\":{\"code\":\"aborted\",\"error_text\":\"in the middle\"}}\n", text);
        server.Server.RequireCounts(counts => counts is { Errors: 1, InFlight: 0 });
    }

    [Fact]
    public static async Task Replies_come_before_the_call_ends_and_whoever_leaves_ends_it()
    {
        using WordsServer server = new("http://127.0.0.1:0/");
        using HttpClient http = new(new SocketsHttpHandler { UseProxy = false });
        Stream replies = await http.GetStreamAsync(
            new Uri($"{server.Endpoint.Uri}{Split}?text=first%20wait"));

        byte[] line = new byte["{\"text\":\"first\"}\n".Length];
        await replies.ReadExactlyAsync(line).AsTask().WaitAsync(TimeSpan.FromSeconds(20));
        await server.Waiting.Task.WaitAsync(TimeSpan.FromSeconds(20));
        await replies.DisposeAsync();

        Assert.Equal("{\"text\":\"first\"}\n", Encoding.UTF8.GetString(line));
        Assert.Equal("cancelled", await server.Ended.Task.WaitAsync(TimeSpan.FromSeconds(20)));
    }

    [Theory]
    [InlineData("text/xml", "Split", 406)]
    [InlineData("application/json", "Chat", 501)]
    [InlineData("application/json", "Join", 501)]
    public static async Task What_http_does_not_carry_is_refused(string accept, string method, int status)
    {
        using WordsServer server = new("http://127.0.0.1:0/");

        using HttpResponseMessage response = await SendAsync(server, "a", accept, $"streams.Words/{method}");

        Assert.Equal(status, (int)response.StatusCode);
    }

    [Theory]
    [InlineData("Binary")]
    [InlineData("Json")]
    public static async Task A_client_reads_replies_as_they_come(string format)
    {
        using WordsServer server = new("http://127.0.0.1:0/");
        using RpcClient client = Connect(server, format);
        await using RpcStreamingCall call = client.Open(client.GetMethod("Split"));

        await call.SendAsync(WordsServer.Text($"first {new string('x', 100_000)} wait"));
        bool first = await call.ReadAsync();
        string firstText = WordsServer.TextOf(call.Current);
        bool second = await call.ReadAsync();
        string secondText = WordsServer.TextOf(call.Current);
        await server.Waiting.Task.WaitAsync(TimeSpan.FromSeconds(20));
        await call.DisposeAsync();

        Assert.True(first && second);
        Assert.Equal("first", firstText);
        Assert.Equal(100_000, secondText.Length);
        Assert.Equal("cancelled", await server.Ended.Task.WaitAsync(TimeSpan.FromSeconds(20)));
    }

    [Theory]
    [InlineData("Binary", "a b", 2, null)]
    [InlineData("Json", "a b", 2, null)]
    [InlineData("Binary", "", 0, null)]
    [InlineData("Json", "", 0, null)]
    [InlineData("Binary", "a fail", 1, RpcStatusCode.Aborted)]
    [InlineData("Json", "a fail", 1, RpcStatusCode.Aborted)]
    [InlineData("Binary", "fail", 0, RpcStatusCode.Aborted)]
    [InlineData("Json", "fail", 0, RpcStatusCode.Aborted)]
    public static async Task A_client_tells_the_end_from_a_failure(
        string format, string text, int replies, RpcStatusCode? status)
    {
        using WordsServer server = new("http://127.0.0.1:0/");
        using RpcClient client = Connect(server, format);
        List<string> read = [];

        RpcException? error = await Record.ExceptionAsync(async () =>
        {
            await foreach (DynamicMessage reply in client.InvokeDuplexStreamAsync(
                client.GetMethod("Split"), Only(text)))
            {
                read.Add(WordsServer.TextOf(reply));
            }
        }) as RpcException;

        Assert.Equal(replies, read.Count);
        Assert.Equal(status, error?.Code);
        Assert.Equal(status is null ? null : "in the middle", error?.Message);
    }

    [Fact]
    public static async Task A_deadline_that_passes_between_replies_is_told()
    {
        using WordsServer server = new("http://127.0.0.1:0/");

        (_, _, string text) = await GetAsync(
            server, "a wait", "application/json", ("Connect-Timeout-Ms", "500"));

        Assert.Contains("{\"@error\":{\"code\":\"deadline_exceeded\"", text, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("application/x-ndjson", "{\"a\":", false)]
    [InlineData("application/x-ndjson", "1}\n{", true)]
    [InlineData("application/x-protobuf", "x", true)]
    [InlineData("text/event-stream", "x", false)]
    [InlineData("text/event-stream", "\n", true)]
    public static void Further_bytes_are_searched_for_an_end(string mediaType, string further, bool mayEnd)
    {
        ReadOnlySequence<byte> bytes = new(Encoding.ASCII.GetBytes(further));

        Assert.Equal(mayEnd, HttpStreamFormat.Find(mediaType)!.MayEnd(bytes));
    }

    [Theory]
    [InlineData("application/x-ndjson")]
    [InlineData("application/x-protobuf")]
    [InlineData("text/event-stream")]
    public static void Bodies_are_read_however_they_are_cut(string mediaType)
    {
        HttpStreamFormat format = HttpStreamFormat.Find(mediaType)!;
        ArrayBufferWriter<byte> body = new();
        format.Write(body, WordsServer.Text("first"), FormatOptions.Default);
        format.Write(body, WordsServer.Payload(300), FormatOptions.Default);
        format.WriteError(
            body,
            new ProtoRpc.Protocols.Headers.ErrorResult { Code = "aborted", ErrorText = "no" },
            FormatOptions.Default);

        for (int cut = 0; cut <= body.WrittenCount; cut++)
        {
            ReadOnlySequence<byte> buffer = new(body.WrittenMemory[..cut]);
            int items = 0;
            bool failed = false;
            while (format.TryRead(ref buffer, isEnd: false, 1024, out _, out bool isError))
            {
                items++;
                failed |= isError;
            }

            Assert.Equal(cut == body.WrittenCount, failed);
            Assert.InRange(items, 0, 3);
            Assert.Equal(cut == body.WrittenCount ? 3 : Math.Min(items, 2), items);
        }

        ReadOnlySequence<byte> whole = new(body.WrittenMemory);
        Assert.Throws<RpcException>(() =>
        {
            while (format.TryRead(ref whole, isEnd: true, 100, out _, out _))
            {
            }
        });
    }

    private static RpcClient Connect(WordsServer server, string format) =>
        server.Connect(new RpcClientOptions
        {
            Format = format == "Json" ? MessageFormats.Json : MessageFormats.Binary,
        });

    private static async IAsyncEnumerable<IMessage> Only(string text)
    {
        await Task.Yield();
        yield return WordsServer.Text(text);
    }

    private static async Task<HttpResponseMessage> SendAsync(
        WordsServer server,
        string text,
        string? accept,
        string path = Split,
        params (string Name, string Value)[] headers)
    {
        using HttpClient http = new(new SocketsHttpHandler { UseProxy = false });
        using HttpRequestMessage request = new(
            HttpMethod.Get, $"{server.Endpoint.Uri}{path}?text={Uri.EscapeDataString(text)}");
        (string Name, string Value)[] all = [.. headers, ("Accept", accept ?? "")];
        foreach ((string name, string value) in all.Where(header => header.Value.Length > 0))
        {
            request.Headers.TryAddWithoutValidation(name, value);
        }

        return await http.SendAsync(request);
    }

    private static async Task<(HttpStatusCode Status, string MediaType, string Text)> GetAsync(
        WordsServer server, string text, string? accept, params (string Name, string Value)[] headers)
    {
        using HttpResponseMessage response = await SendAsync(server, text, accept, Split, headers);
        return (
            response.StatusCode,
            response.Content.Headers.ContentType?.MediaType ?? "",
            await response.Content.ReadAsStringAsync());
    }
}

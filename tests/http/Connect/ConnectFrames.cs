using System.Net;
using System.Net.Http.Headers;
using System.Text;
using System.Text.Json;

namespace ProtoRpc.Http.Tests.Connect;

/// <summary>Streams of Connect as a plain HTTP client sends and receives them.</summary>
internal static class ConnectFrames
{
    public const string Json = "application/connect+json";
    public const string Proto = "application/connect+proto";

    /// <summary>Messages of streams.Text, each in a frame.</summary>
    public static byte[] Texts(params string[] texts) =>
        [.. texts.SelectMany(text => FrameBytes.Create(
            0, Encoding.UTF8.GetBytes($$"""{"text":{{JsonSerializer.Serialize(text)}}}""")))];

    /// <summary>Posts a body, and splits the answer.</summary>
    public static async Task<ConnectAnswer> PostAsync(
        WordsServer server, string method, byte[] body, string type = Json,
        params (string Name, string Value)[] headers)
    {
        using HttpClient http = new(new SocketsHttpHandler { UseProxy = false });
        using HttpRequestMessage request = new(
            HttpMethod.Post, $"{server.Endpoint.Uri}streams.Words/{method}")
        {
            Content = new ByteArrayContent(body),
        };
        request.Content.Headers.ContentType = MediaTypeHeaderValue.Parse(type);
        request.Headers.Add("Connect-Protocol-Version", "1");
        foreach ((string name, string value) in headers)
        {
            request.Headers.Remove(name);
            request.Headers.TryAddWithoutValidation(name, value);
        }

        HttpResponseMessage response = await http.SendAsync(request);
        byte[] answer = await response.Content.ReadAsByteArrayAsync();
        return new ConnectAnswer(response, answer);
    }
}

/// <summary>An answer.</summary>
internal sealed record ConnectAnswer(HttpResponseMessage Response, byte[] Bytes)
{
    public HttpStatusCode Status => Response.StatusCode;

    public string Text => Encoding.UTF8.GetString(Bytes);

    public List<(byte Flags, byte[] Body)> Frames => FrameBytes.Split(Bytes);

    /// <summary>The texts of the frames before the end.</summary>
    public IEnumerable<string> Messages => Frames.SkipLast(1).Select(f => Encoding.UTF8.GetString(f.Body));

    /// <summary>The JSON of the last frame, which must be the end.</summary>
    public string End
    {
        get
        {
            (byte flags, byte[] body) = Frames[^1];
            Assert.Equal(2, flags);
            return Encoding.UTF8.GetString(body);
        }
    }

    public string Header(string name) =>
        Response.Headers.TryGetValues(name, out IEnumerable<string>? values) ? string.Join(", ", values) : "";
}

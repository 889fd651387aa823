using System.Globalization;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

namespace ProtoRpc.Peers.Rest;

/// <summary>The paths of google.api.http by our listener and by Microsoft.AspNetCore.Grpc.JsonTranscoding on
/// the same schema: the same replies to the same requests, but for the differences that are listed with
/// their reasons.</summary>
public sealed class JsonTranscodingServerTests : IAsyncLifetime
{
    private readonly RestServer _ours = new();
    private WebApplication _theirs = null!;

    public static TheoryData<string> Same => [.. TranscodingCases.Same];

    public static TheoryData<string, string, string, string> Different => TranscodingCases.Different;

    public async ValueTask InitializeAsync()
    {
        WebApplicationBuilder builder = WebApplication.CreateBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.UseUrls("http://127.0.0.1:0");
        builder.Services.AddGrpc().AddJsonTranscoding();
        _theirs = builder.Build();
        _theirs.MapGrpcService<LibraryService>();
        await _theirs.StartAsync();
    }

    public async ValueTask DisposeAsync()
    {
        _ours.Dispose();
        await _theirs.DisposeAsync();
    }

    [Theory]
    [MemberData(nameof(Same))]
    public async Task Both_servers_answer_the_same(string request)
    {
        string ours = await AnswerAsync(_ours.Server.Endpoints[0].Uri, request);
        string theirs = await AnswerAsync(_theirs.Urls.First(), request);

        Assert.Equal(theirs, ours);
    }

    [Theory]
    [MemberData(nameof(Different))]
    public async Task The_servers_differ_for_a_reason(
        string request, string ours, string theirs, string reason)
    {
        Assert.NotEmpty(reason);
        Assert.NotEqual(ours, theirs);
        Assert.Equal(ours, await AnswerAsync(_ours.Server.Endpoints[0].Uri, request));
        Assert.Equal(theirs, await AnswerAsync(_theirs.Urls.First(), request));
    }

    // The method, the target, and what is behind them the body, with its media type before it if it is not
    // JSON: "POST /v1/upload/a text/plain|hi". An answer is the status, and if it is 200 also the content.
    private static async Task<string> AnswerAsync(string address, string line)
    {
        string[] parts = line.Split(' ', 3);
        using HttpClient http = new(new SocketsHttpHandler { UseProxy = false });
        using HttpRequestMessage request = new(new HttpMethod(parts[0]), new Uri(
            address.TrimEnd('/') + parts[1],
            new UriCreationOptions { DangerousDisablePathAndQueryCanonicalization = true }));
        if (parts.Length > 2)
        {
            string[] body = parts[2].Split('|', 2);
            request.Content = new StringContent(body[^1]);
            request.Content.Headers.Remove("Content-Type");
            request.Content.Headers.TryAddWithoutValidation(
                "Content-Type", body.Length > 1 ? body[0] : "application/json");
        }

        using HttpResponseMessage response = await http.SendAsync(request);
        string text = await response.Content.ReadAsStringAsync();
        string status = ((int)response.StatusCode).ToString(CultureInfo.InvariantCulture);
        if (status == "405")
        {
            // The listener also answers HEAD for GET, and OPTIONS.
            IEnumerable<string> allow = response.Content.Headers.Allow.Except(["HEAD", "OPTIONS"]);
            return $"405 {string.Join(',', allow.Order())}";
        }

        return status == "200"
            ? $"200 {Content(parts[1], response.Content.Headers.ContentType?.MediaType, text)}"
            : status;
    }

    // Without the defaults of fields, which JsonTranscoding writes and ProtoRpc does not.
    private static string Content(string target, string? mediaType, string text)
    {
        if (mediaType is not ("application/json" or "application/x-ndjson"))
        {
            return $"{mediaType} {text}";
        }

        string type = target.StartsWith("/v1/request", StringComparison.Ordinal) ? "rest.Request"
            : "rest.Reply";
        IEnumerable<string> messages = target.StartsWith("/v1/watch", StringComparison.Ordinal)
            ? text.Split('\n', StringSplitOptions.RemoveEmptyEntries)
            : [text];
        return string.Join(" ", messages.Select(message => message.StartsWith('{')
            ? MessageFormats.Json.ToText(
                MessageFormats.Json.Read(RestProtos.Library.GetMessage(type), message))
            : message.Replace(" ", "")));
    }
}

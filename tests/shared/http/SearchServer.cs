using System.Net;
using Google.Protobuf;

namespace ProtoRpc.TestServers;

/// <summary>The search service on an HTTP endpoint of its own, with a plain HTTP client.</summary>
internal sealed class SearchServer : IDisposable
{
    public SearchServer(
        HttpServerOptions? http = null, RpcServerOptions? options = null,
        string endpoint = "http://127.0.0.1:0/")
    {
        options ??= new RpcServerOptions();

        // Explicit, because TCP is open to all beside the checks of HTTP.
        RpcServerSecurity security =
            options.Security with { Authentication = options.Security.Authentication };
        Server = RpcServer.Create(Schema, null, (options with { Security = security }).WithHttp(http))
            .Handle("Search", (_, request) => ValueTask.FromResult<IMessage>(
                Found($"http://example.com/{TextOf(request)}")))
            .Handle("Fail", (_, request) => throw new InvalidOperationException(TextOf(request)))
            .Handle("Who", (context, _) => ValueTask.FromResult<IMessage>(Found(context.User.Name ?? "")))
            .Handle("Wait", async (context, _) =>
            {
                Waiting.TrySetResult();
                await Task.Delay(Timeout.Infinite, context.CancellationToken);
                return Found("never");
            })
            .AddEndpoint(endpoint)
            .AddEndpoint("ncacn_ip_tcp:127.0.0.1[0]")
            .StartListening();
        Http = new HttpClient(new SocketsHttpHandler
        {
            UseProxy = false,
            SslOptions = { RemoteCertificateValidationCallback = static (_, _, _, _) => true },
        })
        {
            BaseAddress = new Uri(Server.Endpoints[0].Uri),
        };
    }

    public static RpcSchema Schema { get; } = RpcSchema.Load(
        [Path.Combine(AppContext.BaseDirectory, "protos", "ProtoService.proto")]);

    public static RpcMessageInfo RequestType { get; } = Schema.GetMessage("SearchRequest");

    public RpcServer Server { get; }

    public HttpClient Http { get; }

    public RpcEndpoint Endpoint => Server.Endpoints[0];

    /// <summary>Ends when a call waits.</summary>
    public TaskCompletionSource Waiting { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public static byte[] Request(string query) =>
        MessageFormats.Json.Read(RequestType, $$"""{"query":"{{query}}"}""").ToByteArray();

    public static DynamicMessage Found(string url) => MessageFormats.Json.Read(
        Schema.GetMessage("SearchResponse"),
        $$"""{"result":[{"url":"{{url.Replace("\\", "\\\\", StringComparison.Ordinal)}}"}]}""");

    public static string TextOf(IMessage request) =>
        (string)((DynamicMessage)request).Get(RequestType.FindField("query")!)!;

    /// <summary>Sends a request with a body and gives the status, the media type and the text.</summary>
    public async Task<(HttpStatusCode Status, string MediaType, string Text)> PostAsync(
        string path, string? contentType, string body, params (string Name, string Value)[] headers)
    {
        using HttpRequestMessage request = new(HttpMethod.Post, path) { Content = new StringContent(body) };
        request.Content.Headers.ContentType = null;
        if (contentType is not null)
        {
            request.Content.Headers.TryAddWithoutValidation("Content-Type", contentType);
        }

        return await SendAsync(request, headers);
    }

    public Task<(HttpStatusCode Status, string MediaType, string Text)> GetAsync(
        string path, params (string Name, string Value)[] headers) =>
        SendAsync(new(HttpMethod.Get, path), headers);

    public Task<(HttpStatusCode Status, string MediaType, string Text)> SendAsync(
        HttpRequestMessage request, params (string Name, string Value)[] headers) =>
        Http.AnswerAsync(request, headers);

    public void Dispose()
    {
        Http.Dispose();
        Server.Dispose();
    }
}

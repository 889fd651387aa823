using System.Net.Http.Headers;
using ProtoRpc.Protocols.Http;

namespace ProtoRpc.Transports.Http;

/// <summary>Traces the heads of requests and of answers. A query is left out: it may be a message.</summary>
internal sealed class TracingHandler(HttpMessageHandler inner, RpcTrace trace, RpcEndpoint endpoint)
    : DelegatingHandler(inner)
{
    /// <summary>Wraps a handler to trace it; returns the handler itself if there is no trace.</summary>
    public static HttpMessageHandler Around(
        HttpMessageHandler handler, RpcTrace? trace, RpcEndpoint endpoint) =>
        trace is null ? handler : new TracingHandler(handler, trace, endpoint);

    /// <summary>Headers in one line.</summary>
    public static string TextOf(params IEnumerable<HttpHeaders?> sources) => HeaderTrace.TextOf(
        sources.OfType<HttpHeaders>().SelectMany(headers => headers.NonValidated)
            .Select(header => KeyValuePair.Create(header.Key, header.Value.ToString())));

    protected override HttpResponseMessage Send(
        HttpRequestMessage request, CancellationToken cancellationToken)
    {
        if (!trace.IsEnabled)
        {
            return base.Send(request, cancellationToken);
        }

        Trace(request);
        HttpResponseMessage response = base.Send(request, cancellationToken);
        Trace(response);
        return response;
    }

    protected override Task<HttpResponseMessage> SendAsync(
        HttpRequestMessage request, CancellationToken cancellationToken) => trace.IsEnabled
        ? SendTracedAsync(request, cancellationToken)
        : base.SendAsync(request, cancellationToken);

    private async Task<HttpResponseMessage> SendTracedAsync(
        HttpRequestMessage request, CancellationToken cancellation)
    {
        Trace(request);
        HttpResponseMessage response = await base.SendAsync(request, cancellation).ConfigureAwait(false);
        Trace(response);
        return response;
    }

    private void Trace(HttpRequestMessage request)
    {
        string path = request.RequestUri?.AbsolutePath ?? "";
        string query = request.RequestUri is { Query.Length: > 1 } uri
            ? $"?({uri.Query.Length - 1} characters)"
            : "";
        trace.Add(
            isSent: true, endpoint,
            $"{request.Method} {path}{query} HTTP/{request.Version}, {SizeOf(request.Content)}"
            + TextOf(request.Headers, request.Content?.Headers));
    }

    private void Trace(HttpResponseMessage response) => trace.Add(
        isSent: false, endpoint,
        $"HTTP/{response.Version} {(int)response.StatusCode}, {SizeOf(response.Content)}"
        + TextOf(response.Headers, response.Content.Headers));

    private static string SizeOf(HttpContent? content) =>
        content?.Headers.ContentLength is { } length ? $"body {length} bytes" : "body of unknown length";
}

using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.Extensions.Primitives;
using ProtoRpc.Protocols.Http;

namespace ProtoRpc.Hosting.Http;

/// <summary>Traces the heads of requests and of answers. A query is left out: it may be a message.</summary>
internal static class HttpTrace
{
    /// <summary>Traces a request, and its answer when that has gone.</summary>
    public static void Begin(RpcTrace? trace, RpcEndpoint endpoint, HttpContext http)
    {
        if (trace is not { IsEnabled: true })
        {
            return;
        }

        HttpRequest request = http.Request;
        string query = request.QueryString is { HasValue: true, Value: { } value }
            ? $"?({value.Length - 1} characters)"
            : "";
        trace.Add(
            isSent: false, endpoint,
            $"{request.Method} {request.Path.Value}{query} {request.Protocol}, "
            + $"{SizeOf(request.ContentLength)}{TextOf(request.Headers)}");
        http.Response.OnCompleted(() =>
        {
            HttpResponse response = http.Response;
            IHeaderDictionary? sent = http.Features.Get<IHttpResponseTrailersFeature>()?.Trailers;
            string trailers = sent is { Count: > 0 } ? $"; trailers{TextOf(sent)}" : "";
            trace.Add(
                isSent: true, endpoint,
                $"{request.Protocol} {response.StatusCode}, "
                + $"{SizeOf(response.ContentLength)}{TextOf(response.Headers)}{trailers}");
            return Task.CompletedTask;
        });
    }

    private static string SizeOf(long? length) =>
        length is { } bytes ? $"body {bytes} bytes" : "body of unknown length";

    private static string TextOf(IEnumerable<KeyValuePair<string, StringValues>> headers) =>
        HeaderTrace.TextOf(
            headers.Select(header => KeyValuePair.Create(header.Key, header.Value.ToString())));
}

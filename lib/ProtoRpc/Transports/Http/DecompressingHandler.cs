using System.Net.Http.Headers;
using ProtoRpc.Protocols.Http;

namespace ProtoRpc.Transports.Http;

/// <summary>Asks for compressed replies, and gives their content decompressed. A reply that is cut off fails,
/// where the HTTP client's own decompression would take it as whole.</summary>
internal sealed class DecompressingHandler(HttpMessageHandler inner) : DelegatingHandler(inner)
{
    protected override HttpResponseMessage Send(
        HttpRequestMessage request, CancellationToken cancellationToken)
    {
        Ask(request);
        HttpResponseMessage response = base.Send(request, cancellationToken);
        if (EncodingOf(response) is { } encoding)
        {
            Replace(response, response.Content.ReadAsStream(cancellationToken), encoding);
        }

        return response;
    }

    protected override async Task<HttpResponseMessage> SendAsync(
        HttpRequestMessage request, CancellationToken cancellationToken)
    {
        Ask(request);
        HttpResponseMessage response = await base.SendAsync(request, cancellationToken).ConfigureAwait(false);
        if (EncodingOf(response) is { } encoding)
        {
            Replace(
                response,
                await response.Content.ReadAsStreamAsync(cancellationToken).ConfigureAwait(false),
                encoding);
        }

        return response;
    }

    private static void Ask(HttpRequestMessage request)
    {
        if (request.Headers.AcceptEncoding.Count == 0)
        {
            foreach (string encoding in Decompression.Encodings)
            {
                request.Headers.AcceptEncoding.Add(new StringWithQualityHeaderValue(encoding));
            }
        }
    }

    private static string? EncodingOf(HttpResponseMessage response) =>
        response.Content.Headers.ContentEncoding.LastOrDefault();

    private static void Replace(HttpResponseMessage response, Stream body, string encoding)
    {
        if (Decompression.TryOpen(body, encoding) is not { } whole)
        {
            return;
        }

        StreamContent content = new(whole);
        foreach ((string name, IEnumerable<string> values) in response.Content.Headers)
        {
            content.Headers.TryAddWithoutValidation(name, values);
        }

        content.Headers.ContentLength = null;
        content.Headers.ContentEncoding.Clear();
        response.Content = content;
    }
}

using ProtoRpc.Protocols.Http;

namespace ProtoRpc.Transports.Http;

/// <summary>Gives the content of replies decompressed. A reply that is cut off fails, where the HTTP client's
/// own decompression would take it as whole.</summary>
/// <param name="inner">Sends the requests.</param>
/// <param name="asks">Whether the server is asked for compressed replies.</param>
internal sealed class DecompressingHandler(HttpMessageHandler inner, bool asks) : DelegatingHandler(inner)
{
    private const string AcceptEncoding = "Accept-Encoding";
    private const string ContentEncoding = "Content-Encoding";

    private static readonly string Asked = string.Join(", ", Decompression.Encodings);

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

    private void Ask(HttpRequestMessage request)
    {
        if (asks && !request.Headers.NonValidated.Contains(AcceptEncoding))
        {
            request.Headers.TryAddWithoutValidation(AcceptEncoding, Asked);
        }
    }

    // Most replies have no such header, and a collection of its values is not made for them.
    private static string? EncodingOf(HttpResponseMessage response) =>
        response.Content.Headers.NonValidated.Contains(ContentEncoding)
            ? response.Content.Headers.ContentEncoding.LastOrDefault()
            : null;

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

namespace ProtoRpc.Client.Http;

/// <summary>Waits without holding a thread.</summary>
internal readonly struct AsyncHttp : IHttpWait
{
    /// <inheritdoc/>
    public static ValueTask<HttpResponseMessage> SendAsync(
        HttpMessageInvoker http, HttpRequestMessage request, CancellationToken cancellation) =>
        new(http.SendAsync(request, cancellation));

    /// <inheritdoc/>
    public static ValueTask<Stream> OpenAsync(HttpContent content, CancellationToken cancellation) =>
        new(content.ReadAsStreamAsync(cancellation));

    /// <inheritdoc/>
    public static ValueTask<int> ReadAsync(
        Stream body, Memory<byte> buffer, CancellationToken cancellation) =>
        body.ReadAsync(buffer, cancellation);

    /// <inheritdoc/>
    public static CancellationTokenRegistration EndReads(Stream body, CancellationToken cancellation) =>
        default;
}

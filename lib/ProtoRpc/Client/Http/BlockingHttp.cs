namespace ProtoRpc.Client.Http;

/// <summary>Waits by blocking the thread: every task that this returns is complete.</summary>
internal readonly struct BlockingHttp : IHttpWait
{
    /// <inheritdoc/>
    public static ValueTask<HttpResponseMessage> SendAsync(
        HttpMessageInvoker http, HttpRequestMessage request, CancellationToken cancellation) =>
        new(http.Send(request, cancellation));

    /// <inheritdoc/>
    public static ValueTask<Stream> OpenAsync(HttpContent content, CancellationToken cancellation) =>
        new(content.ReadAsStream(cancellation));

    /// <inheritdoc/>
    public static ValueTask<int> ReadAsync(
        Stream body, Memory<byte> buffer, CancellationToken cancellation) => new(body.Read(buffer.Span));

    /// <inheritdoc/>
    public static CancellationTokenRegistration EndReads(Stream body, CancellationToken cancellation) =>
        // A blocking read that waits is only ended by the end of its connection.
        cancellation.UnsafeRegister(static state => ((Stream)state!).Dispose(), body);
}

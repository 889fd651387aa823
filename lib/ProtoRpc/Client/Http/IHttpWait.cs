namespace ProtoRpc.Client.Http;

/// <summary>How an HTTP call waits, so that blocking and asynchronous callers share its code. For native
/// connections, see <see cref="Transports.IWaitMode"/>.</summary>
internal interface IHttpWait
{
    /// <summary>Sends a request and waits for the head of the response.</summary>
    static abstract ValueTask<HttpResponseMessage> SendAsync(
        HttpMessageInvoker http, HttpRequestMessage request, CancellationToken cancellation);

    /// <summary>Opens the body of a response.</summary>
    static abstract ValueTask<Stream> OpenAsync(HttpContent content, CancellationToken cancellation);

    /// <summary>Reads some bytes of a body; returns 0 at its end.</summary>
    static abstract ValueTask<int> ReadAsync(
        Stream body, Memory<byte> buffer, CancellationToken cancellation);

    /// <summary>Ends waiting reads when the token is cancelled, if the token alone does not.</summary>
    static abstract CancellationTokenRegistration EndReads(Stream body, CancellationToken cancellation);
}

/// <summary>Waits without blocking a thread.</summary>
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

/// <summary>Waits by blocking the thread: every returned task is already complete.</summary>
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
        // Only closing the connection ends a blocking read.
        cancellation.UnsafeRegister(static state => ((Stream)state!).Dispose(), body);
}

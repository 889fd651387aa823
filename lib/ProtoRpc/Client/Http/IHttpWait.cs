namespace ProtoRpc.Client.Http;

/// <summary>How an HTTP call that blocking and asynchronous callers share does what waits; as
/// <see cref="Transports.IWaitMode"/> for native connections.</summary>
internal interface IHttpWait
{
    /// <summary>Sends a request and waits for the head of the response.</summary>
    static abstract ValueTask<HttpResponseMessage> SendAsync(
        HttpMessageInvoker http, HttpRequestMessage request, CancellationToken cancellation);

    /// <summary>The body of a response.</summary>
    static abstract ValueTask<Stream> OpenAsync(HttpContent content, CancellationToken cancellation);

    /// <summary>Reads some bytes of a body; 0 at its end.</summary>
    static abstract ValueTask<int> ReadAsync(
        Stream body, Memory<byte> buffer, CancellationToken cancellation);

    /// <summary>Ends reads that wait when the token is cancelled, where the token alone does not.</summary>
    static abstract CancellationTokenRegistration EndReads(Stream body, CancellationToken cancellation);
}

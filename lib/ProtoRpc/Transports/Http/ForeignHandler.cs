namespace ProtoRpc.Transports.Http;

/// <summary>A handler of somebody else, of which most cannot send without a task.</summary>
internal sealed class ForeignHandler(HttpMessageHandler inner) : DelegatingHandler(inner)
{
    protected override HttpResponseMessage Send(
        HttpRequestMessage request, CancellationToken cancellationToken) =>
        SendAsync(request, cancellationToken).GetAwaiter().GetResult();
}

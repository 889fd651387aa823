using System.Net.Security;
using System.Security.Cryptography.X509Certificates;

namespace ProtoRpc.Server.Native;

/// <summary>A bound native endpoint. Several interfaces of this process can share it.</summary>
internal interface INativeListener
{
    /// <summary>The bound endpoint, with the port that the system assigned.</summary>
    RpcEndpoint Endpoint { get; }

    /// <summary>The number of open connections; 0 if the transport has no connections.</summary>
    int ConnectionCount { get; }

    /// <summary>The number of connections accepted since the endpoint was bound; 0 if the transport has no
    /// connections.</summary>
    long AcceptedCount { get; }

    /// <summary>Serves an interface on an endpoint, over byte streams or whole messages.</summary>
    /// <inheritdoc cref="NativeListener.Serve"/>
    static INativeListener Serve(
        RpcEndpoint endpoint, ExecInterface service, RpcLimits limits,
        X509Certificate2? certificate = null, X509Certificate2Collection? chain = null) =>
        endpoint.Has(EndpointFeatures.WholeMessages)
            ? MessageListener.Serve(endpoint, service, limits)
            : NativeListener.Serve(endpoint, service, limits, certificate, chain);

    /// <summary>Uses another certificate for new connections. Does nothing without TLS.</summary>
    void Show(SslStreamCertificateContext certificate);

    /// <summary>Stops serving an interface: new calls are rejected immediately, running calls may end within
    /// the drain time and are then cancelled.</summary>
    ValueTask StopServingAsync(Guid interfaceId, TimeSpan drain);
}

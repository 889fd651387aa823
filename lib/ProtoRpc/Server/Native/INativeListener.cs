using System.Net.Security;
using System.Security.Cryptography.X509Certificates;

namespace ProtoRpc.Server.Native;

/// <summary>A bound native endpoint; any number of interfaces of this process share it.</summary>
internal interface INativeListener
{
    /// <summary>The endpoint as bound, with the port that the system picked.</summary>
    RpcEndpoint Endpoint { get; }

    /// <summary>Connections now open; 0 where the system has calls only.</summary>
    int ConnectionCount { get; }

    /// <summary>Connections accepted since it was bound; 0 where the system has calls only.</summary>
    long AcceptedCount { get; }

    /// <summary>Serves an interface on an endpoint, over byte streams or whole messages.</summary>
    /// <inheritdoc cref="NativeListener.Serve"/>
    static INativeListener Serve(
        RpcEndpoint endpoint, ExecInterface service, RpcLimits limits,
        X509Certificate2? certificate = null, X509Certificate2Collection? chain = null) =>
        endpoint.Has(EndpointFeatures.WholeMessages)
            ? MessageListener.Serve(endpoint, service, limits)
            : NativeListener.Serve(endpoint, service, limits, certificate, chain);

    /// <summary>Shows another certificate to clients that connect from now on; nothing where there is no
    /// TLS.</summary>
    void Show(SslStreamCertificateContext certificate);

    /// <summary>Stops serving an interface: new calls are rejected immediately, running calls may end within
    /// the drain time and are then cancelled.</summary>
    ValueTask StopServingAsync(Guid interfaceId, TimeSpan drain);
}

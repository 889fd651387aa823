using System.Security.Cryptography.X509Certificates;
using ProtoRpc.Server;

namespace ProtoRpc;

/// <summary>The replacements of <see cref="RpcServer.ChangeAsync"/>; null keeps the current value.</summary>
public sealed record RpcServerChange
{
    /// <summary>The new handlers by method: bare names if they are unique, otherwise full names. Methods
    /// without a handler return Unimplemented.</summary>
    public IReadOnlyDictionary<string, RpcMethodHandler>? Handlers { get; set; }

    /// <summary>The new interceptors of every call, the first one outermost.</summary>
    public IReadOnlyList<IRpcInterceptor>? Interceptors { get; set; }

    /// <summary>The new endpoints. Existing endpoints in the list stay open with their connections. Other
    /// existing endpoints are closed after their calls.</summary>
    public IReadOnlyList<RpcEndpoint>? Endpoints { get; set; }

    /// <summary>The new certificate, with its private key, of all endpoints with TLS. New connections use it;
    /// open connections keep the previous one, and their calls continue. If servers of this process share an
    /// endpoint, the certificate changes for all of them.</summary>
    public X509Certificate2? Certificate { get; set; }

    /// <summary>The intermediate certificates to send with <see cref="Certificate"/>; null to use those that
    /// the machine has.</summary>
    public X509Certificate2Collection? CertificateChain { get; set; }

    /// <summary>How long calls may run on endpoints that are closed; null for the limits' drain
    /// time.</summary>
    public TimeSpan? DrainTimeout { get; set; }

    // The protocols to serve, if the new endpoints need more of them.
    internal IReadOnlyList<IServerFace>? Faces { get; init; }
}

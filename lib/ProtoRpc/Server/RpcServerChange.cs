using System.Security.Cryptography.X509Certificates;
using ProtoRpc.Server;

namespace ProtoRpc;

/// <summary>What <see cref="RpcServer.ChangeAsync"/> replaces; null leaves it as it is.</summary>
public sealed record RpcServerChange
{
    /// <summary>The handlers from now on by method: bare names where one service has them, else full ones.
    /// Methods without a handler are answered with Unimplemented.</summary>
    public IReadOnlyDictionary<string, RpcMethodHandler>? Handlers { get; set; }

    /// <summary>What stands around every call from now on, the first one outermost.</summary>
    public IReadOnlyList<IRpcInterceptor>? Interceptors { get; set; }

    /// <summary>The endpoints from now on. Those that the server has already stay as they are, with their
    /// connections; the others are closed after their calls.</summary>
    public IReadOnlyList<RpcEndpoint>? Endpoints { get; set; }

    /// <summary>The certificate, with its private key, of all endpoints with TLS from now on. New connections
    /// get it; those that are open keep the former one, and their calls go on. An endpoint that servers of
    /// this process share shows it for all of them.</summary>
    public X509Certificate2? Certificate { get; set; }

    /// <summary>The authorities between <see cref="Certificate"/> and its root, which are shown with it;
    /// null for those that the machine knows.</summary>
    public X509Certificate2Collection? CertificateChain { get; set; }

    /// <summary>For how long calls at endpoints that are closed may run on; null for the limit's drain
    /// time.</summary>
    public TimeSpan? DrainTimeout { get; set; }

    // The ways to serve, where the new endpoints need more of them.
    internal IReadOnlyList<IServerFace>? Faces { get; init; }
}

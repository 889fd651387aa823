using ProtoRpc.Security;

namespace ProtoRpc.Server.Native;

/// <summary>An interface as a listener serves it, until it is withdrawn.</summary>
internal sealed class ServedInterface
{
    private volatile bool _isWithdrawn;

    /// <exception cref="RpcException">Its security cannot work like that here.</exception>
    public ServedInterface(ExecInterface service, RpcEndpoint endpoint)
    {
        Service = service;
        Policy = new SecurityPolicy(
            service.Security, needsMechanism: !endpoint.Has(EndpointFeatures.KnowsCaller));
    }

    /// <summary>Id and handler.</summary>
    public ExecInterface Service { get; }

    /// <summary>Whom it lets in.</summary>
    public SecurityPolicy Policy { get; }

    /// <summary>Whether new calls are refused.</summary>
    public bool IsWithdrawn => _isWithdrawn;

    /// <summary>Refuses new calls from now on.</summary>
    public void Withdraw() => _isWithdrawn = true;
}

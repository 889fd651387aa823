namespace ProtoRpc.Transports;

/// <summary>An interface as a listener serves it, until it is withdrawn.</summary>
internal sealed class ServedInterface
{
    private volatile bool _isWithdrawn;

    public ServedInterface(ExecInterface service)
    {
        Service = service;
    }

    /// <summary>Id and handler.</summary>
    public ExecInterface Service { get; }

    /// <summary>Whether new calls are refused.</summary>
    public bool IsWithdrawn => _isWithdrawn;

    /// <summary>Refuses new calls from now on.</summary>
    public void Withdraw() => _isWithdrawn = true;
}

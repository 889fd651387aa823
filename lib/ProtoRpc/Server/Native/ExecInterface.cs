using ProtoRpc.Protocols;

namespace ProtoRpc.Server.Native;

/// <summary>Handles the calls of one interface. May run on many threads in parallel. The reply of a handler
/// that ends synchronously is sent without a thread switch.</summary>
internal delegate ValueTask ExecHandler(ExecCall call);

/// <summary>One interface of the raw layer, as a native listener serves it.</summary>
/// <param name="InterfaceId">The interface's UUID; version 1.0, operation 0.</param>
/// <param name="Handler">Handles its calls. An exception becomes return code 0x80004005,
/// as on the original.</param>
internal sealed record ExecInterface(Guid InterfaceId, ExecHandler Handler)
{
    /// <summary>The accepted callers. Interfaces that share one object also share the authentication of their
    /// callers.</summary>
    public RpcServerSecurity Security { get; init; } = RpcServerSecurity.Anonymous;

    /// <summary>Calls of the interface at the same time, over all endpoints; one more is refused as too busy.
    /// Null for no bound but the number of connections.</summary>
    public int? MaxCalls { get; init; }

    /// <summary>Largest request of the interface in bytes; null for the limit of the endpoint.</summary>
    public int? MaxRequestBytes { get; init; }

    /// <summary>Records calls that are rejected before the handler; null for none.</summary>
    public CallMonitor? Monitor { get; init; }

    /// <summary>Receives the PDUs of the endpoint; null for none.</summary>
    public RpcTrace? Trace { get; init; }

    /// <summary>How refused calls are named: the service, or the id of the interface.</summary>
    public string Name { get; init; } = InterfaceId.ToString();

    /// <summary>The RPC system, as of <see cref="CallTarget"/>.</summary>
    public string System { get; init; } = "protorpc";

    /// <summary>Where large requests count. An endpoint takes that of its first interface; null for one of
    /// the endpoint.</summary>
    public RequestMemory? Memory { get; init; }

    /// <summary>Reports to the servers of some interfaces that the endpoint which they share could not accept
    /// a connection.</summary>
    public static void ReportHandleShortage(IEnumerable<ExecInterface> interfaces, RpcEndpoint endpoint)
    {
        foreach (CallMonitor monitor in
            interfaces.Select(one => one.Monitor).OfType<CallMonitor>().Distinct())
        {
            monitor.ReportHandleShortage(endpoint);
        }
    }

    // Counted here and not by endpoint, for the bound is the interface's.
    internal CallGate Gate { get; } = new();
}

/// <summary>Counts the calls of an interface with a bound that run, and lets in no more than it may
/// have.</summary>
internal sealed class CallGate
{
    private int _calls;

    /// <summary>Counts one more, unless there are as many as there may be.</summary>
    public bool TryEnter(int max)
    {
        if (Interlocked.Increment(ref _calls) <= max)
        {
            return true;
        }

        Leave();
        return false;
    }

    /// <summary>Counts one less.</summary>
    public void Leave() => Interlocked.Decrement(ref _calls);
}

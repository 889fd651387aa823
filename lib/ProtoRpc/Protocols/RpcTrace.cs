namespace ProtoRpc;

/// <summary>Receives what clients and servers send and receive, for debugging: PDUs, HTTP messages and gRPC
/// frames, by type and size. May be called on many threads in parallel.</summary>
/// <remarks>Without a trace, or while it is not enabled, it costs nothing.</remarks>
public abstract class RpcTrace
{
    // What a peer sent in a header or a name is cut behind this.
    private const int MaxTextLength = 2000;

    /// <summary>Whether it wants entries now.</summary>
    public virtual bool IsEnabled => true;

    /// <summary>Takes an entry. What it throws is ignored.</summary>
    public abstract void Write(RpcTraceEntry entry);

    /// <summary>A trace that calls a method for each entry.</summary>
    public static RpcTrace To(Action<RpcTraceEntry> write)
    {
        ArgumentNullException.ThrowIfNull(write);
        return new TraceAction(write);
    }

    /// <summary>Makes an entry. A trace that fails changes no call.</summary>
    internal void Add(bool isSent, RpcEndpoint endpoint, string text)
    {
        try
        {
            Write(new RpcTraceEntry(
                DateTimeOffset.UtcNow, isSent, endpoint, TerminalText.OneLine(text, MaxTextLength)));
        }
        catch (Exception)
        {
        }
    }

    private sealed class TraceAction(Action<RpcTraceEntry> write) : RpcTrace
    {
        public override void Write(RpcTraceEntry entry) => write(entry);
    }
}

namespace ProtoRpc;

/// <summary>What a listener keeps for a caller, as the shell shows it.</summary>
public sealed class RpcSessionInfo
{
    private readonly RpcSession _session;

    private RpcSessionInfo(RpcListener listener, RpcSession session)
    {
        Listener = listener;
        _session = session;
    }

    /// <summary>Its random id.</summary>
    public Guid Id => _session.Id;

    /// <summary>The listener that keeps it.</summary>
    public RpcListener Listener { get; }

    /// <summary>The owner; other callers cannot use the session.</summary>
    public string Owner => _session.Owner;

    /// <summary>When it began.</summary>
    public DateTimeOffset Created => _session.Created;

    /// <summary>How long ago a call used it last.</summary>
    public TimeSpan Idle => _session.Idle;

    /// <summary>The keys of its values.</summary>
    public string[] Keys => [.. _session.Keys];

    /// <summary>How many values it has.</summary>
    public int Count => _session.Count;

    /// <inheritdoc/>
    public override string ToString() => $"session {Id} of {Owner}";

    internal static IEnumerable<RpcSessionInfo> Of(RpcListener listener) =>
        listener.Sessions.Select(session => new RpcSessionInfo(listener, session));
}

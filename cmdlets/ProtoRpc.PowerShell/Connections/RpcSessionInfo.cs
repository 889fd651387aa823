namespace ProtoRpc;

/// <summary>A session of a listener, as the shell shows it.</summary>
public sealed class RpcSessionInfo
{
    private readonly RpcSession _session;

    private RpcSessionInfo(RpcListener listener, RpcSession session)
    {
        Listener = listener;
        _session = session;
    }

    /// <summary>The random id of the session.</summary>
    public Guid Id => _session.Id;

    /// <summary>The listener of the session.</summary>
    public RpcListener Listener { get; }

    /// <summary>The owner; other callers cannot use the session.</summary>
    public string Owner => _session.Owner;

    /// <summary>When the session was created.</summary>
    public DateTimeOffset Created => _session.Created;

    /// <summary>The time since the last call that used the session.</summary>
    public TimeSpan Idle => _session.Idle;

    /// <summary>The keys of the session's values.</summary>
    public string[] Keys => [.. _session.Keys];

    /// <summary>The number of values.</summary>
    public int Count => _session.Count;

    /// <inheritdoc/>
    public override string ToString() => $"session {Id} of {Owner}";

    internal static IEnumerable<RpcSessionInfo> GetSessions(RpcListener listener) =>
        listener.Sessions.Select(session => new RpcSessionInfo(listener, session));
}

using System.Diagnostics;
using Microsoft.Extensions.Logging;
using ProtoRpc.Server.AccessLogs;

namespace ProtoRpc.Server;

/// <summary>Counts the calls of a server of either layer, and logs those that fail.</summary>
/// <param name="logger">Null for no log.</param>
/// <param name="accessLog">Where all calls are written; null for no log.</param>
internal sealed class CallMonitor(ILogger? logger = null, RpcAccessLog? accessLog = null)
{
    private volatile IAccessLogSink? _sink;
    private long _begun;
    private long _ended;
    private long _failed;
    private long _refused;
    private int _queued;

    /// <summary>Calls that ended, failed ones included.</summary>
    public long Ended => Volatile.Read(ref _ended);

    public long Failed => Volatile.Read(ref _failed);

    /// <summary>Calls that were refused because the server was too busy.</summary>
    public long Refused => Volatile.Read(ref _refused);

    /// <summary>Calls that wait for others to end.</summary>
    public int Queued => Volatile.Read(ref _queued);

    // Each call changes two counters and not three: all processors share them, which takes time.
    public int Running
    {
        get
        {
            // In this order, so that the difference is never below zero.
            long ended = Volatile.Read(ref _ended);
            return (int)(Volatile.Read(ref _begun) - ended);
        }
    }

    /// <summary>Whether the duration of each call is needed.</summary>
    public bool IsTimed => _sink is not null || CallTelemetry.IsMeasured || CallTelemetry.IsTraced;

    /// <summary>Takes each call; null for no log.</summary>
    public IAccessLogSink? Sink => _sink;

    /// <summary>Opens the access log, if there is one.</summary>
    /// <exception cref="RpcException">InvalidArgument: its file cannot be written.</exception>
    public void OpenLog() => _sink ??= accessLog?.Open();

    /// <summary>Writes what waits for the access log, and closes it.</summary>
    public void CloseLog()
    {
        IAccessLogSink? sink = _sink;
        _sink = null;
        sink?.Dispose();
    }

    /// <summary>Marks the begin of a call.</summary>
    public void Begin() => Interlocked.Increment(ref _begun);

    /// <summary>Marks the end of a call that began.</summary>
    /// <param name="status">How it ended.</param>
    public void End(RpcStatusCode status)
    {
        if (status != RpcStatusCode.OK)
        {
            Interlocked.Increment(ref _failed);
        }

        Interlocked.Increment(ref _ended);
    }

    /// <summary>Marks that a call was refused because the server was too busy.</summary>
    public void CountRefusal() => Interlocked.Increment(ref _refused);

    /// <summary>Marks that more calls wait, or fewer.</summary>
    public void AddQueued(int change)
    {
        if (change != 0)
        {
            Interlocked.Add(ref _queued, change);
        }
    }

    /// <summary>Notes a call that was refused before it began.</summary>
    /// <param name="system">The RPC system, as of <see cref="CallTarget"/>.</param>
    /// <param name="endpoint">Where it came in.</param>
    /// <param name="called">What it named; null for nothing.</param>
    /// <param name="peer">Who called.</param>
    /// <param name="status">What the caller gets.</param>
    /// <param name="bytesIn">The size of the request, where it is known.</param>
    /// <param name="parent">What the call is part of; the default for a call on its own.</param>
    public void Refuse(
        string system, RpcEndpoint endpoint, string? called, PeerIdentity peer, RpcStatusCode status,
        long bytesIn = 0, ActivityContext parent = default)
    {
        CallTarget target = new(system, CallTarget.UnknownMethod, endpoint);
        Activity? activity = CallTelemetry.IsTraced
            ? CallTelemetry.StartUnknown(target, called, parent)
            : null;
        if (activity is not null)
        {
            CallTelemetry.Stop(activity, status);
        }

        if (CallTelemetry.IsMeasured)
        {
            CallTelemetry.Measure(target, status, TimeSpan.Zero);
        }

        _sink?.Add(new RpcAccessLogEntry
        {
            Time = DateTimeOffset.UtcNow,
            Peer = AccessLogText.Of(peer),
            User = AccessLogText.NameOf(peer),
            Transport = endpoint.Transport,
            Endpoint = endpoint,
            Method = AccessLogText.Of(called ?? CallTarget.UnknownMethod),
            Status = status,
            BytesIn = bytesIn,
            TraceId = activity?.TraceId.ToHexString(),
        });
    }

    /// <summary>Logs a call that failed. What the logger throws is ignored: the caller gets the
    /// answer.</summary>
    /// <param name="method">What was called; null where that could not be read.</param>
    /// <param name="endpoint">Where; null where that is not known.</param>
    /// <param name="failure">How it failed.</param>
    public void Log(string? method, RpcEndpoint? endpoint, CallFailure failure)
    {
        if (logger is null)
        {
            return;
        }

        try
        {
            string what = method ?? "A call";
            string where = endpoint?.ToString() ?? "its endpoint";
            if (failure.IsForCaller)
            {
                CallLog.Refusal(logger, what, where, failure.Code, failure.Text);
            }
            else
            {
                CallLog.Failure(logger, what, where, failure.Code, failure.CorrelationId, failure.Error);
            }
        }
        catch (Exception)
        {
        }
    }
}

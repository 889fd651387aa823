using System.Collections.Frozen;
using System.Diagnostics;
using System.Diagnostics.Metrics;
using Microsoft.Extensions.Logging;
using ProtoRpc.Protocols;

namespace ProtoRpc.Server.Calls;

/// <summary>Counts a server's calls, and logs failed ones.</summary>
/// <param name="logger">The logger; null for none.</param>
/// <param name="accessLog">The log of all calls; null for none.</param>
internal sealed class CallMonitor(ILogger? logger = null, RpcAccessLog? accessLog = null)
{
    private static readonly long WarningPeriod = (long)TimeSpan.FromMinutes(1).TotalMilliseconds;

    private volatile IAccessLogSink? _sink;
    private long _begun;
    private long _ended;
    private long _failed;
    private long _refused;
    private long _shortages;
    private long _nextWarning = long.MinValue;
    private int _queued;

    /// <summary>The number of completed calls, including failed ones.</summary>
    public long Ended => Volatile.Read(ref _ended);

    public long Failed => Volatile.Read(ref _failed);

    /// <summary>The number of calls that were rejected because the server was too busy.</summary>
    public long Refused => Volatile.Read(ref _refused);

    /// <summary>How often a connection was not accepted because the process had no free file
    /// handle.</summary>
    public long HandleShortages => Volatile.Read(ref _shortages);

    /// <summary>Receives warnings; null for none. Its exceptions are ignored.</summary>
    public Action<string>? Warned { get; init; }

    /// <summary>The number of waiting calls.</summary>
    public int Queued => Volatile.Read(ref _queued);

    // A call changes two counters instead of three, because sharing counters between processors takes time.
    public int Running
    {
        get
        {
            // The counters are read in this order, so that the difference is never negative.
            long ended = Volatile.Read(ref _ended);
            return (int)(Volatile.Read(ref _begun) - ended);
        }
    }

    /// <summary>Whether the duration of each call is needed.</summary>
    public bool IsTimed => _sink is not null || CallTelemetry.IsMeasured || CallTelemetry.IsTraced;

    /// <summary>Opens the access log, if there is one.</summary>
    /// <exception cref="RpcException">InvalidArgument: its file cannot be written.</exception>
    public void OpenLog() => _sink ??= accessLog?.Open();

    /// <summary>Writes the access log's waiting entries, and closes it.</summary>
    public void CloseLog()
    {
        IAccessLogSink? sink = _sink;
        _sink = null;
        sink?.Dispose();
    }

    /// <summary>Counts the begin of a call.</summary>
    /// <returns>The time, as of <see cref="Stopwatch.GetTimestamp"/>, if the call's duration is needed;
    /// otherwise 0.</returns>
    public long Begin()
    {
        long now = IsTimed ? Stopwatch.GetTimestamp() : 0;
        Interlocked.Increment(ref _begun);
        return now;
    }

    /// <summary>Counts, measures and logs the end of a call.</summary>
    /// <param name="target">The called method, as far as it is known.</param>
    /// <param name="called">The name that the caller sent, if it differs from the called method; null if it
    /// sent none.</param>
    /// <param name="peer">The caller.</param>
    /// <param name="status">The status that the caller receives.</param>
    /// <param name="began">The result of <see cref="Begin"/>.</param>
    /// <param name="bytesIn">The size of the request, if it is known.</param>
    /// <param name="bytesOut">The size of the reply.</param>
    /// <param name="activity">The call's activity; null for none.</param>
    /// <param name="correlationId">The id that the caller receives; null for none.</param>
    public void End(
        CallTarget target, string? called, PeerIdentity peer, RpcStatusCode status, long began,
        long bytesIn, long bytesOut, Activity? activity, string? correlationId = null)
    {
        if (status != RpcStatusCode.OK)
        {
            Interlocked.Increment(ref _failed);
        }

        Interlocked.Increment(ref _ended);
        if (activity is not null)
        {
            CallTelemetry.Stop(activity, status);
        }

        if (began != 0)
        {
            Record(
                target, called, peer, status, Stopwatch.GetElapsedTime(began), bytesIn, bytesOut, activity,
                correlationId);
        }
    }

    /// <summary>Counts a call that was rejected because the server was too busy.</summary>
    public void CountRefusal() => Interlocked.Increment(ref _refused);

    /// <summary>Changes the number of waiting calls.</summary>
    public void AddQueued(int change)
    {
        if (change != 0)
        {
            Interlocked.Add(ref _queued, change);
        }
    }

    /// <summary>Counts a connection that could not be accepted, because the process has too few free file
    /// handles, and warns of it once a minute.</summary>
    public void ReportHandleShortage(RpcEndpoint endpoint) =>
        ReportHandleShortage(endpoint, Environment.TickCount64);

    /// <summary>The same at a time, as of <see cref="Environment.TickCount64"/>.</summary>
    internal void ReportHandleShortage(RpcEndpoint endpoint, long now)
    {
        long count = Interlocked.Increment(ref _shortages);
        long next = Volatile.Read(ref _nextWarning);
        if (now < next || Interlocked.CompareExchange(ref _nextWarning, now + WarningPeriod, next) != next)
        {
            return;
        }

        string text = $"'{endpoint}' could not accept a connection, because the process has too few free "
            + $"file handles. This has happened {count:N0} times since the server started. Raise the "
            + "system's limit of open files, or lower the limit MaxConnections.";
        Warn(text);
    }

    /// <summary>Warns of a state of the server that keeps callers out, or soon will.</summary>
    public void Warn(string text)
    {
        try
        {
            if (logger is not null)
            {
                CallLog.Warning(logger, text);
            }

            Warned?.Invoke(text);
        }
        catch (Exception)
        {
            // A log or callback that fails must not stop the server.
        }
    }

    /// <summary>Records a call that was rejected before it began.</summary>
    /// <param name="system">The RPC system, as of <see cref="CallTarget"/>.</param>
    /// <param name="endpoint">The endpoint that received the call.</param>
    /// <param name="called">The name that the caller sent; null for none.</param>
    /// <param name="peer">The caller.</param>
    /// <param name="status">The status that the caller receives.</param>
    /// <param name="bytesIn">The size of the request, if it is known.</param>
    /// <param name="parent">The trace context that the call belongs to; the default for none.</param>
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

        Record(target, called, peer, status, TimeSpan.Zero, bytesIn, bytesOut: 0, activity);
    }

    // Measures a call that has ended, and adds its entry to the access log. No other code makes entries.
    private void Record(
        CallTarget target, string? called, PeerIdentity peer, RpcStatusCode status, TimeSpan time,
        long bytesIn, long bytesOut, Activity? activity, string? correlationId = null)
    {
        if (CallTelemetry.IsMeasured)
        {
            CallTelemetry.Measure(target, status, time);
        }

        _sink?.Add(new RpcAccessLogEntry
        {
            Time = DateTimeOffset.UtcNow - time,
            Peer = peer.Address.Length > 0 ? peer.Address
                : peer.ProcessId != 0 ? $"pid:{peer.ProcessId}"
                : "",
            User = AccessLogText.NameOf(peer),
            Transport = target.Endpoint.Transport,
            Endpoint = target.Endpoint,
            Method = target.Method == CallTarget.UnknownMethod
                ? AccessLogText.Format(called ?? target.Method)
                : target.Method,
            Status = status,
            Milliseconds = time.TotalMilliseconds,
            BytesIn = bytesIn,
            BytesOut = bytesOut,
            TraceId = activity?.TraceId.ToHexString(),
            CorrelationId = correlationId,
        });
    }

    /// <summary>Logs a failed call. Exceptions of the logger are ignored, so that the caller still receives
    /// the reply.</summary>
    /// <param name="method">The called method; null if it could not be read.</param>
    /// <param name="endpoint">The endpoint; null if it is not known.</param>
    /// <param name="failure">The failure.</param>
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

/// <summary>Writes the calls that failed to the log of a host.</summary>
internal static class CallLog
{
    private static readonly Action<ILogger, string, string, RpcStatusCode, string, Exception?> HandlerFailed =
        LoggerMessage.Define<string, string, RpcStatusCode, string>(
            LogLevel.Error,
            new EventId(1, nameof(HandlerFailed)),
            "{Method} on {Endpoint} failed with status {Status}, correlation id '{CorrelationId}'.");

    private static readonly Action<ILogger, string, string, RpcStatusCode, string, Exception?> CallRefused =
        LoggerMessage.Define<string, string, RpcStatusCode, string>(
            LogLevel.Information,
            new EventId(2, nameof(CallRefused)),
            "{Method} on {Endpoint} ended with status {Status}: {Text}");

    private static readonly Action<ILogger, string, Exception?> ServerWarned = LoggerMessage.Define<string>(
        LogLevel.Warning, new EventId(3, nameof(ServerWarned)), "{Text}");

    /// <summary>A state of the server that keeps callers out.</summary>
    public static void Warning(ILogger logger, string text) => ServerWarned(logger, text, null);

    /// <summary>An unexpected exception: its caller received an id, or only the text.</summary>
    public static void Failure(
        ILogger logger, string method, string endpoint, RpcStatusCode status, string? correlationId,
        Exception error) =>
        HandlerFailed(logger, method, endpoint, status, correlationId ?? "", error);

    /// <summary>A failure that a handler wrote for its caller.</summary>
    public static void Refusal(
        ILogger logger, string method, string endpoint, RpcStatusCode status, string text) =>
        CallRefused(logger, method, endpoint, status, text, null);
}

/// <summary>Reports calls as activities and measurements, with the names of OpenTelemetry's conventions for
/// RPC. Without a listener, a call costs two reads of a flag.</summary>
internal static class CallTelemetry
{
    private static readonly Histogram<double> Duration = TelemetryNames.CreateDuration(
        "rpc.server.call.duration", "The duration of calls on a server.");

    // The other statuses are the caller's fault, so a server does not count them as its failures.
    private static readonly FrozenSet<RpcStatusCode> Faults = FrozenSet.Create(
        RpcStatusCode.Unknown, RpcStatusCode.DeadlineExceeded, RpcStatusCode.Unimplemented,
        RpcStatusCode.Internal, RpcStatusCode.Unavailable, RpcStatusCode.DataLoss);

    /// <summary>Whether activities have a listener.</summary>
    public static bool IsTraced => RpcDiagnostics.Source.HasListeners();

    /// <summary>Whether measurements have a listener.</summary>
    public static bool IsMeasured => Duration.Enabled;

    /// <summary>Begins the activity of a call, as the current one.</summary>
    /// <param name="call">The called method and the endpoint.</param>
    /// <param name="parent">The parent; the default for a root activity.</param>
    /// <returns>Null without a listener for it.</returns>
    public static Activity? Start(in CallTarget call, ActivityContext parent)
    {
        // The listener inherited the activity of the thread that started it, which is not the parent of this
        // call.
        Activity.Current = null;
        return TelemetryNames.Start(ActivityKind.Server, call.System, call.Method, parent, TagsOf(call));
    }

    /// <summary>Begins the activity of a call whose method could not be read, or does not exist.</summary>
    /// <param name="call">The known properties of the call.</param>
    /// <param name="called">The method name that the caller sent; null for none.</param>
    /// <param name="parent">The parent; the default for a root activity.</param>
    /// <returns>Null without a listener for it.</returns>
    public static Activity? StartUnknown(in CallTarget call, string? called, ActivityContext parent)
    {
        Activity? activity = Start(call, parent);
        if (activity is { IsAllDataRequested: true } && called is not null)
        {
            TelemetryNames.SetOriginal(activity, AccessLogText.Format(called));
        }

        return activity;
    }

    /// <summary>Ends the activity of a call.</summary>
    public static void Stop(Activity activity, RpcStatusCode status)
    {
        TelemetryNames.SetStatus(activity, status, Faults.Contains(status));
        activity.Dispose();
    }

    /// <summary>Measures a call that ended.</summary>
    /// <param name="call">The called method and the endpoint.</param>
    /// <param name="status">The status of the call.</param>
    /// <param name="time">The duration of the call.</param>
    public static void Measure(in CallTarget call, RpcStatusCode status, TimeSpan time)
    {
        TagList tags = TagsOf(call);
        TelemetryNames.AddStatus(ref tags, status, Faults.Contains(status));
        Duration.Record(time.TotalSeconds, tags);
    }

    private static TagList TagsOf(in CallTarget call) =>
        TelemetryNames.GetTags(call.System, call.Method, call.Endpoint);
}

/// <summary>The target of a call, in the terms of logs, activities and measurements.</summary>
/// <param name="System">The RPC system: <c>grpc</c>, <c>dcerpc</c> of the raw layer, or
/// <c>protorpc</c>.</param>
/// <param name="Method"><c>package.Service/Method</c>, or the id of an interface.</param>
/// <param name="Endpoint">The listener's endpoint.</param>
internal readonly record struct CallTarget(string System, string Method, RpcEndpoint Endpoint)
{
    /// <summary>The method of a call whose method could not be read, or does not exist.</summary>
    public const string UnknownMethod = TelemetryNames.UnknownMethod;
}

/// <summary>Shortens callers' texts to one line for log entries.</summary>
internal static class AccessLogText
{
    private const int MaxLength = 256;

    /// <summary>The text, cut and without control characters.</summary>
    public static string Format(string? text) => TerminalText.OneLine(text, MaxLength);

    /// <summary>The name of a caller; empty for an anonymous one.</summary>
    public static string NameOf(PeerIdentity peer)
    {
        try
        {
            return Format(peer.User.Name);
        }
        catch (Exception e) when (e is SystemException)
        {
            // Windows resolves names on demand, and its directory may be unreachable.
            return "?";
        }
    }
}

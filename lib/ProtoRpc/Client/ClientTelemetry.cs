using System.Diagnostics;
using System.Diagnostics.Metrics;
using Microsoft.Extensions.Logging;
using ProtoRpc.Protocols;

namespace ProtoRpc.Client;

/// <summary>Reports a call as an activity and a measurement, with the names of OpenTelemetry's conventions
/// for RPC, and logs it. Without a listener, a call only reads two flags.</summary>
internal sealed class ClientTelemetry
{
    private static readonly Histogram<double> Duration = TelemetryNames.CreateDuration(
        "rpc.client.call.duration", "The duration of calls on a client.");

    private readonly long _start = Stopwatch.GetTimestamp();
    private readonly Activity? _activity;
    private readonly TagList _tags;
    private readonly string _method;
    private readonly RpcEndpoint _endpoint;
    private readonly ClientLog? _log;
    private readonly RpcReplyInfo? _info;

    private ClientTelemetry(
        string system, string method, RpcEndpoint endpoint, ClientLog? log, RpcReplyInfo? info)
    {
        _method = method;
        _endpoint = endpoint;
        _log = log;
        _info = info;
        _tags = TelemetryNames.GetTags(system, method, endpoint);
        _activity = TelemetryNames.Start(ActivityKind.Client, system, method, parent: default, _tags);
    }

    /// <summary>Begins a call and makes its activity the current one; null without a listener.</summary>
    /// <param name="system">The RPC system: <c>grpc</c>, <c>dcerpc</c> for raw calls, or
    /// <c>protorpc</c>.</param>
    /// <param name="method"><c>package.Service/Method</c>, or the id of an interface.</param>
    /// <param name="endpoint">The endpoint.</param>
    /// <param name="log">The log of the client; null for none.</param>
    /// <param name="info">Contains the sizes when the call ends; null if they are not counted.</param>
    public static ClientTelemetry? Begin(
        string system, string method, RpcEndpoint endpoint, ClientLog? log, RpcReplyInfo? info) =>
        RpcDiagnostics.Source.HasListeners() || Duration.Enabled || log is { LogsFailures: true }
            ? new(system, method, endpoint, log, info)
            : null;

    /// <summary>Adds the trace headers of the current activity to a call, unless the caller or the client has
    /// set them.</summary>
    /// <param name="call">The call.</param>
    /// <param name="always">The headers that the client sends with every call.</param>
    public static CallSpec Trace(CallSpec call, RpcMetadata always)
    {
        if (Activity.Current is not { IdFormat: ActivityIdFormat.W3C } activity
            || TraceContext.IsIn(always)
            || (call.Options?.Headers is { } own && TraceContext.IsIn(own)))
        {
            return call;
        }

        RpcMetadata headers = call.Options?.Headers?.Copy() ?? new RpcMetadata();
        TraceContext.Write(activity, headers);
        return call with { Options = (call.Options ?? new RpcCallOptions()) with { Headers = headers } };
    }

    /// <summary>Ends the call.</summary>
    /// <param name="status">The status of the call.</param>
    /// <param name="error">The failure, for the log; null for none.</param>
    public void End(RpcStatusCode status, Exception? error = null)
    {
        bool isError = status != RpcStatusCode.OK;
        if (_activity is { } activity)
        {
            TelemetryNames.SetStatus(activity, status, isError);

            // A stream may end while another activity is current. That activity stays current.
            Activity? current = Activity.Current;
            activity.Dispose();
            if (current != activity)
            {
                Activity.Current = current;
            }
        }

        TagList tags = _tags;
        TelemetryNames.AddStatus(ref tags, status, isError);
        TimeSpan time = Stopwatch.GetElapsedTime(_start);
        Duration.Record(time.TotalSeconds, tags);
        Log(time, status, error);
    }

    private void Log(TimeSpan time, RpcStatusCode status, Exception? error)
    {
        if (status != RpcStatusCode.OK)
        {
            _log?.Fail(
                _method, (error as RpcException)?.Endpoint ?? _endpoint, time, status, error?.Message);
        }
        else if (_log is { LogsCalls: true })
        {
            _log.End(_method, _info?.Endpoint ?? _endpoint, time, _info);
        }
    }
}

/// <summary>Writes a client's events to its host's log. Exceptions of the logger are ignored, so that a call
/// ends the same with and without a log.</summary>
internal sealed class ClientLog
{
    private const int MaxText = 512;

    private static readonly Action<ILogger, string, RpcEndpoint, double, long, long, int, Exception?>
        CallEnded = LoggerMessage.Define<string, RpcEndpoint, double, long, long, int>(
            LogLevel.Debug,
            new EventId(20, nameof(CallEnded)),
            "{Method} on {Endpoint} ended in {Milliseconds} ms: {BytesSent} bytes sent, "
            + "{BytesReceived} bytes received, {Retries} retries.");

    private static readonly Action<ILogger, string, RpcEndpoint, RpcStatusCode, double, string, Exception?>
        CallFailed = LoggerMessage.Define<string, RpcEndpoint, RpcStatusCode, double, string>(
            LogLevel.Information,
            new EventId(21, nameof(CallFailed)),
            "{Method} on {Endpoint} failed with status {Status} after {Milliseconds} ms: {Text}");

    private static readonly Action<ILogger, RpcEndpoint, double, Exception?> Connected =
        LoggerMessage.Define<RpcEndpoint, double>(
            LogLevel.Debug,
            new EventId(22, nameof(Connected)),
            "Connected to {Endpoint} in {Milliseconds} ms.");

    private static readonly Action<ILogger, RpcEndpoint, RpcStatusCode, string, Exception?> ConnectFailed =
        LoggerMessage.Define<RpcEndpoint, RpcStatusCode, string>(
            LogLevel.Information,
            new EventId(23, nameof(ConnectFailed)),
            "Connecting to {Endpoint} failed with status {Status}: {Text}");

    private static readonly Action<ILogger, string, Exception?> Tolerated = LoggerMessage.Define<string>(
        LogLevel.Warning, new EventId(24, nameof(Tolerated)), "{Text}");

    private static readonly Action<
        ILogger, string, RpcEndpoint, int, RpcStatusCode, double, string, Exception?>
        CallRetried = LoggerMessage.Define<string, RpcEndpoint, int, RpcStatusCode, double, string>(
            LogLevel.Warning,
            new EventId(CallRetriedId, nameof(CallRetried)),
            "{Method} on {Endpoint}: attempt {Attempt} failed with status {Status}, the next begins in "
            + "{Milliseconds} ms: {Text}");

    private static readonly Action<ILogger, RpcEndpoint, int, RpcStatusCode, double, string, Exception?>
        ConnectRetried = LoggerMessage.Define<RpcEndpoint, int, RpcStatusCode, double, string>(
            LogLevel.Warning,
            new EventId(ConnectRetriedId, nameof(ConnectRetried)),
            "Connecting to {Endpoint}: attempt {Attempt} failed with status {Status}, the next begins in "
            + "{Milliseconds} ms: {Text}");

    private static readonly Action<
        ILogger, string, RpcEndpoint, int, RpcStatusCode, string, string, Exception?>
        RetriesEnded = LoggerMessage.Define<string, RpcEndpoint, int, RpcStatusCode, string, string>(
            LogLevel.Warning,
            new EventId(RetriesEndedId, nameof(RetriesEnded)),
            "{Method} on {Endpoint}: attempt {Attempt} failed with status {Status} and is the last, because "
            + "{Reason}: {Text}");

    private const int CallRetriedId = 25;
    private const int ConnectRetriedId = 26;
    private const int RetriesEndedId = 27;

    private readonly ILogger _logger;

    private ClientLog(ILogger logger) => _logger = logger;

    /// <summary>Whether an event is a failed attempt that is retried, or that the server or the retry budget
    /// made the last one.</summary>
    public static bool IsOfRetries(EventId id) =>
        id.Id is CallRetriedId or ConnectRetriedId or RetriesEndedId;

    /// <summary>Whether failed calls are logged.</summary>
    public bool LogsFailures => IsEnabled(LogLevel.Information);

    /// <summary>Whether each call is logged, with its sizes.</summary>
    public bool LogsCalls => IsEnabled(LogLevel.Debug);

    /// <summary>Creates the log of a client, with its class as the category.</summary>
    /// <returns>Null if the host has no log.</returns>
    public static ClientLog? From<TClient>(RpcClientOptions options) =>
        options.LoggerFactory?.CreateLogger<TClient>() is { } logger ? new ClientLog(logger) : null;

    /// <summary>Logs a call that succeeded.</summary>
    public void End(string method, RpcEndpoint endpoint, TimeSpan time, RpcReplyInfo? info) => Try(() =>
        CallEnded(
            _logger, method, endpoint, Get(time), info?.BytesSent ?? 0, info?.BytesReceived ?? 0,
            info?.Retries ?? 0, null));

    /// <summary>Logs a call that failed.</summary>
    public void Fail(
        string method, RpcEndpoint endpoint, TimeSpan time, RpcStatusCode status, string? text) =>
        Try(() => CallFailed(
            _logger, method, endpoint, status, Get(time), TerminalText.OneLine(text, MaxText), null));

    public void Connect(RpcEndpoint endpoint, TimeSpan time) =>
        Try(() => Connected(_logger, endpoint, Get(time), null));

    /// <summary>Logs a server that could not be reached.</summary>
    public void FailToConnect(RpcEndpoint endpoint, Exception error) => Try(() => ConnectFailed(
        _logger, endpoint, (error as RpcException)?.Code ?? RpcStatusCode.Unknown,
        TerminalText.OneLine(error.Message, MaxText), null));

    /// <summary>Logs a protocol violation of a server that the client tolerates.</summary>
    public void Tolerate(string text) =>
        Try(() => Tolerated(_logger, TerminalText.OneLine(text, MaxText), null));

    /// <summary>Logs a failed attempt that is followed by another one.</summary>
    /// <param name="method">The called method; null for connecting.</param>
    /// <param name="endpoint">The endpoint.</param>
    /// <param name="attempt">The number of the attempt, from 1.</param>
    /// <param name="failure">The failure.</param>
    /// <param name="pause">The time until the next attempt.</param>
    public void Retry(
        string? method, RpcEndpoint endpoint, int attempt, RpcException failure, TimeSpan pause) => Try(() =>
    {
        string text = TerminalText.OneLine(failure.Message, MaxText);
        if (method is null)
        {
            ConnectRetried(_logger, endpoint, attempt, failure.Code, Get(pause), text, null);
        }
        else
        {
            CallRetried(_logger, method, endpoint, attempt, failure.Code, Get(pause), text, null);
        }
    });

    /// <summary>Logs a failed attempt that would be followed by another one, but for the server or the retry
    /// budget.</summary>
    /// <param name="method">The called method; null while connecting.</param>
    /// <param name="endpoint">The endpoint.</param>
    /// <param name="attempt">The number of the attempt, from 1.</param>
    /// <param name="failure">The failure.</param>
    /// <param name="reason">Why there is no further attempt.</param>
    public void EndRetries(
        string? method, RpcEndpoint endpoint, int attempt, RpcException failure, string reason) =>
        Try(() => RetriesEnded(
            _logger, method ?? "Connecting", endpoint, attempt, failure.Code, reason,
            TerminalText.OneLine(failure.Message, MaxText), null));

    private static double Get(TimeSpan time) => Math.Round(time.TotalMilliseconds, 3);

    private static void Try(Action write)
    {
        try
        {
            write();
        }
        catch (Exception)
        {
        }
    }

    private bool IsEnabled(LogLevel level)
    {
        try
        {
            return _logger.IsEnabled(level);
        }
        catch (Exception)
        {
            return false;
        }
    }
}

using Microsoft.Extensions.Logging;

namespace ProtoRpc.Client;

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

    /// <summary>The event of a failed attempt of a call that is retried.</summary>
    public const int CallRetriedId = 25;

    /// <summary>The event of a failed attempt to connect that is retried.</summary>
    public const int ConnectRetriedId = 26;

    private readonly ILogger _logger;

    private ClientLog(ILogger logger) => _logger = logger;

    /// <summary>Whether failed calls are logged.</summary>
    public bool LogsFailures => IsEnabled(LogLevel.Information);

    /// <summary>Whether each call is logged, with its sizes.</summary>
    public bool LogsCalls => IsEnabled(LogLevel.Debug);

    /// <summary>Creates the log of a client, with its class as the category.</summary>
    /// <returns>Null if the host has no log.</returns>
    public static ClientLog? Of<TClient>(RpcClientOptions options) =>
        options.LoggerFactory?.CreateLogger<TClient>() is { } logger ? new ClientLog(logger) : null;

    /// <summary>Logs a call that succeeded.</summary>
    public void End(string method, RpcEndpoint endpoint, TimeSpan time, RpcResponseInfo? info) => Try(() =>
        CallEnded(
            _logger, method, endpoint, Of(time), info?.BytesSent ?? 0, info?.BytesReceived ?? 0,
            info?.Retries ?? 0, null));

    /// <summary>Logs a call that failed.</summary>
    public void Fail(
        string method, RpcEndpoint endpoint, TimeSpan time, RpcStatusCode status, string? text) =>
        Try(() => CallFailed(
            _logger, method, endpoint, status, Of(time), TerminalText.OneLine(text, MaxText), null));

    /// <summary>Logs a new connection.</summary>
    public void Connect(RpcEndpoint endpoint, TimeSpan time) =>
        Try(() => Connected(_logger, endpoint, Of(time), null));

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
            ConnectRetried(_logger, endpoint, attempt, failure.Code, Of(pause), text, null);
        }
        else
        {
            CallRetried(_logger, method, endpoint, attempt, failure.Code, Of(pause), text, null);
        }
    });

    private static double Of(TimeSpan time) => Math.Round(time.TotalMilliseconds, 3);

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

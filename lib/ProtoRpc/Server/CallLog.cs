using Microsoft.Extensions.Logging;

namespace ProtoRpc.Server;

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

using ProtoRpc.Transports.Tls;

namespace ProtoRpc.Transports;

/// <summary>Creates exceptions for calls that ended without a reply.</summary>
internal static class CallErrors
{
    public static RpcException NotReached(RpcEndpoint endpoint, TimeSpan timeout, RpcException last) => new(
        RpcStatusCode.DeadlineExceeded,
        $"'{endpoint}' was not reached within {timeout.TotalSeconds:0.###} s; the call did not "
        + $"run. {last.Message}", endpoint, last);

    /// <summary>The headers and trailers of a reply are too large. The call may have run.</summary>
    public static RpcException TooManyHeaders(RpcEndpoint endpoint, HttpRequestException limit) => new(
        RpcStatusCode.ResourceExhausted,
        $"'{endpoint}' sent more headers than allowed. {limit.Message.TrimEnd('.')}. Headers and trailers "
        + $"count together. Raise {nameof(RpcLimits)}.{nameof(RpcLimits.MaxHeaderBytes)} of the client, or "
        + "let the server send less.", limit)
    {
        Endpoint = endpoint,
        MayHaveExecuted = true,
    };

    public static RpcException Cancelled(RpcEndpoint endpoint, bool sent, Exception? cause = null) => new(
        RpcStatusCode.Cancelled, $"The call to '{endpoint}' was cancelled by the caller.", cause)
    {
        Endpoint = endpoint,
        MayHaveExecuted = sent,
    };

    public static RpcException TimedOut(
        RpcEndpoint endpoint, TimeSpan timeout, bool sent, Exception? cause = null) => new(
        RpcStatusCode.DeadlineExceeded,
        $"'{endpoint}' did not answer within {timeout.TotalSeconds:0.###} s"
        + (sent ? "; the call may have run there." : "; the call did not run.")
        + " Give the call a longer deadline, or check what the server does.",
        cause)
        {
            Endpoint = endpoint,
            MayHaveExecuted = sent,
        };

    public static RpcException TimedOutAfter(
        RpcEndpoint endpoint, TimeSpan timeout, long replies, RpcException cause) => new(
        RpcStatusCode.DeadlineExceeded,
        $"'{endpoint}' did not end the stream within {timeout.TotalSeconds:0.###} s: the deadline passed "
        + $"after {replies:N0} {(replies == 1 ? "reply" : "replies")}. To watch for a time, expect this "
        + "error; otherwise, give the stream a longer deadline or none.",
        cause)
        {
            Endpoint = endpoint,
            MayHaveExecuted = true,
            CorrelationId = cause.CorrelationId,
            Trailers = cause.Trailers,
            Details = cause.Details,
            Extensions = cause.Extensions,
        };

    public static RpcException ConnectionLost(RpcEndpoint endpoint, Exception? cause = null) => new(
        RpcStatusCode.Unavailable,
        $"'{endpoint}' closed the connection before it answered; the call may have run there. "
        + "It was not sent again: call again if running it twice does no harm.",
        cause)
    {
        ErrorId = RpcErrorIds.ConnectionLost,
        Endpoint = endpoint,
        MayHaveExecuted = true,
    };

    public static RpcException NotSent(RpcEndpoint endpoint) => new(
        RpcStatusCode.Unavailable, RpcErrorIds.ConnectionLost,
        $"'{endpoint}' closed the connection before the request was sent; the call did not run. Call again.",
        endpoint);

    public static RpcException BindLost(RpcEndpoint endpoint, RpcTlsOptions? tls, Exception cause) =>
        tls is not null
            ? TlsErrors.HungUp(endpoint, tls, mayHaveExecuted: false, cause)
            : new(
                RpcStatusCode.Unavailable,
                $"'{endpoint}' closed the connection instead of accepting it. Check that it is a DCE/RPC "
                + "server, that it is not stopping or full, and whether it requires TLS "
                + "(RpcClientOptions.UseTls).",
                endpoint, cause);

    public static RpcException BindTimedOut(RpcEndpoint endpoint, TimeSpan timeout) => new(
        RpcStatusCode.DeadlineExceeded, RpcErrorIds.ConnectTimeout,
        $"'{endpoint}' accepted the connection, but did not reply within {timeout.TotalSeconds:0.###} s. "
        + "Check that it is a DCE/RPC server, "
        + $"or raise {nameof(RpcLimits)}.{nameof(RpcLimits.ConnectTimeout)}.", endpoint);

    public static RpcException AllBusy(RpcEndpoint endpoint, int connections) => new(
        RpcStatusCode.ResourceExhausted, RpcErrorIds.ClientConnectionsExhausted,
        $"All {connections} connections to '{endpoint}' are in use by other calls. "
        + "Make fewer calls at the same time, "
        + $"or raise {nameof(RpcLimits)}.{nameof(RpcLimits.MaxClientConnections)}.", endpoint);

    public static RpcException AllStuck(RpcEndpoint endpoint, int calls) => new(
        RpcStatusCode.ResourceExhausted, RpcErrorIds.ClientConnectionsExhausted,
        $"{calls} calls to '{endpoint}' were abandoned, but the server has not answered them, and the "
        + "system cannot end them. Check whether the server hangs, or raise "
        + $"{nameof(RpcLimits)}.{nameof(RpcLimits.MaxClientConnections)}.", endpoint);

    public static RpcException ReplyTooLarge(RpcEndpoint endpoint, int maxBytes) => new(
        RpcStatusCode.ResourceExhausted,
        $"The reply of '{endpoint}' is larger than {maxBytes:N0} bytes. Request less per call, or raise "
        + $"{nameof(RpcLimits)}.{nameof(RpcLimits.MaxMessageBytes)} of the client.")
    {
        ErrorId = RpcErrorIds.MessageTooLarge,
        Endpoint = endpoint,
        MayHaveExecuted = true,
    };

    public static RpcException Closed(RpcEndpoint endpoint) => new(
        RpcStatusCode.FailedPrecondition, RpcErrorIds.ClientClosed,
        $"The client of '{endpoint}' is closed. Connect again.", endpoint);
}

using System.Net.Sockets;
using ProtoRpc.Transports;
using ProtoRpc.Transports.Http;

namespace ProtoRpc.Client.Grpc;

/// <summary>Converts exceptions of the HTTP client to statuses.</summary>
internal static class GrpcFailures
{
    // RFC 9113, section 7.
    private const long RefusedStream = 0x7;
    private const long Cancel = 0x8;
    private const long EnhanceYourCalm = 0xb;
    private const long InadequateSecurity = 0xc;
    private const long NoError = 0x0;
    private const long Http11Required = 0xd;

    /// <summary>The status of an exception of the HTTP client.</summary>
    /// <param name="exception">The exception.</param>
    /// <param name="endpoint">The endpoint.</param>
    /// <param name="isAnswered">Whether a reply had begun. If so, the call has run, even if the error says
    /// otherwise.</param>
    public static RpcException Translate(Exception exception, RpcEndpoint endpoint, bool isAnswered)
    {
        for (Exception? e = exception; e is not null; e = e.InnerException)
        {
            switch (e)
            {
                case RpcException known:
                    return known;
                case HttpProtocolException { ErrorCode: Http11Required } old:
                    return WrongProtocolErrors.Other(
                        endpoint, endpoint.IsTls ? SpokenProtocol.Unknown : SpokenProtocol.Http1, old);
                case HttpProtocolException reset:
                    return OfErrorCode(reset, endpoint, isAnswered);
                case HttpRequestException limit
                    when limit.HttpRequestError == HttpRequestError.ConfigurationLimitExceeded:
                    return TooManyHeaders(limit, endpoint);
                case SocketException:
                    return Lost(endpoint, exception);
            }
        }

        return Lost(endpoint, exception);
    }

    private static RpcException TooManyHeaders(HttpRequestException limit, RpcEndpoint endpoint) => new(
        RpcStatusCode.ResourceExhausted, $"'{endpoint}' sent more headers than allowed: {limit.Message}",
        limit)
    {
        MayHaveExecuted = true,
    };

    private static RpcException OfErrorCode(
        HttpProtocolException reset, RpcEndpoint endpoint, bool isAnswered)
    {
        (RpcStatusCode code, string what) = reset.ErrorCode switch
        {
            RefusedStream => (
                RpcStatusCode.Unavailable, isAnswered ? "aborted the call" : "refused the call"),
            Cancel => (RpcStatusCode.Cancelled, "cancelled the call"),
            EnhanceYourCalm => (RpcStatusCode.ResourceExhausted,
                "closed the connection because of too many requests (KeepAlive may be too short)"),
            InadequateSecurity => (RpcStatusCode.PermissionDenied, "requires stronger encryption"),
            NoError when !IsOfStream(reset) =>
                (RpcStatusCode.Unavailable, "closed the connection before it answered"),
            _ => (RpcStatusCode.Internal, "aborted the call"),
        };
        return new RpcException(code, $"'{endpoint}' {what} (HTTP/2 error 0x{reset.ErrorCode:x}).", reset)
        {
            ErrorId = reset.ErrorCode == NoError && code == RpcStatusCode.Unavailable
                ? RpcErrorIds.ConnectionLost
                : RpcErrorIds.OfStatus(code),
            MayHaveExecuted = isAnswered || reset.ErrorCode != RefusedStream,
        };
    }

    // Resetting a stream without an error violates gRPC's rules, but closing a connection without an error
    // does not. Only the message distinguishes the two, even if the program's resource texts are trimmed to
    // their names.
    private static bool IsOfStream(HttpProtocolException reset) =>
        reset.Message.Contains("stream", StringComparison.Ordinal);

    private static RpcException Lost(RpcEndpoint endpoint, Exception exception) =>
        CallErrors.ConnectionLost(endpoint, exception);
}

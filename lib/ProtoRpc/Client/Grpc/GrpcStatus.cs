using System.Globalization;
using System.Net;
using System.Net.Http.Headers;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Protocols.Http;

namespace ProtoRpc.Client.Grpc;

/// <summary>Reads the status of a call.</summary>
internal static class GrpcStatus
{
    /// <summary>Reads the status from the trailers, or from the headers if the response has only
    /// headers.</summary>
    /// <param name="headers">The trailers, or the headers.</param>
    /// <param name="trailers">The same without what belongs to the protocol.</param>
    /// <param name="hasReplies">Whether a message of the reply was received, so that the call has
    /// run.</param>
    /// <returns>Null when the call succeeded.</returns>
    public static RpcException? Read(HttpHeaders headers, RpcMetadata trailers, bool hasReplies)
    {
        string? text = GrpcHeaders.Find(headers, GrpcHeaders.Status);
        if (text is null)
        {
            return new RpcException(
                RpcStatusCode.Internal,
                "The reply ended without a status. The server, or a proxy before it, "
                + "cut it off or does not speak gRPC.")
            {
                ErrorId = RpcErrorIds.NoGrpcStatus,
                MayHaveExecuted = true,
            };
        }

        if (text == "0")
        {
            return null;
        }

        if (!int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out int number))
        {
            return GrpcDefects.BadHeader(GrpcHeaders.Status, text, "a number");
        }

        if (number == (int)RpcStatusCode.OK)
        {
            return null;
        }

        // gRPC: a status code outside the seventeen codes is treated as Unknown.
        RpcStatusCode code = Enum.IsDefined((RpcStatusCode)number)
            ? (RpcStatusCode)number
            : RpcStatusCode.Unknown;
        TimeSpan? retryAfter = hasReplies ? null : BusyPauseIn(headers);
        string message = GrpcMessageText.Decode(GrpcHeaders.Find(headers, GrpcMessageText.HeaderName) ?? "");
        return new RpcException(
            code, message.Length > 0 ? message : $"The server returned {code} without a message.")
        {
            IsAnswer = true,
            MayHaveExecuted = code != RpcStatusCode.Unimplemented && retryAfter is null,
            RetryAfter = retryAfter,
            Details = GrpcStatusDetails.Read(GrpcHeaders.Find(headers, GrpcHeaders.StatusDetails)),
            CorrelationId = CorrelationIds.Accept(GrpcHeaders.Find(headers, GrpcHeaders.CorrelationId)),
            Trailers = trailers.ToText(),
        };
    }

    /// <summary>Converts the HTTP status of a server or proxy that did not answer with gRPC.</summary>
    public static RpcException OfHttp(HttpResponseMessage response, string? contentType, string body)
    {
        HttpStatusCode status = response.StatusCode;
        RpcStatusCode code = (int)status switch
        {
            400 => RpcStatusCode.Internal,
            401 => RpcStatusCode.Unauthenticated,
            403 => RpcStatusCode.PermissionDenied,
            404 => RpcStatusCode.Unimplemented,
            429 or 502 or 503 or 504 => RpcStatusCode.Unavailable,
            _ => RpcStatusCode.Unknown,
        };
        string what = contentType is null ? "" : $" with {contentType}";
        string quote = body.Length > 0 ? $": '{body}'" : "";
        return new RpcException(
            code,
            $"The reply is not gRPC but HTTP {(int)status}{what}{quote}. Check the endpoint, "
            + "and any proxy before it.")
        {
            ErrorId = RpcErrorIds.NotGrpc,

            // A proxy that limits the rate of requests has not passed this one on.
            MayHaveExecuted = status != HttpStatusCode.TooManyRequests,
            RetryAfter = status == HttpStatusCode.TooManyRequests
                ? HttpRetryAfter.Of(response.Headers)
                : null,
        };
    }

    private static TimeSpan? BusyPauseIn(HttpHeaders headers) =>
        !headers.NonValidated.Contains(HttpNames.Busy) ? null
        : int.TryParse(
            GrpcHeaders.Find(headers, GrpcHeaders.RetryPushback), NumberStyles.None,
            CultureInfo.InvariantCulture, out int milliseconds)
            ? TimeSpan.FromMilliseconds(milliseconds)
            : TimeSpan.Zero;
}

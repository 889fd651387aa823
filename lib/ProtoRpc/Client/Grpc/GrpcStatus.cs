using System.Globalization;
using System.Net;
using System.Net.Http.Headers;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Grpc;

namespace ProtoRpc.Client.Grpc;

/// <summary>Reads the status of a call.</summary>
internal static class GrpcStatus
{
    /// <summary>Reads the status from the trailers, or from the headers if the response has only
    /// headers.</summary>
    /// <returns>Null when the call succeeded.</returns>
    public static RpcException? Read(HttpHeaders headers, RpcMetadata trailers)
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
        string message = GrpcMessageText.Decode(GrpcHeaders.Find(headers, GrpcMessageText.HeaderName) ?? "");
        return new RpcException(
            code, message.Length > 0 ? message : $"The server returned {code} without a message.")
        {
            IsAnswer = true,
            MayHaveExecuted = code != RpcStatusCode.Unimplemented,
            Details = GrpcStatusDetails.Read(GrpcHeaders.Find(headers, GrpcHeaders.StatusDetails)),
            CorrelationId = CorrelationIds.Accept(GrpcHeaders.Find(headers, GrpcHeaders.CorrelationId)),
            Trailers = trailers.ToText(),
        };
    }

    /// <summary>Converts the HTTP status of a server or proxy that did not answer with gRPC.</summary>
    public static RpcException OfHttp(HttpStatusCode status, string? contentType, string body)
    {
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
            MayHaveExecuted = true,
        };
    }
}

using System.Text.Json;
using Google.Protobuf.WellKnownTypes;
using Microsoft.AspNetCore.Http;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Http;
using ProtoRpc.Protocols.Native;
using ProtoRpc.Server;

namespace ProtoRpc.Hosting.Http;

/// <summary>A failure with the HTTP status that it is answered with.</summary>
internal sealed record HttpFailure(int HttpStatus, CallFailure Failure)
{
    private const int MaxTextLength = 16 * 1024;

    /// <summary>The status as Connect writes it: not_found.</summary>
    public string ConnectCode => ConnectCodes.NameOf(Failure.Code);

    /// <summary>The error text for the caller, cut to the size that a reply may have.</summary>
    public string Text => Failure.Text.Length <= MaxTextLength
        ? Failure.Text
        : string.Concat(Failure.Text.AsSpan(0, EndOf(Failure.Text)), "...");

    /// <summary>What a failure means in HTTP.</summary>
    public static HttpFailure Of(CallFailure failure) => new(
        failure.Error switch
        {
            HttpRefusal refusal => refusal.HttpStatus,
            BadHttpRequestException bad => bad.StatusCode,
            _ when failure.RetryAfter is not null => StatusCodes.Status503ServiceUnavailable,
            _ => RpcStatusTable.HttpStatusOf(failure.Code),
        },
        failure);

    /// <summary>What HTTP's own rules say of a request that they refuse; null for another
    /// exception.</summary>
    public static CallFailure? RefusalOf(Exception error) => error switch
    {
        HttpRefusal refusal => CallFailure.OfRequest(refusal, refusal.Code),
        BadHttpRequestException bad => CallFailure.OfRequest(bad, CodeOf(bad)),
        _ => null,
    };

    /// <summary>The end of a stream of replies that succeeded and whose trailers have no other place, for a
    /// client that asked for it; else null.</summary>
    public static ErrorResult? TrailersInBody(HttpContext http, RpcServerCallContext context) =>
        http.Response.HasStarted && !http.Response.SupportsTrailers()
            && http.Request.Headers.ContainsKey(HttpNames.AcceptTrailers)
            && NativeMetadata.TryWrite(context.SetTrailers ?? [], RpcLimits.Default) is { } trailers
                ? new ErrorResult
                {
                    Code = ConnectCodes.NameOf(RpcStatusCode.OK),
                    ErrorText = "",
                    Trailers = trailers
                }
                : null;

    /// <summary>The failure as a message.</summary>
    /// <param name="trailers">The handler's trailers, where they have no other place.</param>
    public ErrorResult ToMessage(RpcMetadata? trailers = null)
    {
        ErrorResult result = new() { Code = ConnectCode, ErrorText = Text };
        if (Failure is { IsForCaller: true, Error: RpcException { FieldPath: { } path } })
        {
            result.FieldPath = path;
        }

        result.Details.AddRange(
            GrpcStatusDetails.Pack(Failure.Details).Select(any => new ErrorResult.Types.Detail
            {
                Type = GrpcStatusDetails.NameOf(any),
                Value = any.Value,
            }));
        if (NativeMetadata.TryWrite(trailers ?? [], RpcLimits.Default) is { } written)
        {
            result.Trailers = written;
        }

        if (Failure.CorrelationId is { } id)
        {
            result.CorrelationId = id;
        }

        if (Failure.IsFull)
        {
            result.Exception = ExceptionInfoCodec.ForReaders(Failure.ToExceptionInfo());
        }

        return result;
    }

    /// <summary>The details in an error of the Connect protocol.</summary>
    public void WriteConnectDetails(Utf8JsonWriter json)
    {
        if (Failure.Details.Count == 0)
        {
            return;
        }

        json.WriteStartArray("details");
        foreach (Any detail in GrpcStatusDetails.Pack(Failure.Details))
        {
            json.WriteStartObject();
            json.WriteString("type", GrpcStatusDetails.NameOf(detail));
            json.WriteString("value", detail.Value.ToBase64().TrimEnd('='));
            json.WriteEndObject();
        }

        json.WriteEndArray();
    }

    // A character may be two of UTF-16's, of which one alone is none.
    private static int EndOf(string text) =>
        char.IsHighSurrogate(text[MaxTextLength - 1]) ? MaxTextLength - 1 : MaxTextLength;

    // What Kestrel finds wrong while the body is read.
    private static RpcStatusCode CodeOf(BadHttpRequestException bad) => bad.StatusCode switch
    {
        StatusCodes.Status413PayloadTooLarge => RpcStatusCode.ResourceExhausted,
        StatusCodes.Status408RequestTimeout => RpcStatusCode.DeadlineExceeded,
        _ => RpcStatusCode.InvalidArgument,
    };
}

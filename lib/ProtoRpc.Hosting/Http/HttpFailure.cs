using Microsoft.AspNetCore.Http;
using ProtoRpc.Calls.Headers;
using ProtoRpc.Calls.Http;
using ProtoRpc.Calls.Native;

namespace ProtoRpc.Hosting.Http;

/// <summary>A failure with the HTTP status that it is answered with.</summary>
internal sealed record HttpFailure(int HttpStatus, RpcStatusCode Code, Exception Error)
{
    private const int MaxTextLength = 16 * 1024;

    /// <summary>The status as Connect writes it: not_found.</summary>
    public string ConnectCode => ConnectCodes.NameOf(Code);

    /// <summary>What a failure means in HTTP.</summary>
    public static HttpFailure Of(Exception error) => error switch
    {
        HttpRefusal refusal => new(refusal.HttpStatus, refusal.Code, refusal),
        BadHttpRequestException bad => OfRequest(bad),
        RpcException { ErrorId: "ServerBusy" } busy => new(StatusCodes.Status503ServiceUnavailable, busy.Code, busy),
        _ => OfCode(ExceptionInfoCodec.StatusOf(error), error),
    };

    /// <summary>The failure as a message.</summary>
    public ErrorResult ToMessage(RpcErrorDetail detail)
    {
        ErrorResult result = new() { Code = ConnectCode, ErrorText = TextFor(detail) };
        if (Error is RpcException { FieldPath: { } path })
        {
            result.FieldPath = path;
        }

        if (detail == RpcErrorDetail.Full && Error is not HttpRefusal)
        {
            result.Exception = ExceptionInfoCodec.Encode(Error, detail);
        }

        return result;
    }

    /// <summary>What a caller is told. What is said of his own request is no secret.</summary>
    public string TextFor(RpcErrorDetail detail) => detail >= RpcErrorDetail.Message || HttpStatus < 500
        ? Shortened(Error.Message)
        : detail == RpcErrorDetail.Type
            ? $"The call failed with {Error.GetType().FullName}."
            : "The call failed.";

    // Whatever a handler says, it must not be more than a reply may hold.
    private static string Shortened(string text) =>
        text.Length <= MaxTextLength ? text : string.Concat(text.AsSpan(0, MaxTextLength), "...");

    private static HttpFailure OfCode(RpcStatusCode code, Exception error) =>
        new(RpcStatusTable.HttpStatusOf(code), code, error);

    // What Kestrel finds wrong while the body is read.
    private static HttpFailure OfRequest(BadHttpRequestException bad) => new(
        bad.StatusCode,
        bad.StatusCode switch
        {
            StatusCodes.Status413PayloadTooLarge => RpcStatusCode.ResourceExhausted,
            StatusCodes.Status408RequestTimeout => RpcStatusCode.DeadlineExceeded,
            _ => RpcStatusCode.InvalidArgument,
        },
        bad);
}

using System.Collections.Frozen;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;
using ProtoRpc.Server.Calls;

namespace ProtoRpc;

/// <summary>A failed call, and what its caller receives, on every protocol.</summary>
/// <remarks>Texts that a handler or ProtoRpc writes for the caller are sent at every level of detail. The
/// text of any other exception is only sent with <see cref="RpcErrorDetail.Message"/> or more. Otherwise the
/// caller receives a correlation id, and the server logs the exception with this id.</remarks>
internal sealed class CallFailure
{
    // The errors of ProtoRpc whose texts the caller receives, even if they are raised while a handler runs.
    private static readonly FrozenSet<string> AboutTheCall =
        FrozenSet.Create(
            RpcErrorIds.ServerBusy, RpcErrorIds.WorkersStuck, RpcErrorIds.ForeignSession,
            RpcErrorIds.InvalidHeader,
            RpcErrorIds.HandlerThrew);

    private readonly RpcErrorDetail _detail;
    private readonly RpcException? _forwarded;

    private CallFailure(Exception error, RpcStatusCode code, RpcErrorDetail detail, bool isForCaller)
    {
        Error = error;
        Code = code == RpcStatusCode.OK || !Enum.IsDefined(code) ? RpcStatusCode.Unknown : code;
        _detail = detail;

        // An exception that another server did not write for its callers is not for the gateway's callers:
        // the gateway may be allowed to see more than they are.
        _forwarded = error is RpcException { IsForwarded: true } rpc ? rpc : null;
        IsForCaller = isForCaller && _forwarded?.CorrelationId is null;
        CorrelationId = _forwarded is null
            ? isForCaller ? null : CorrelationIds.New()
            : _forwarded.CorrelationId;
        RetryAfter = ServerBusy.RetryAfterOf(error);
        Text = IsForCaller || detail >= RpcErrorDetail.Message ? error.Message : Withheld();
    }

    public Exception Error { get; }

    public RpcStatusCode Code { get; }

    /// <summary>Whether the error's text was written for the caller.</summary>
    public bool IsForCaller { get; }

    /// <summary>The text that the caller receives.</summary>
    public string Text { get; }

    /// <summary>The id of the error in the server's log; null if its text was written for the
    /// caller.</summary>
    public string? CorrelationId { get; }

    /// <summary>How long the caller should wait before it calls again, if this server was too busy to run the
    /// call; otherwise null.</summary>
    public TimeSpan? RetryAfter { get; private init; }

    /// <summary>The details that the author added to the status.</summary>
    public IReadOnlyList<object> Details =>
        IsForCaller && Error is RpcException rpc ? rpc.Details : Array.Empty<object>();

    /// <summary>The extensions that the author added to the native protocol's exception.</summary>
    public IMessage? Extensions =>
        IsForCaller && Error is RpcException rpc ? rpc.Extensions as IMessage : null;

    /// <summary>Whether the caller receives all details.</summary>
    public bool IsFull => _detail == RpcErrorDetail.Full;

    /// <summary>The failure of a request that ProtoRpc rejects; its text is for the caller.</summary>
    public static CallFailure OfRequest(Exception error, RpcStatusCode? code = null) =>
        new(error, code ?? ExceptionInfoCodec.StatusOf(error), RpcErrorDetail.Message, isForCaller: true);

    /// <summary>The failure of a call before its handler ran, or after it ended.</summary>
    public static CallFailure From(Exception error, RpcErrorDetail detail)
    {
        // The original's clients expect MissingMethodException for an unknown method.
        bool isForCaller = error is RpcException or MissingMethodException;
        return new(
            error, ExceptionInfoCodec.StatusOf(error),
            isForCaller && detail < RpcErrorDetail.Message ? RpcErrorDetail.Message : detail, isForCaller);
    }

    /// <summary>The failure of a call for an exception that was not written for the caller.</summary>
    /// <param name="error">The exception.</param>
    /// <param name="detail">How much of it the caller receives.</param>
    public static CallFailure OfUnexpected(Exception error, RpcErrorDetail detail = RpcErrorDetail.None) =>
        new(error, ExceptionInfoCodec.StatusOf(error), detail, isForCaller: false);

    /// <summary>The failure of a handler, or of an interceptor around it.</summary>
    /// <param name="error">The exception.</param>
    /// <param name="detail">How much of unexpected exceptions the caller receives.</param>
    /// <param name="context">The context of the call.</param>
    public static CallFailure OfHandler(
        Exception error, RpcErrorDetail detail, RpcServerCallContext context) =>
        // A streaming handler already runs when it reads a request that the server rejects: the error is
        // about the request.
        ReferenceEquals(error, context.Refusal)
            ? new(error, ExceptionInfoCodec.StatusOf(error), detail, isForCaller: true) { RetryAfter = null }
            : new(error, ExceptionInfoCodec.StatusOf(error), detail, IsWrittenForCaller(error, context));

    /// <summary>The failure in the form of Google.ProtocolBuffers.Rpc.</summary>
    public RpcExceptionInfo ToExceptionInfo()
    {
        if (_forwarded is { Remote: { } remote })
        {
            return ExceptionInfoCodec.Encode(remote, Text, _detail);
        }

        Exception sent =
            Error is RpcException { ErrorId: RpcErrorIds.HandlerThrew, InnerException: { } thrown }
            ? thrown
            : Error;
        RpcExceptionInfo info = ExceptionInfoCodec.Encode(sent, _detail);
        if (_detail < RpcErrorDetail.Message)
        {
            info.Message = Text;
        }

        return info;
    }

    private static bool IsWrittenForCaller(Exception error, RpcServerCallContext context) =>
        error is RpcException rpc
            && (rpc.IsForwarded
                || !rpc.IsByProtoRpc
                || IsAboutTheCall(rpc, context));

    // Other calls, schemas and messages that a handler uses raise errors with their own endpoint, field or
    // id. Their texts name servers, files and values that the caller must not see.
    private static bool IsAboutTheCall(RpcException error, RpcServerCallContext context) =>
        error is { Remote: null, NativeStatus: 0, FieldPath: null }
            && (error.Endpoint is null || error.Endpoint.Equals(context.Endpoint))
            && (!error.HasOwnErrorId || AboutTheCall.Contains(error.ErrorId));

    private string? TypeName => _forwarded?.Remote is { TypeName.Length: > 0 } remote
        ? remote.TypeName
        : Error.GetType().FullName;

    private string Withheld() => _detail == RpcErrorDetail.Type
        ? $"The call failed on the server with {TypeName}. The server's log has the reason "
            + $"under the correlation id {CorrelationId}."
        : "The call failed on the server. The server's log has the reason "
+ $"under the correlation id {CorrelationId}.";
}

/// <summary>A failed call, for the server's log.</summary>
/// <param name="Error">The exception, with details that must not be sent to the caller.</param>
/// <param name="Code">The status that the caller receives.</param>
/// <param name="CorrelationId">The id that the caller receives instead of the exception's text; null if the
/// text was written for the caller.</param>
/// <param name="Context">The context of the call; null if it failed before its method was known. Valid until
/// the callback returns.</param>
public sealed record RpcFailedCall(
    Exception Error, RpcStatusCode Code, string? CorrelationId, RpcServerCallContext? Context);

/// <summary>A check of callers by the application failed with an exception that was not written for the
/// caller, such as that of a call of another server.</summary>
internal sealed class CallerCheckFailure(Exception error) : Exception(error.Message, error)
{
    /// <summary>The exception of the check.</summary>
    public Exception Error { get; } = error;

    /// <summary>Whether the application wrote the exception for the caller, or forwards it.</summary>
    public static bool IsForCaller(Exception error) =>
        error is RpcException { IsByProtoRpc: false } or RpcException { IsForwarded: true };
}

using System.Collections.Frozen;
using Google.Protobuf;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc.Server;

/// <summary>A failed call, and what is sent to its caller: the same on every face.</summary>
/// <remarks>Text that a handler or ProtoRpc writes for the caller
/// is sent at every level of detail.
/// The text of any other exception is sent from <see cref="RpcErrorDetail.Message"/> on; below that the
/// caller receives a correlation id, under which the server logs the exception.</remarks>
internal sealed class CallFailure
{
    // What ProtoRpc raises while a handler runs, and which is about the handler's caller all the same.
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

        // An exception that another server did not write for its callers is not for the callers of a gateway
        // either: that server may have sent the gateway more than the gateway's callers may see.
        _forwarded = error is RpcException { IsForwarded: true } rpc ? rpc : null;
        IsForCaller = isForCaller && _forwarded?.CorrelationId is null;
        CorrelationId = _forwarded is null
            ? isForCaller ? null : CorrelationIds.New()
            : _forwarded.CorrelationId;
        Text = IsForCaller || detail >= RpcErrorDetail.Message ? error.Message : Withheld();
    }

    /// <summary>What failed.</summary>
    public Exception Error { get; }

    public RpcStatusCode Code { get; }

    /// <summary>Whether the error's text was written for the caller.</summary>
    public bool IsForCaller { get; }

    /// <summary>What the caller reads.</summary>
    public string Text { get; }

    /// <summary>Under what the server's record has the error; null where its text was written for the
    /// caller.</summary>
    public string? CorrelationId { get; }

    /// <summary>What the author adds to the status.</summary>
    public IReadOnlyList<object> Details =>
        IsForCaller && Error is RpcException rpc ? rpc.Details : Array.Empty<object>();

    /// <summary>What the author adds to the exception of the native protocol.</summary>
    public IMessage? Extensions =>
        IsForCaller && Error is RpcException rpc ? rpc.Extensions as IMessage : null;

    /// <summary>Whether the caller receives everything.</summary>
    public bool IsFull => _detail == RpcErrorDetail.Full;

    /// <summary>ProtoRpc's own words about a request that it refuses.</summary>
    public static CallFailure OfRequest(Exception error, RpcStatusCode? code = null) =>
        new(error, code ?? ExceptionInfoCodec.StatusOf(error), RpcErrorDetail.Message, isForCaller: true);

    /// <summary>An exception before a handler ran, or after it ended.</summary>
    public static CallFailure Of(Exception error, RpcErrorDetail detail)
    {
        // MissingMethodException is how the original's clients know that there is no such method.
        bool isForCaller = error is RpcException or MissingMethodException;
        return new(
            error, ExceptionInfoCodec.StatusOf(error),
            isForCaller && detail < RpcErrorDetail.Message ? RpcErrorDetail.Message : detail, isForCaller);
    }

    /// <summary>An exception of a call that is answered with a bare return code.</summary>
    public static CallFailure OfUnexpected(Exception error) =>
        new(error, ExceptionInfoCodec.StatusOf(error), RpcErrorDetail.None, isForCaller: false);

    /// <summary>An exception that a handler, or an interceptor around it, ended with.</summary>
    /// <param name="error">The exception.</param>
    /// <param name="detail">How much of unexpected exceptions the caller receives.</param>
    /// <param name="context">The call.</param>
    public static CallFailure OfHandler(
        Exception error, RpcErrorDetail detail, RpcServerCallContext context) =>
        new(error, ExceptionInfoCodec.StatusOf(error), detail, IsWrittenForCaller(error, context));

    /// <summary>The failure in the form of Google.ProtocolBuffers.Rpc.</summary>
    public RpcExceptionInfo ToExceptionInfo()
    {
        if (_forwarded is { Remote: { } remote })
        {
            return ExceptionInfoCodec.Encode(remote, Text, _detail);
        }

        Exception told =
            Error is RpcException { ErrorId: RpcErrorIds.HandlerThrew, InnerException: { } thrown }
            ? thrown
            : Error;
        RpcExceptionInfo info = ExceptionInfoCodec.Encode(told, _detail);
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
                || ReferenceEquals(rpc, context.Refusal)
                || IsAboutTheCall(rpc, context));

    // Calls, schemas and messages that a handler works with fail with an endpoint,
    // a field or an id of their own:
    // those texts name servers, files and values that are not the caller's business.
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

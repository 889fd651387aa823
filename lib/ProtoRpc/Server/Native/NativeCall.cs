using Google.Protobuf;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc.Server.Native;

/// <summary>A call of a service over the native protocol: header and body in, header and body out.</summary>
/// <remarks>A handler's failure is described in the reply's header and never leaves here as an exception,
/// so the interface's return code stays 0, as on the original.</remarks>
internal sealed class NativeCall(
    ServerHost host, ServerService service, BuiltInMethods builtIns, ExecCall call)
    : MessageCall(host, call.Endpoint, call.Peer)
{
    private readonly RpcLimits _limits = host.Options.Limits;
    private RpcRequestHeader? _header;
    private int _bodyLength;

    /// <inheritdoc/>
    protected override CallHead ReadHead()
    {
        RpcRequestHeader header = NativeHeaders.Read(
            NativeHeaders.RequestParser, call.Request.Span, out ReadOnlySpan<byte> body);
        _header = header;
        _bodyLength = body.Length;
        ServerMethod method = BuiltInNames.Has(header.MethodName)
            ? builtIns.Get(header.MethodName)
            : service.Get(header.MethodName);
        return new CallHead(method, header.CallContext, DeadlineOf(header), call.Cancellation)
        {
            Headers = HeadersOf(header),
            Extensions = HeaderExtensions.Read(
                header, service.Info.Schema, "request header", RpcStatusCode.InvalidArgument, _limits),
        };
    }

    /// <inheritdoc/>
    protected override ValueTask<IMessage> ReadAsync(ServerMethod method, RpcServerCallContext context) =>
        new(method.ReadRequest(call.Request.Span[^_bodyLength..], context));

    /// <inheritdoc/>
    protected override ValueTask ReplyAsync(RpcServerCallContext context, IMessage reply)
    {
        // All that can fail comes before the first byte of the reply.
        using EncodedMessage body = EncodedMessage.Of(reply, _limits.MaxMessageBytes, "reply");
        RpcResponseHeader response = new() { MessageId = _header!.MessageId };
        if (context.ChangedContext() is { } changed)
        {
            response.CallContext = changed;
        }

        AddMetadata(response, context);
        NativeHeaders.Write(call.Reply, response, body);
        return default;
    }

    /// <inheritdoc/>
    protected override ValueTask FailAsync(CallFailure failure)
    {
        call.ResetReply();
        RpcResponseHeader response = new() { Success = false, Exception = failure.ToExceptionInfo() };
        if (_header is { HasMessageId: true })
        {
            response.MessageId = _header.MessageId;
        }

        // A session that a failing call got is the caller's all the same.
        if (ContextAfterFailure(Context) is { } changed)
        {
            response.CallContext = changed;
        }

        response.SetExtension(ProtorpcTransportExtensions.StatusCode, (int)failure.Code);
        if (failure.CorrelationId is { } id)
        {
            response.SetExtension(ProtorpcTransportExtensions.CorrelationId, id);
        }

        AddWhatGoesBeside(response, failure, Context);
        NativeHeaders.Write(call.Reply, response, body: null);
        return default;
    }

    // An author whose extensions cannot be sent learns it, instead of finding them absent on the client.
    /// <inheritdoc/>
    protected override Exception Sendable(Exception error)
    {
        if (error is not RpcException rpc || !HeaderExtensions.AreSentWith(rpc))
        {
            return error;
        }

        try
        {
            HeaderExtensions.Write(
                new RpcExceptionInfo(), rpc.Extensions, "exception", RpcStatusCode.Internal, _limits);
            return error;
        }
        catch (RpcException e)
        {
            return new RpcException(
                RpcStatusCode.Internal, $"The failure '{rpc.Message}' cannot be sent: {e.Message}", rpc);
        }
    }

    private static DateTimeOffset? DeadlineOf(RpcRequestHeader header) =>
        header.HasExtension(ProtorpcTransportExtensions.TimeoutMs)
            ? DateTimeOffset.UtcNow.AddMilliseconds(
                header.GetExtension(ProtorpcTransportExtensions.TimeoutMs))
            : null;

    private Func<RpcMetadata>? HeadersOf(RpcRequestHeader header)
    {
        if (header.GetExtension(ProtorpcTransportExtensions.RequestHeaders) is not { } received)
        {
            return null;
        }

        // Read now: what is wrong with them is the caller's fault, and not the handler's who looks.
        RpcMetadata headers =
            NativeMetadata.Read(received, "headers", RpcStatusCode.InvalidArgument, _limits);
        return () => headers;
    }

    private void AddMetadata(RpcResponseHeader response, RpcServerCallContext context)
    {
        if (NativeMetadata.Write(
            context.SetHeaders, "headers", RpcStatusCode.Internal, _limits) is { } headers)
        {
            response.SetExtension(ProtorpcTransportExtensions.ResponseHeaders, headers);
        }

        if (NativeMetadata.Write(
            context.SetTrailers, "trailers", RpcStatusCode.Internal, _limits) is { } trailers)
        {
            response.SetExtension(ProtorpcTransportExtensions.ResponseTrailers, trailers);
        }

        HeaderExtensions.Write(
            response, context.SetExtensions, "response header", RpcStatusCode.Internal, _limits);
    }

    // The failure is told even when what goes beside it cannot be sent.
    private void AddWhatGoesBeside(
        RpcResponseHeader response, CallFailure failure, RpcServerCallContext? context)
    {
        if (GrpcStatusDetails.ToBytes(failure.Code, failure.Text, failure.Details) is { } details
            && details.Length <= _limits.MaxMessageBytes)
        {
            response.SetExtension(ProtorpcTransportExtensions.StatusDetails, ByteString.CopyFrom(details));
        }

        if (NativeMetadata.TryWrite(context?.SetHeaders, _limits) is { } headers)
        {
            response.SetExtension(ProtorpcTransportExtensions.ResponseHeaders, headers);
        }

        if (NativeMetadata.TryWrite(context?.SetTrailers, _limits) is { } trailers)
        {
            response.SetExtension(ProtorpcTransportExtensions.ResponseTrailers, trailers);
        }

        HeaderExtensions.TryWrite(response, context?.SetExtensions, _limits);
        HeaderExtensions.TryWrite(response.Exception, failure.Extensions, _limits);
    }

    private static RpcCallContext? ContextAfterFailure(RpcServerCallContext? context)
    {
        try
        {
            return context?.ChangedContext();
        }
        catch (RpcException)
        {
            // The handler left a context that cannot be written; that may be the very failure that is told.
            return null;
        }
    }
}

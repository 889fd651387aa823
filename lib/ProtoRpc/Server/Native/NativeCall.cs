using Google.Protobuf;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc.Server.Native;

/// <summary>A call of a service over the native protocol: header and body in, header and body out.</summary>
/// <remarks>A handler's failure is described in the reply's header and never leaves here as an exception,
/// so the interface's return code stays 0, as on the original.</remarks>
internal sealed class NativeCall(
    ServerHost host, ServerService service, BuiltInMethods builtIns, ExecCall call)
    : HeaderCall(host, call.Endpoint, call.Peer)
{
    private RpcRequestHeader? _header;
    private int _bodyLength;

    /// <inheritdoc/>
    protected override string? CalledName =>
        $"{service.Info.FullName}/{_header?.MethodName ?? CallTarget.UnknownMethod}";

    /// <inheritdoc/>
    protected override RpcRequestHeader? Received => _header;

    /// <inheritdoc/>
    protected override long BytesIn => call.Request.Length;

    /// <inheritdoc/>
    protected override long BytesOut => call.ReplyLength;

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
        return HeadOf(header, method, service.Info.Schema, call.Cancellation);
    }

    /// <inheritdoc/>
    protected override ValueTask<IMessage> ReadAsync(ServerMethod method, RpcServerCallContext context) =>
        new(method.ReadRequest(call.Request[^_bodyLength..], context));

    /// <inheritdoc/>
    protected override ValueTask ReplyAsync(RpcServerCallContext context, IMessage reply)
    {
        // All that can fail comes before the first byte of the reply.
        using EncodedMessage body = EncodedMessage.Of(reply, Limits.MaxMessageBytes, "reply");
        RpcResponseHeader response = Success(context);
        response.MessageId = _header!.MessageId;
        NativeHeaders.Write(call.Reply, response, body);
        return default;
    }

    /// <inheritdoc/>
    protected override ValueTask FailAsync(CallFailure failure)
    {
        call.ResetReply();
        RpcResponseHeader response = Failure(failure);
        if (_header is { HasMessageId: true })
        {
            response.MessageId = _header.MessageId;
        }

        NativeHeaders.Write(call.Reply, response, body: null);
        return default;
    }
}

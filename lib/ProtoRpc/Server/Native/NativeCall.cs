using Google.Protobuf;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Protocols;
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
    // Never changed: what a handler makes of a context is a copy.
    private static readonly RpcCallContext NoContext = new();

    private static readonly Func<RpcMetadata> OfFirstHop =
        static () => new RpcMetadata { { PlainHeaders.Hops, "1" } };

    // One of the two, once the header is read.
    private RpcRequestHeader? _header;
    private PlainRequest? _plain;
    private int _bodyLength;

    /// <inheritdoc/>
    protected override string? CalledName =>
        $"{service.Info.FullName}/{_header?.MethodName ?? Context?.Method.Name ?? CallTarget.UnknownMethod}";

    /// <inheritdoc/>
    protected override RpcRequestHeader? Received => _header;

    /// <inheritdoc/>
    protected override RequestMemory.Share Memory => call.Memory ?? base.Memory;

    /// <inheritdoc/>
    protected override long BytesIn => call.Request.Length;

    /// <inheritdoc/>
    protected override long BytesOut => call.ReplyLength;

    /// <inheritdoc/>
    protected override CallHead ReadHead()
    {
        ReadOnlySpan<byte> payload = call.Request.Span;
        if (PlainHeaders.TryReadRequest(payload, out PlainRequest plain)
            && service.Find(payload[plain.Method]) is { } called)
        {
            _plain = plain;
            if (plain.Interface.End.Value > 0)
            {
                RequireInterface(payload[plain.Interface]);
            }

            _bodyLength = payload.Length - plain.BodyStart;
            return new CallHead(
                called, plain.HasContext ? NoContext : null, DeadlineIn(plain.Timeout), call.Cancellation)
            {
                Headers = plain.IsFirstHop ? OfFirstHop : null,
            };
        }

        RpcRequestHeader header = NativeHeaders.Read(
            NativeHeaders.RequestParser, payload, out ReadOnlySpan<byte> body);
        _header = header;
        _bodyLength = body.Length;
        if (header.HasExtension(ProtorpcTransportExtensions.InterfaceId))
        {
            RequireInterface(header.GetExtension(ProtorpcTransportExtensions.InterfaceId).Span);
        }

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
        if (_plain is { } plain && SaysNothing(context))
        {
            PlainHeaders.WriteResponse(call.Reply, call.Request.Span[plain.Id]);
            body.WriteTo(call.Reply);
            return default;
        }

        RpcResponseHeader response = Success(context);
        response.MessageId = ReadId() ?? ByteString.Empty;
        NativeHeaders.Write(call.Reply, response, body);
        return default;
    }

    /// <inheritdoc/>
    protected override ValueTask FailAsync(CallFailure failure)
    {
        call.ResetReply();
        RpcResponseHeader response = Failure(failure);
        if (ReadId() is { } id)
        {
            response.MessageId = id;
        }

        NativeHeaders.Write(call.Reply, response, body: null);
        return default;
    }

    // The bind, which also names the interface, is not signed. Clients of other programs do not send this.
    private void RequireInterface(ReadOnlySpan<byte> sent)
    {
        Span<byte> bound = stackalloc byte[PlainHeaders.InterfaceIdBytes];
        service.InterfaceId.TryWriteBytes(bound, bigEndian: true, out _);
        if (!sent.SequenceEqual(bound))
        {
            throw new RpcException(
                RpcStatusCode.PermissionDenied,
                $"The call is not for {service.Info.FullName} with the interface {service.InterfaceId}, to "
                + "which the connection is bound. A server in between may have changed the bind. Use TLS, or "
                + "check the way to the server.");
        }
    }

    private ByteString? ReadId() =>
        _plain is { } plain ? ByteString.CopyFrom(call.Request.Span[plain.Id])
        : _header is { HasMessageId: true } ? _header.MessageId
        : null;
}

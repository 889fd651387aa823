using System.Buffers.Binary;
using Google.Protobuf;
using ProtoRpc.Messages;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc.Client.Native;

// The headers of a call: what goes before the request, and what comes before the reply.
internal sealed partial class NativeChannel
{
    private const int MessageIdBytes = 16;

    // Ids differ between channels by their random start, and within one by the number of the call: nobody but
    // the server sees them, so that they need not be random, which would cost each call a system call.
    private readonly Guid _firstId = Guid.NewGuid();
    private long _lastId;

    // The body's memory is free for others afterwards, while the call waits for its reply.
    private ByteString WriteRequest(
        NativeExchange exchange, string method, EncodedMessage body, TimeSpan timeout, CallSpec? call)
    {
        MessageChecks.RequireSize(body.Length, _limits.MaxMessageBytes, "request");
        Span<byte> id = stackalloc byte[MessageIdBytes];
        WriteNextId(id);
        RpcRequestHeader header = CallHeaders.Request(
            method, CallSideChannel.Of(this, call?.Options), timeout, call, options);
        header.MessageId = ByteString.CopyFrom(id);
        NativeHeaders.Write(exchange.Request, header, body);
        body.Dispose();
        return header.MessageId;
    }

    private void WriteNextId(Span<byte> id)
    {
        _firstId.TryWriteBytes(id);
        Span<byte> number = id[..sizeof(long)];
        BinaryPrimitives.WriteInt64LittleEndian(
            number, BinaryPrimitives.ReadInt64LittleEndian(number) + Interlocked.Increment(ref _lastId));
    }

    // In the original's order: the id first, then the exception, then success and the body.
    private TReply ReadReply<TReply>(
        NativeExchange exchange, ByteString id, int code, string method, ReplyReader<TReply> read,
        CallSpec? call)
    {
        if (call?.Options?.Response is { } info)
        {
            info.BytesReceived += exchange.Reply.Length;
        }

        if (code != 0)
        {
            throw NativeFault.OfReturnCode(endpoint, method, (uint)code);
        }

        RpcResponseHeader header = NativeHeaders.Read(
            NativeHeaders.ResponseParser, exchange.Reply.Span, out ReadOnlySpan<byte> body);
        bool failed = header.Exception is not null || !header.Success;
        if (header.MessageId != id && !(failed && !header.HasMessageId))
        {
            throw new RpcException(
                RpcStatusCode.Internal,
                $"The reply to {method} carries the id of another call; the connection is not to be trusted.")
            {
                ErrorId = RpcErrorIds.BadHeader,
                MayHaveExecuted = true,
            };
        }

        if (header.CallContext is { } context)
        {
            CallSideChannel.Keep(this, call?.Options, context);
        }

        return CallHeaders.ReadResponse(header, method, call, options) is { } failure
            ? throw failure
            : read(body);
    }
}

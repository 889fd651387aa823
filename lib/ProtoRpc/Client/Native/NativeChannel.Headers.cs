using System.Buffers.Binary;
using Google.Protobuf;
using ProtoRpc.Messages;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;
using ProtoRpc.Transports;

namespace ProtoRpc.Client.Native;

// The headers of a call, before the request and before the reply.
internal sealed partial class NativeChannel
{
    // Ids have a random start per channel, and count up for each call. Only the server sees them, so they
    // need not be unpredictable. A random id would cost each call a system call.
    private readonly UInt128 _firstId = BinaryPrimitives.ReadUInt128LittleEndian(
        Guid.NewGuid().ToByteArray());
    private long _lastId;

    // Afterwards the body's memory can be reused, while the call waits for its reply.
    private UInt128 WriteRequest(
        NativeClient client, NativeExchange exchange, string method, EncodedMessage body, TimeSpan timeout,
        CallSpec? call)
    {
        MessageChecks.RequireSize(body.Length, _limits.MaxMessageBytes, "request");
        UInt128 id = NextId();
        RpcCallContext context = CallSideChannel.Of(this, call?.Options);
        Span<byte> octets = stackalloc byte[PlainHeaders.MessageIdBytes];
        BinaryPrimitives.WriteUInt128LittleEndian(octets, id);
        if (IsPlain(context, call)
            && PlainHeaders.TryWriteRequest(
                exchange.Request, method, octets, CallHeaders.Timeout(timeout), IsFirstHop(call),
                client.SentInterfaceId.Span))
        {
            body.WriteTo(exchange.Request);
        }
        else
        {
            if (OperatingSystem.IsWindows() && endpoint.Has(EndpointFeatures.KnowsServer)
                && endpoint.Host.Length == 0 && CallHeaders.HaveSecret(options, call?.Options))
            {
                client.ChecksServer = true;
            }

            RpcRequestHeader header = CallHeaders.Request(
                method, context, timeout, IsFirstHop(call) ? WithHop(call!.Value) : call, options);
            header.MessageId = ByteString.CopyFrom(octets);
            if (!client.SentInterfaceId.IsEmpty)
            {
                header.SetExtension(
                    ProtorpcTransportExtensions.InterfaceId,
                    ByteString.CopyFrom(client.SentInterfaceId.Span));
            }

            NativeHeaders.Write(exchange.Request, header, body);
        }

        body.Dispose();
        return id;
    }

    // Whether the header only has the fields that every call has.
    private bool IsPlain(RpcCallContext context, CallSpec? call) =>
        options.Headers.Count == 0
        && (call?.Options is not { } own || own is { Headers: null, Extensions: null })
        && context.CalculateSize() == 0;

    private static bool IsFirstHop(CallSpec? call) => call?.Options is { IsFirstHop: true };

    private static CallSpec WithHop(CallSpec call)
    {
        RpcMetadata headers = call.Options!.Headers?.Copy() ?? new RpcMetadata();
        headers.Set(PlainHeaders.Hops, "1");
        return call with { Options = call.Options with { Headers = headers } };
    }

    // The number of the call is added to the first eight octets.
    private UInt128 NextId() => new(
        (ulong)(_firstId >> 64), (ulong)_firstId + (ulong)Interlocked.Increment(ref _lastId));

    // Checks in the original's order: the id, then the exception, then success and the body.
    private TReply ReadReply<TReply>(
        NativeExchange exchange, UInt128 id, int code, string method, ReplyReader<TReply> read,
        CallSpec? call, CallClock clock)
    {
        if (call?.Options?.Response is { } info)
        {
            info.BytesReceived += exchange.Reply.Length;
        }

        if (code != 0)
        {
            throw NativeFault.OfReturnCode(endpoint, method, (uint)code);
        }

        ReadOnlySpan<byte> payload = exchange.Reply.Span;
        Span<byte> octets = stackalloc byte[PlainHeaders.MessageIdBytes];
        BinaryPrimitives.WriteUInt128LittleEndian(octets, id);
        if ((call?.Options?.Response is null || IsFirstHop(call))
            && PlainHeaders.TryReadResponse(payload, octets, out ReadOnlySpan<byte> body))
        {
            return read(new ReplyBody(exchange.Reply[^body.Length..]).Of(clock, endpoint));
        }

        RpcResponseHeader header = NativeHeaders.Read(NativeHeaders.ResponseParser, payload, out body);
        bool failed = header.Exception is not null || !header.Success;
        if (!header.MessageId.Span.SequenceEqual(octets) && !(failed && !header.HasMessageId))
        {
            throw new RpcException(
                RpcStatusCode.Internal,
                $"The reply to {method} carries the id of another call and cannot be trusted.")
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
            : read(new ReplyBody(exchange.Reply[^body.Length..]).Of(clock, endpoint));
    }
}

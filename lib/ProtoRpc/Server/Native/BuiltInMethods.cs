using ProtoRpc.Messages.Binary;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc.Server.Native;

/// <summary>The methods that every service of the native protocol has;
/// on the wire their names start with a dot.</summary>
/// <remarks>They are methods like any other, so that interceptors see them
/// and they cannot get around a rule.</remarks>
internal sealed class BuiltInMethods
{
    private readonly ServerHost _host;
    private readonly ServerService _service;
    private readonly ServerService _methods = new(BuiltInNames.Service, Guid.Empty);

    public BuiltInMethods(ServerHost host, ServerService service)
    {
        _host = host;
        _service = service;
        _methods.Add(ServerPing.Create(host, isBuiltIn: true));
        Add<RpcVoid>(BuiltInNames.Close, (context, _) =>
        {
            _host.CloseSession(context);
            return ValueTask.FromResult<IMessage>(new RpcVoid());
        });
        if (host.Options.EnableMultiPart)
        {
            Add<RpcMultiPartRequest>(BuiltInNames.Multi, TakePartAsync, PartInPlace.TryRead);
        }

        host.Intercept(_methods);
    }

    /// <summary>The method of a name of the wire.</summary>
    /// <exception cref="MissingMethodException">No built-in method has this name.</exception>
    public ServerMethod Get(string name) => _methods.Get(name[1..]);

    private void Add<TRequest>(
        string name, Func<RpcServerCallContext, TRequest, ValueTask<IMessage>> handler,
        Func<ReadOnlyMemory<byte>, IMessage?>? readInPlace = null)
        where TRequest : class, IMessage<TRequest>, new() => _methods.Add(new ServerMethod(
            BuiltInNames.Service.FindMethod(name[1..])!,
            (context, request) => handler(context, (TRequest)request),
            new MessageParser<TRequest>(() => new TRequest()))
        {
            IsBuiltIn = true,
            IsAlwaysAdmitted = true,
            ReadInPlace = readInPlace,
        });

    // The method is looked up at each part, before the part is stored: an unknown method fails at the first
    // part. The method then runs as for a request in one piece.
    private async ValueTask<IMessage> TakePartAsync(RpcServerCallContext context, RpcMultiPartRequest part)
    {
        if (part.MessageStatus == RpcMultiPartRequest.Types.RpcMessageStatus.Cancel)
        {
            _host.Transfers.Drop(context.Owner, part.TransactionId);
            return new RpcMultiPartResponse { Continue = false };
        }

        ServerMethod method = _service.Get(part.MethodName);
        using Transfer? whole = _host.Transfers.Accept(context.Owner, part, context.ShareHolder);
        if (whole is null)
        {
            return new RpcMultiPartResponse { Continue = true };
        }

        RpcMethodInfo multi = context.Method;
        context.Method = method.Info;
        IMessage reply = await InvokeAsync(method, context, whole).ConfigureAwait(false);
        context.Method = multi;
        context.RunsHandler = false;
        method.CheckReply(reply, context);
        using EncodedMessage body = EncodedMessage.From(reply, _host.Options.Limits.MaxMessageBytes, "reply");
        return new RpcMultiPartResponse { ResponseBytes = UnsafeByteOperations.UnsafeWrap(body.ToArray()) };
    }

    private async ValueTask<IMessage> InvokeAsync(
        ServerMethod method, RpcServerCallContext context, Transfer whole)
    {
        await _host.Admission.EnterAsync(context).ConfigureAwait(false);
        try
        {
            return await method.InvokeAsync(context, method.ReadRequest(whole.Body, context))
                .ConfigureAwait(false);
        }
        finally
        {
            _host.Admission.Leave();
        }
    }
}

/// <summary>Reads a part of a message without copying its payload, which is nearly all of it.</summary>
internal static class PartInPlace
{
    // All fields of the message have tags of one octet.
    private const byte PayloadTag =
        (RpcMultiPartRequest.PayloadBytesFieldNumber << WireType.TagBits) | (int)WireType.LengthDelimited;

    private const byte FirstOfLongTag = 0x80;
    private const int MaxVarint64Bytes = 10;

    /// <summary>Reads a part whose payload is its last field, where serializers put it.</summary>
    /// <param name="bytes">The part; it must not change for as long as the result is used.</param>
    /// <returns>Null for any other bytes: the message's parser reads them, or reports the error.</returns>
    public static RpcMultiPartRequest? TryRead(ReadOnlyMemory<byte> bytes)
    {
        ReadOnlySpan<byte> span = bytes.Span;
        int position = 0;
        while (position < span.Length && span[position] != PayloadTag)
        {
            byte tag = span[position++];
            if (tag >= FirstOfLongTag || !TryReadVarint(span, ref position, out ulong value))
            {
                return null;
            }

            if ((tag & WireType.Mask) == WireType.LengthDelimited && value <= (ulong)(span.Length - position))
            {
                position += (int)value;
            }
            else if ((tag & WireType.Mask) != WireType.Varint)
            {
                return null;
            }
        }

        int header = position++;
        if (header >= span.Length || !TryReadVarint(span, ref position, out ulong length)
            || length != (ulong)(span.Length - position))
        {
            return null;
        }

        try
        {
            RpcMultiPartRequest part = RpcMultiPartRequest.Parser.ParseFrom(span[..header]);
            part.PayloadBytes = UnsafeByteOperations.UnsafeWrap(bytes[position..]);
            return part;
        }
        catch (InvalidProtocolBufferException)
        {
            return null;
        }
    }

    private static bool TryReadVarint(ReadOnlySpan<byte> span, ref int position, out ulong value)
    {
        value = 0;
        for (int i = 0; i < MaxVarint64Bytes && position < span.Length; i++)
        {
            byte octet = span[position++];
            value |= (ulong)(octet & 0x7F) << (7 * i);
            if (octet < 0x80)
            {
                return true;
            }
        }

        return false;
    }
}

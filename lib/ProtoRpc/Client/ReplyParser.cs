using ProtoRpc.Messages;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Transports;

namespace ProtoRpc.Client;

/// <summary>Reads replies. A malformed reply is not the caller's fault, so the parser's status is
/// replaced.</summary>
internal static class ReplyParser
{
    /// <exception cref="RpcException">Internal: the bytes are not a reply of the method, and why.
    /// ResourceExhausted: the reply has more elements than the limit.</exception>
    public static DynamicMessage Parse(RpcMethodInfo method, ReplyBody body, RpcLimits limits)
    {
        try
        {
            return body.Format is { } format
                ? format.Read(method.ReplyType, body.Bytes, body.ReadingOptions)
                : DynamicMessage.Parse(
                    method.ReplyType, body.Bytes, limits.MaxMessageElements, body.Look);
        }
        catch (RpcException e) when (IsOfReply(e))
        {
            throw BadReply(method, e);
        }
    }

    /// <summary>Reads a reply as a generated class.</summary>
    public static TReply Parse<TReply>(RpcMethodInfo method, ReplyBody body, RpcLimits limits)
        where TReply : class, IMessage<TReply>, new() =>
        (TReply)Parse(method, Generated<TReply>.Parser, body, limits);

    /// <summary>Reads a reply as the generated class that a parser creates.</summary>
    public static IMessage Parse(
        RpcMethodInfo method, MessageParser parser, ReplyBody body, RpcLimits limits)
    {
        try
        {
            if (body.Format is { } format)
            {
                IMessage read = parser.ParseFrom(ReadOnlySequence<byte>.Empty);
                format.Read(body.Bytes, read, body.ReadingOptions);
                return read;
            }

            using WholeBytes whole = new(method.ReplyType, body.Bytes);
            GeneratedLimits.Check(
                method.ReplyType, whole.Span, limits.MaxMessageElements, limits.MaxGeneratedMapEntries,
                body.Look);
            IMessage reply = parser.ParseFrom(whole.Span);
            MessageChecks.RequireInitialized(reply, method.ReplyType);
            return reply;
        }
        catch (Exception e) when (IsOfReply(e) || e is InvalidProtocolBufferException)
        {
            throw BadReply(method, e);
        }
    }

    /// <summary>The binary form of a reply, for callers that do not parse it.</summary>
    /// <returns>Valid as long as the body.</returns>
    public static ReadOnlyMemory<byte> ToBinary(RpcMethodInfo method, ReplyBody body, RpcLimits limits) =>
        body.Format is not null ? Parse(method, body, limits).ToByteArray()
        : body.Bytes.IsSingleSegment ? body.Bytes.First
        : body.Bytes.ToArray();

    /// <summary>The error for a method with one reply that got none or several.</summary>
    public static RpcException NotOne(string what) => new(
        RpcStatusCode.Internal, $"The server sent {what}. Check that client and server use the same schema.")
    {
        ErrorId = RpcErrorIds.BadReply,
        MayHaveExecuted = true,
    };

    // The deadline or a cancellation ended the read; the reply itself may be valid.
    private static bool IsOfReply(Exception error) => error is RpcException
    {
        Code: not (RpcStatusCode.DeadlineExceeded or RpcStatusCode.Cancelled),
    };

    private static RpcException BadReply(RpcMethodInfo method, Exception why) => new(
        why is RpcException { Code: RpcStatusCode.ResourceExhausted }
            ? RpcStatusCode.ResourceExhausted
            : RpcStatusCode.Internal,
        $"The reply to {method.FullName} is not a message {method.ReplyType.FullName}: {why.Message}",
        why)
    {
        ErrorId = RpcErrorIds.BadReply,
        MayHaveExecuted = true,
    };
}

/// <summary>Reads a reply's body.</summary>
internal delegate TReply ReplyReader<out TReply>(ReplyBody body);

/// <summary>A received reply, in its original format.</summary>
/// <param name="Bytes">The message; valid until the next read, or the end of the call.</param>
/// <param name="Format">The format; null for the binary form.</param>
/// <param name="Options">The options for reading the format.</param>
internal readonly record struct ReplyBody(
    ReadOnlySequence<byte> Bytes, MessageFormat? Format = null, FormatOptions? Options = null)
{
    /// <summary>Called again and again while a long reply is read; throws when the call has ended. Null for
    /// nothing.</summary>
    public Action? Look { get; private init; }

    /// <summary>The options for reading the format, which end with the call.</summary>
    public FormatOptions? ReadingOptions => Look is null ? Options
        : (Options ?? FormatOptions.Default) with { Look = Look };

    /// <summary>The reply of a call that ends by its clock, also while the reply is read.</summary>
    public ReplyBody Of(CallClock clock, RpcEndpoint endpoint) => Bytes.Length <= ElementBudget.BytesPerLook
        ? this
        : this with
        {
            Look = () =>
            {
                if (clock.Ended(endpoint, sent: true) is { } end)
                {
                    throw end;
                }
            },
        };

    /// <summary>A reply in the binary form.</summary>
    public ReplyBody(ReadOnlyMemory<byte> bytes)
        : this(new ReadOnlySequence<byte>(bytes))
    {
    }

    /// <summary>A copy of the reply in separate memory.</summary>
    public ReplyBody Copy() => this with { Bytes = new(Bytes.ToArray()) };
}

using System.Buffers;
using Google.Protobuf;
using ProtoRpc.Messages;

namespace ProtoRpc.Client;

/// <summary>Reads replies. The caller is not at fault when one is wrong,
/// so the status is never the parser's.</summary>
internal static class ReplyParser
{
    /// <exception cref="RpcException">Internal: not a reply of the method, and why; ResourceExhausted: of
    /// more elements than the limit.</exception>
    public static DynamicMessage Parse(RpcMethodInfo method, ReadOnlySpan<byte> body, RpcLimits limits)
    {
        try
        {
            return DynamicMessage.Parse(method.ReplyType, body, limits.MaxMessageElements);
        }
        catch (RpcException e)
        {
            throw BadReply(method, e);
        }
    }

    /// <summary>Reads a reply that lies in pieces.</summary>
    public static TReply Read<TReply>(ReplyReader<TReply> read, in ReadOnlySequence<byte> body)
    {
        if (body.IsSingleSegment)
        {
            return read(body.FirstSpan);
        }

        int length = checked((int)body.Length);
        byte[] whole = ArrayPool<byte>.Shared.Rent(length);
        try
        {
            body.CopyTo(whole);
            return read(whole.AsSpan(0, length));
        }
        finally
        {
            ArrayPool<byte>.Shared.Return(whole);
        }
    }

    /// <summary>The same for a generated class.</summary>
    public static TReply Parse<TReply>(RpcMethodInfo method, ReadOnlySpan<byte> body)
        where TReply : class, IMessage<TReply>, new()
    {
        try
        {
            TReply reply = Generated<TReply>.Parser.ParseFrom(body);
            MessageChecks.RequireInitialized(reply, method.ReplyType);
            return reply;
        }
        catch (Exception e) when (e is InvalidProtocolBufferException or RpcException)
        {
            throw BadReply(method, e);
        }
    }

    private static RpcException BadReply(RpcMethodInfo method, Exception why) => new(
        why is RpcException { Code: RpcStatusCode.ResourceExhausted }
            ? RpcStatusCode.ResourceExhausted
            : RpcStatusCode.Internal,
        $"The reply to {method.FullName} is not a {method.ReplyType.FullName}: {why.Message}",
        why)
    {
        ErrorId = RpcErrorIds.BadReply,
        MayHaveExecuted = true,
    };
}

using Google.Protobuf;
using Google.Protobuf.Reflection;

namespace ProtoRpc.Client;

/// <summary>Cached facts about a generated class.</summary>
internal static class Generated<TMessage>
    where TMessage : class, IMessage<TMessage>, new()
{
    public static readonly MessageDescriptor Descriptor = new TMessage().Descriptor;

    // The class's own parser creates messages faster than new() of a type parameter, which uses reflection.
    public static readonly MessageParser<TMessage> Parser =
        Descriptor.Parser as MessageParser<TMessage> ?? new(() => new TMessage());

    /// <summary>The reader of the previous call, for the next call of the same method; null at
    /// first.</summary>
    public static KnownReader<TMessage>? LastReader { get; set; }
}

/// <summary>The reader of a method's replies, cached for the next call.</summary>
/// <param name="Method">The method.</param>
/// <param name="Limits">What is too large.</param>
/// <param name="Read">Reads a reply.</param>
internal sealed record KnownReader<TReply>(
    RpcMethodInfo Method, RpcLimits Limits, ReplyReader<TReply> Read);

using Google.Protobuf;
using Google.Protobuf.Reflection;

namespace ProtoRpc.Client;

/// <summary>What is known of a generated class, found out once.</summary>
internal static class Generated<TMessage>
    where TMessage : class, IMessage<TMessage>, new()
{
    public static readonly MessageDescriptor Descriptor = new TMessage().Descriptor;

    // That of the class itself makes messages faster than new() of a type parameter, which is reflection.
    public static readonly MessageParser<TMessage> Parser =
        Descriptor.Parser as MessageParser<TMessage> ?? new(() => new TMessage());

    /// <summary>The reader of the last call, for the next one of its method; null before.</summary>
    public static KnownReader<TMessage>? LastReader { get; set; }
}

/// <summary>How replies of a method are read, kept for its next call.</summary>
/// <param name="Method">The method.</param>
/// <param name="Read">Reads a reply.</param>
internal sealed record KnownReader<TReply>(RpcMethodInfo Method, ReplyReader<TReply> Read);

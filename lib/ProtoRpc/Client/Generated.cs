using Google.Protobuf;
using Google.Protobuf.Reflection;

namespace ProtoRpc.Client;

/// <summary>What is known of a generated class, found out once.</summary>
internal static class Generated<TMessage>
    where TMessage : class, IMessage<TMessage>, new()
{
    public static readonly MessageParser<TMessage> Parser = new(() => new TMessage());

    public static readonly MessageDescriptor Descriptor = new TMessage().Descriptor;
}

using System.Buffers;
using System.Diagnostics.CodeAnalysis;
using System.Reflection;
using Google.Protobuf.Reflection;

namespace ProtoRpc.Grpc;

/// <summary>Finds the descriptors that generated code has of its methods and messages.</summary>
internal static class StubTypes
{
    private const string Property = "Descriptor";

    /// <summary>The descriptor of a message class, by which ProtoRpc reads and writes it. Marshallers of
    /// Grpc.Core.Api are not used: they would serialize to a separate buffer.</summary>
    /// <exception cref="RpcException">Unimplemented: the class is not generated for Protocol
    /// Buffers.</exception>
    public static MessageDescriptor MessageOf<TMessage>(Marshaller<TMessage> marshaller, IMethod method)
        where TMessage : class =>
        // Reads the descriptor from an instance, because the static property would need reflection.
        typeof(TMessage).IsAssignableTo(typeof(IMessage))
        && marshaller.ContextualDeserializer(new EmptyPayload()) is IMessage empty
        && empty.Descriptor.Parser is not null
            ? empty.Descriptor
            : throw new RpcException(
                RpcStatusCode.Unimplemented,
                $"{method.FullName.TrimStart('/')} has messages of the class {typeof(TMessage)}, which "
                + "protoc did not generate. Use messages that protoc generates.");

    /// <summary>A message as its generated class. An interceptor may pass another class of the same
    /// message.</summary>
    /// <param name="message">The message.</param>
    /// <param name="parser">Creates messages of the class.</param>
    public static TMessage Cast<TMessage>(IMessage message, MessageParser parser)
        where TMessage : class => message as TMessage ?? (TMessage)parser.ParseFrom(message.ToByteString());

    /// <summary>The files that may declare a method: that of its generated class, and those of its
    /// messages.</summary>
    public static IEnumerable<FileDescriptor> FilesOf<TRequest>(
        Marshaller<TRequest> marshaller, params IEnumerable<MessageDescriptor> messages)
        where TRequest : class
    {
        IEnumerable<FileDescriptor> files = messages.Select(message => message.File);
        return ServiceFileOf(marshaller.ContextualSerializer.Method.DeclaringType) is { } file
            ? files.Prepend(file)
            : files;
    }

    // The serializers are methods of the generated class of the service. If a trimmer removed its
    // descriptor, the files of the messages remain.
    [UnconditionalSuppressMessage(
        "Trimming", "IL2070", Justification = "Without the property, other sources of the schema are used.")]
    private static FileDescriptor? ServiceFileOf(Type? generated) =>
        generated?.GetProperty(Property, BindingFlags.Public | BindingFlags.Static)?.GetValue(null)
            is ServiceDescriptor service
            ? service.File
            : null;

    private sealed class EmptyPayload : DeserializationContext
    {
        public override int PayloadLength => 0;

        public override byte[] PayloadAsNewBuffer() => [];

        public override ReadOnlySequence<byte> PayloadAsReadOnlySequence() => ReadOnlySequence<byte>.Empty;
    }
}

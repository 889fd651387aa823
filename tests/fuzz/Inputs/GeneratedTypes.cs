using Google.Protobuf;
using Google.Protobuf.Reflection;
using ProtobufTestMessages.Proto2;
using ProtobufTestMessages.Proto3;
using ProtoRpc.Tests.Messages;

namespace ProtoRpc.Fuzz.Inputs;

/// <summary>The types of messages that also have a generated class: those of the conformance tests and of
/// the test schemas. The first byte of an input chooses.</summary>
internal static class GeneratedTypes
{
    // It requires a message of its own type, so there is none.
    private const string Endless = "protobuf_test_messages.proto2.TestAllRequiredTypesProto2";

    private static readonly FileDescriptor[] Files =
    [
        TestMessagesProto3Reflection.Descriptor, TestMessagesProto2Reflection.Descriptor,
        Everything.Proto3.EverythingProto3Reflection.Descriptor,
        Everything.Proto2.EverythingProto2Reflection.Descriptor,
    ];

    /// <summary>The schema that has all of them, and all that an Any may hold.</summary>
    public static RpcSchema Schema { get; } = RpcSchema.FromDescriptors(Files);

    /// <summary>The same for Google.Protobuf.</summary>
    public static TypeRegistry Registry { get; } = TypeRegistry.FromFiles(Files);

    /// <summary>All of them.</summary>
    public static IReadOnlyList<(RpcMessageInfo Type, MessageDescriptor Class)> All { get; } =
    [
        .. Files.SelectMany(file => file.MessageTypes)
            .Where(type => type.Fields.InDeclarationOrder().Count > 0 && type.FullName != Endless)
            .Select(type => (Schema.GetMessage(type.FullName), type)),
    ];

    /// <summary>The type that an input's first byte names.</summary>
    public static (RpcMessageInfo Type, MessageDescriptor Class) Of(byte[] input) =>
        All[(input.Length == 0 ? 0 : input[0]) % All.Count];

    /// <summary>The byte that names a type, by the last part of its name.</summary>
    public static int IndexOf(string name) =>
        All.Select(each => each.Type.Name).ToList().IndexOf(name);

    /// <summary>The generated class of a type.</summary>
    public static MessageDescriptor ClassOf(RpcMessageInfo type) =>
        All.First(each => each.Type == type).Class;

    /// <summary>A message with random fields of a type.</summary>
    public static DynamicMessage Make(Random random, int type) =>
        new RandomMessages(random.Next()).Make(All[type].Type);

    /// <summary>An empty message of the generated class.</summary>
    public static IMessage New(MessageDescriptor type) => (IMessage)Activator.CreateInstance(type.ClrType)!;
}

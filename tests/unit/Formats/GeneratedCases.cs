using Google.Protobuf;
using Google.Protobuf.Reflection;
using ProtoRpc.Messages;
using ProtoRpc.Tests.Messages;

namespace ProtoRpc.Tests.Formats;

/// <summary>Messages of generated classes, and the same messages as dynamic ones.</summary>
internal static class GeneratedCases
{
    private const int MessagesPerType = 30;

    public static readonly FormatOptions[] Options =
    [
        new() { Schema = TestMessages.Type("proto3.Leaf").Schema, ReplaceForbidden = true },
        new()
        {
            Schema = TestMessages.Type("proto3.Leaf").Schema, IncludeDefaults = true, UseProtoNames = true,
            NestedRepeated = true, Indented = true, ExpandAny = true, ReplaceForbidden = true,
        },
    ];

    public static readonly MessageDescriptor[] Types =
    [
        .. Everything.Proto2.EverythingProto2Reflection.Descriptor.MessageTypes,
        .. Everything.Proto3.EverythingProto3Reflection.Descriptor.MessageTypes,
    ];

    public static TheoryData<string> Names => new(Types.Select(type => type.FullName));

    // The text of a leaf as bytes.
    public static RpcSchema Changed(RpcSchema schema)
    {
        FileDescriptorSet files = FileDescriptorSet.Parser.ParseFrom(schema.ToDescriptorSet());
        files.File.SelectMany(file => file.MessageType, (file, type) => (file, type))
            .Single(at => at.file.Package == "everything.proto3" && at.type.Name == "Leaf")
            .type.Field[0].Type = FieldDescriptorProto.Types.Type.Bytes;
        return RpcSchema.FromDescriptorSet(files.ToByteArray());
    }

    public static IEnumerable<(IMessage Generated, DynamicMessage Dynamic)> MessagesOf(string name)
    {
        MessageDescriptor type = Types.Single(type => type.FullName == name);
        RandomMessages random = new(name.Length);
        for (int i = 0; i < MessagesPerType; i++)
        {
            IMessage generated = New(type);
            generated.MergeFrom(random.Make(LayoutOf(type).Type).ToByteArray());
            // What generated classes leave out, such as minus zero, is left out in both.
            DynamicMessage dynamic = new(LayoutOf(type));
            dynamic.MergeFrom(generated.ToByteArray());
            yield return (generated, dynamic);
        }
    }

    public static MessageLayout LayoutOf(MessageDescriptor type) =>
        MessageLayout.For(TestMessages.Type(type.FullName["everything.".Length..]));

    public static IMessage New(MessageDescriptor type) =>
        (IMessage)Activator.CreateInstance(type.ClrType)!;

    public static byte[]? TryWrite(MessageFormat format, IMessage message, FormatOptions options)
    {
        try
        {
            return format.ToArray(message, options);
        }
        catch (RpcException)
        {
            return null;
        }
    }
}

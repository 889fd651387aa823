using Google.Protobuf;
using Google.Protobuf.Reflection;
using Type = Google.Protobuf.Reflection.FieldDescriptorProto.Types.Type;

namespace ProtoRpc.Tests.Schema;

/// <summary>Descriptors that protoc never writes.</summary>
public static class DamagedDescriptorTests
{
    [Fact]
    public static void A_group_without_a_type_is_refused()
    {
        DescriptorProto message = new()
        {
            Name = "M",
            Field = { new FieldDescriptorProto { Name = "g", Number = 1, Type = Type.Group } },
        };
        byte[] set = SetOf(new FileDescriptorProto { Name = "p.proto", MessageType = { message } });

        RpcException e = Assert.Throws<RpcException>(() => RpcSchema.FromDescriptorSet(set));

        Assert.Equal("SchemaError", e.ErrorId);
        Assert.Contains("'M.g' is a group without a type", e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void More_oneofs_than_can_be_linked_in_time_are_refused()
    {
        DescriptorProto message = new() { Name = "M" };
        for (int i = 0; i < 40_000; i++)
        {
            int number = i < 18_000 ? i + 1 : i + 2001;
            message.Field.Add(new FieldDescriptorProto
            {
                Name = $"f{i}",
                Number = number,
                Type = Type.Int32,
                OneofIndex = i,
            });
            message.OneofDecl.Add(new OneofDescriptorProto { Name = $"o{i}" });
        }

        byte[] set = SetOf(new FileDescriptorProto { Name = "p.proto", MessageType = { message } });

        RpcException e = Assert.Throws<RpcException>(() => RpcSchema.FromDescriptorSet(set));

        Assert.Contains("p.proto: its messages have too many oneofs", e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void Thousands_of_oneofs_keep_their_fields_and_are_written_once()
    {
        const int Count = 3000;
        DescriptorProto message = new() { Name = "M" };
        for (int i = 0; i < Count; i++)
        {
            message.OneofDecl.Add(new OneofDescriptorProto { Name = $"o{i}" });
            message.Field.Add(new FieldDescriptorProto
            {
                Name = $"f{i}",
                Number = i + 1,
                Type = Type.Int32,
                OneofIndex = Count - 1 - i,
            });
        }

        RpcSchema schema = RpcSchema.FromDescriptorSet(
            SetOf(new FileDescriptorProto { Name = "p.proto", MessageType = { message } }));

        RpcMessageInfo type = schema.GetMessage("M");
        Assert.Equal(Count, type.Oneofs.Count);
        Assert.Equal("o2999", type.FindField("f0")!.Oneof!.Name);
        Assert.Equal("f0", type.Oneofs[Count - 1].Fields.Single().Name);
        Assert.Equal(Count, schema.ToProtoText("p.proto").Split("oneof ").Length - 1);
    }

    private static byte[] SetOf(FileDescriptorProto file) =>
        new FileDescriptorSet { File = { file } }.ToByteArray();
}

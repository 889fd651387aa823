using Google.Protobuf;
using Google.Protobuf.Reflection;
using static ProtoRpc.Tests.Messages.TestMessages;
using FieldType = Google.Protobuf.Reflection.FieldDescriptorProto.Types.Type;

namespace ProtoRpc.Tests.Messages;

/// <summary>Messages of every size keep each value apart from the others.</summary>
public static class MessageStoreTests
{
    private const int Most = 11;

    // A field that no type below has: number 1000, a varint.
    private static readonly byte[] Strange = Bytes("C0 3E 05");

    private static readonly RpcSchema Sizes = MakeSizes();

    public static TheoryData<int, int> Counts
    {
        get
        {
            TheoryData<int, int> counts = [];
            for (int scalars = 0; scalars <= Most; scalars++)
            {
                for (int texts = 0; texts <= Most; texts++)
                {
                    counts.Add(scalars, texts);
                }
            }

            return counts;
        }
    }

    [Theory]
    [MemberData(nameof(Counts))]
    public static void Values_stay_what_they_are(int scalars, int texts)
    {
        RpcMessageInfo type = Sizes.GetMessage($"M{scalars}_{texts}");
        DynamicMessage message = new(type);
        message.MergeFrom(Strange);
        foreach (RpcFieldInfo field in type.Fields)
        {
            Fill(message, field);
        }

        // Objects move, and what they refer to with them.
        GC.Collect();
        byte[] bytes = message.ToByteArray();
        DynamicMessage read = DynamicMessage.Parse(type, bytes.AsSpan());
        message.ClearUnknownFields();
        GC.Collect();

        Assert.Equal(Strange, read.UnknownFieldBytes);
        Assert.Equal(bytes, read.ToByteArray());
        Assert.Equal(bytes.Length - Strange.Length, message.CalculateSize());
        read.ClearUnknownFields();
        Assert.Equal(message, read);
        Assert.Equal(message.GetHashCode(), read.GetHashCode());
        foreach (RpcFieldInfo field in type.Fields)
        {
            Assert.Equal(ValueOf(field), read.Get(field));
            read.Clear(field);
            Assert.False(read.Has(field));
            Assert.NotEqual(message, read);
        }

        Assert.Equal(new DynamicMessage(type), read);
    }

    [Fact]
    public static void Many_threads_make_the_first_message_of_a_type_alike()
    {
        RpcSchema schema = MakeSizes();
        Parallel.For(0, 64, i => Assert.Equal(
            new DynamicMessage(schema.GetMessage("M3_3")), new DynamicMessage(schema.GetMessage("M3_3"))));
    }

    [Theory]
    [InlineData("12 00 12 00 12")]
    [InlineData("12 00 12 01")]
    [InlineData("12 00 12 80")]
    [InlineData("12 00 12 FFFFFFFF0F")]
    [InlineData("12 00 12 FFFFFFFFFFFFFFFFFF01")]
    [InlineData("12 00 12 02 08")]
    public static void What_was_read_of_a_damaged_list_is_whole(string hex)
    {
        DynamicMessage message = new(Type("proto3.Leaf"));

        Assert.Throws<RpcException>(() => message.MergeFrom(Bytes(hex)));

        // No element is missing in the middle of the list.
        Assert.NotEmpty(message.ToByteArray());
    }

    private static RpcSchema MakeSizes()
    {
        FileDescriptorProto file = new() { Name = "sizes.proto", Syntax = "proto3" };
        for (int scalars = 0; scalars <= Most; scalars++)
        {
            for (int texts = 0; texts <= Most; texts++)
            {
                DescriptorProto type = new() { Name = $"M{scalars}_{texts}" };
                for (int i = 1; i <= scalars + texts; i++)
                {
                    type.Field.Add(new FieldDescriptorProto
                    {
                        Name = $"f{i}",
                        Number = i,
                        Type = i <= scalars ? FieldType.Sfixed64 : FieldType.String,
                        Label = FieldDescriptorProto.Types.Label.Optional,
                    });
                }

                file.MessageType.Add(type);
            }
        }

        return RpcSchema.FromDescriptorSet(new FileDescriptorSet { File = { file } }.ToByteArray());
    }

    private static object ValueOf(RpcFieldInfo field) =>
        field.Kind == RpcFieldKind.String ? $"text {field.Number}" : 1000L + field.Number;

    private static void Fill(DynamicMessage message, RpcFieldInfo field)
    {
        if (field.Kind == RpcFieldKind.String)
        {
            message.Set(field, $"text {field.Number}");
        }
        else
        {
            message.Set(field, 1000L + field.Number);
        }
    }
}

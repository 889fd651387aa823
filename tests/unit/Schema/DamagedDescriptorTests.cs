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

    [Theory]
    [InlineData(900, true)]
    [InlineData(40_000, false)]
    public static void More_features_than_can_be_linked_in_time_are_refused(int fields, bool isLinked)
    {
        DescriptorProto message = new() { Name = "M" };
        for (int i = 1; i <= fields; i++)
        {
            // All have the same hash code.
            message.Field.Add(new FieldDescriptorProto
            {
                Name = $"f{i}",
                Number = i + 20_000,
                Type = Type.Int32,
                Options = new FieldOptions
                {
                    Features = new FeatureSet
                    {
                        EnumType = (FeatureSet.Types.EnumType)(i + fields),
                        MessageEncoding = (FeatureSet.Types.MessageEncoding)(i + fields),
                    },
                },
            });
        }

        AssertLinked(message, isLinked, "p.proto: the schema has more than 1000 different combinations");
    }

    [Theory]
    [InlineData(400, true)]
    [InlineData(4_000, false)]
    public static void Long_features_are_refused(int length, bool isLinked)
    {
        FeatureSet features = FeatureSet.Parser.ParseFrom(
            [0xC2, 0x3E, (byte)((length & 0x7F) | 0x80), (byte)(length >> 7), .. new byte[length]]);
        DescriptorProto message = new()
        {
            Name = "M",
            Options = new MessageOptions { Features = features },
            NestedType =
            {
                new DescriptorProto { Name = "N", Options = new MessageOptions { Features = features } },
            },
        };

        AssertLinked(message, isLinked, "p.proto: the features of an element have more than 1000 bytes");
    }

    private static void AssertLinked(DescriptorProto message, bool isLinked, string error)
    {
        byte[] set = SetOf(new FileDescriptorProto
        {
            Name = "p.proto",
            Syntax = "editions",
            Edition = Edition._2023,
            MessageType = { message },
        });

        if (isLinked)
        {
            Assert.Equal("M", RpcSchema.FromDescriptorSet(set).GetMessage("M").FullName);
            return;
        }

        RpcException e = Assert.Throws<RpcException>(() => RpcSchema.FromDescriptorSet(set));

        Assert.Equal("SchemaError", e.ErrorId);
        Assert.Contains(error, e.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("X0", 500, true)]
    [InlineData("X0", 5_000, false)]
    [InlineData(".X0", 5_000, true)]
    public static void Names_that_take_minutes_to_find_are_refused(string name, int fields, bool isLinked)
    {
        const int Imports = 500;
        DescriptorProto message = new() { Name = "M" };
        FileDescriptorProto last = new()
        {
            Name = "last.proto",
            Package = string.Join('.', Enumerable.Repeat("a", 101)),
            MessageType = { message },
        };
        FileDescriptorSet set = new();
        for (int i = 0; i < Imports; i++)
        {
            set.File.Add(new FileDescriptorProto
            {
                Name = $"f{i}.proto",
                MessageType = { new DescriptorProto { Name = $"X{i}" } },
            });
            last.Dependency.Add($"f{i}.proto");
        }

        for (int i = 0; i < fields; i++)
        {
            message.Field.Add(new FieldDescriptorProto
            {
                Name = $"f{i}",
                Number = i + 1,
                Type = Type.Message,
                TypeName = name,
            });
        }

        set.File.Add(last);
        byte[] bytes = set.ToByteArray();
        if (isLinked)
        {
            Assert.Equal(fields, RpcSchema.FromDescriptorSet(bytes).Messages[^1].Fields.Count);
            return;
        }

        RpcException e = Assert.Throws<RpcException>(() => RpcSchema.FromDescriptorSet(bytes));

        Assert.Equal("SchemaError", e.ErrorId);
        Assert.Contains("last.proto: it names too many types", e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void A_long_name_that_thousands_of_full_names_repeat_is_refused()
    {
        DescriptorProto message = new() { Name = new string('M', 4000) };
        for (int i = 0; i < 10_000; i++)
        {
            message.Field.Add(new FieldDescriptorProto { Name = $"f{i}", Number = i + 1, Type = Type.Int32 });
        }

        byte[] set = SetOf(new FileDescriptorProto { Name = "p.proto", MessageType = { message } });
        long before = GC.GetAllocatedBytesForCurrentThread();

        RpcException e = Assert.Throws<RpcException>(() => RpcSchema.FromDescriptorSet(set));

        Assert.Contains("p.proto: the full names of its elements", e.Message, StringComparison.Ordinal);
        Assert.InRange(GC.GetAllocatedBytesForCurrentThread() - before, 0, 50_000_000);
    }

    [Fact]
    public static void A_reserved_name_of_an_edition_that_is_no_identifier_is_refused()
    {
        const string Name = "x;\n}\nmessage Evil {\n  int32 a = 1";
        DescriptorProto message = new() { Name = "M", ReservedName = { Name } };
        EnumDescriptorProto type = new()
        {
            Name = "E",
            ReservedName = { Name },
            Value = { new EnumValueDescriptorProto { Name = "V" } },
        };
        foreach (FileDescriptorProto file in new FileDescriptorProto[]
        {
            new() { Name = "p.proto", MessageType = { message } },
            new() { Name = "p.proto", EnumType = { type } },
        })
        {
            string text = RpcSchema.FromDescriptorSet(SetOf(file)).ToProtoText("p.proto");
            Assert.DoesNotContain("\nmessage Evil", text, StringComparison.Ordinal);

            file.Syntax = "editions";
            file.Edition = (Edition)1000;
            RpcException e = Assert.Throws<RpcException>(() => RpcSchema.FromDescriptorSet(SetOf(file)));
            Assert.Contains("the reserved name 'x;", e.Message, StringComparison.Ordinal);
        }
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

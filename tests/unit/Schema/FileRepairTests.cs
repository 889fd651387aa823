using Google.Protobuf;
using Google.Protobuf.Reflection;
using ProtoRpc.Schema.Linking;
using Type = Google.Protobuf.Reflection.FieldDescriptorProto.Types.Type;

namespace ProtoRpc.Tests.Schema;

/// <summary>Files that servers send with errors, such as those without imports of Node's
/// @grpc/reflection.</summary>
public static class FileRepairTests
{
    [Theory]
    [InlineData("common.Money", "common")]
    [InlineData(".common.Money", "common")]
    [InlineData("common.Money", "shop.common")]
    [InlineData("v1.Money", "shop.v1")]
    public static void The_types_of_fields_and_methods_are_found(string name, string package)
    {
        RpcSchema schema = Link(Shop(name), Money(package));

        RpcMethodInfo method = Assert.Single(schema.GetService("Shop").Methods);
        Assert.Equal($"{package}.Money", method.ReplyType.FullName);
        Assert.Equal($"{package}.Money", method.RequestType.Fields[0].MessageType?.FullName);
    }

    [Fact]
    public static void Nested_types_are_found()
    {
        RpcSchema schema = Link(Shop("common.Money.Part"), Money("common"));

        Assert.NotNull(schema.FindMessage("shop.v2.Order")?.Fields[0].MessageType);
    }

    [Fact]
    public static void A_type_that_no_file_has_only_stops_the_methods_that_need_it()
    {
        RpcSchema schema = Link(Shop("common.Price"), Money("common"), Alone());

        RpcMethodInfo method = schema.GetMethod("shop.v2.Shop/Buy");
        Assert.Equal("No file of the server declares 'common.Price'.", method.Problem);
        Assert.Null(schema.GetMethod("alone.Alone/Do").Problem);
        Assert.Contains("shop.v2.Shop/Buy", Assert.Single(schema.Warnings), StringComparison.Ordinal);
        Assert.Equal(method.Problem, schema.GetMessage("common.Price").Comment);
    }

    [Fact]
    public static void Types_of_two_packages_that_need_each_other_leave_out_one_file()
    {
        FileDescriptorProto money = Money("common").Proto;
        money.MessageType[0].Field.Add(Field("shop.v2.Order"));

        RpcSchema schema = Link(Shop("common.Money"), FileOf(money), Alone());

        Assert.Contains("need each other in a circle", schema.Warnings[0], StringComparison.Ordinal);
        Assert.Null(schema.GetMethod("alone.Alone/Do").Problem);
    }

    [Fact]
    public static void Files_of_a_package_whose_types_need_each_other_are_split()
    {
        FileDescriptorProto first = Money("p").Proto;
        first.MessageType.Add(new DescriptorProto { Name = "A", Field = { Field("p.B") } });
        FileDescriptorProto second = new()
        {
            Name = "second.proto",
            Package = "p",
            Syntax = "proto3",
            MessageType =
            {
                new DescriptorProto { Name = "B", Field = { Field("p.C") } },
                new DescriptorProto { Name = "C", Field = { Field("p.B"), Second(Field("p.Money.Part")) } },
            },
        };
        second.MessageType.Add(new DescriptorProto { Name = "D", Field = { Field("p.A") } });

        RpcSchema schema = Link(FileOf(first), FileOf(second));

        Assert.Empty(schema.Warnings);
        Assert.Equal("p.C", schema.GetMessage("p.D").Fields[0].MessageType!.Fields[0].MessageType!.Fields[0]
            .MessageType!.FullName);
        Assert.Equal(schema.GetMessage("p.B").FileName, schema.GetMessage("p.C").FileName);
        Assert.NotEmpty(RpcSchema.FromDescriptorSet(schema.ToDescriptorSet()).Messages);
    }

    [Fact]
    public static void Missing_types_are_found_by_the_file_beside_their_package()
    {
        FileDescriptorProto shop = Shop("common.Price").Proto;
        shop.Dependency.Add(["other/a.proto", "common/b.proto", "more/c.proto"]);

        RpcSchema schema = Link(FileOf(shop));

        Assert.Equal(
            "The server does not return 'common/b.proto', which declares 'common.Price'.",
            schema.GetMethod("Shop/Buy").Problem);
    }

    [Fact]
    public static void A_missing_type_in_a_message_or_enum_does_not_stop_others()
    {
        FileDescriptorProto common = Money("common").Proto;
        common.EnumType.Add(new EnumDescriptorProto
        {
            Name = "Kind",
            Value = { new EnumValueDescriptorProto { Name = "NONE", Number = 0 } },
        });

        RpcSchema nested = Link(Shop("common.Money.Gone"), Money("common"), Alone());
        RpcSchema inEnum = Link(Shop("common.Kind.Gone"), FileOf(common), Alone());

        Assert.NotNull(nested.GetMethod("shop.v2.Shop/Buy").Problem);
        Assert.NotEmpty(inEnum.Warnings);
        Assert.Null(inEnum.GetMethod("alone.Alone/Do").Problem);
    }

    [Fact]
    public static void Files_of_another_schema_fill_the_gaps()
    {
        RpcSchema server = Link(Shop("common.Money"), Alone());
        RpcSchema given = RpcSchema.FromDescriptorSet(
            new FileDescriptorSet { File = { Money("common").Proto } }.ToByteArray());

        RpcSchema both = given.CompleteWith(server, "reflection");

        Assert.NotNull(server.GetMethod("Shop/Buy").Problem);
        Assert.Null(both.GetMethod("Shop/Buy").Problem);
        Assert.Empty(both.Warnings);
    }

    [Theory]
    [InlineData(20_000)]
    [InlineData(100_000)]
    public static void Long_chains_and_circles_take_linear_time(int count)
    {
        FileDescriptorProto file = new() { Name = "a.proto", Package = "p", Syntax = "proto3" };
        for (int i = 0; i < count; i++)
        {
            file.MessageType.Add(new DescriptorProto
            {
                Name = $"M{i}",
                Field = { Field($".p.M{(i + 1) % count}") },
            });
        }

        file.MessageType[0].Field.Add(Second(Field(".p.Gone")));
        file.Dependency.Add("a.proto");

        Assert.Equal(["p.Gone"], FileRepair.FindMissing([FileOf(file)]));
    }

    private static RpcSchema Link(params IReadOnlyList<DescriptorFile> files) => ForgivingLinker.Link(
        new ServerFiles(files, new Dictionary<string, string>(), "grpc://test"), CancellationToken.None);

    private static FieldDescriptorProto Second(FieldDescriptorProto field)
    {
        field.Name = "second";
        field.Number = 2;
        return field;
    }

    private static DescriptorFile Alone() => FileOf(new()
    {
        Name = "alone.proto",
        Package = "alone",
        Syntax = "proto3",
        MessageType = { new DescriptorProto { Name = "Nothing" } },
        Service =
        {
            new ServiceDescriptorProto
            {
                Name = "Alone",
                Method =
                {
                    new MethodDescriptorProto { Name = "Do", InputType = "Nothing", OutputType = "Nothing" },
                },
            },
        },
    });

    private static DescriptorFile Shop(string money) => FileOf(new()
    {
        Name = "shop.proto",
        Package = "shop.v2",
        Syntax = "proto3",
        MessageType = { new DescriptorProto { Name = "Order", Field = { Field(money) } } },
        Service =
        {
            new ServiceDescriptorProto
            {
                Name = "Shop",
                Method =
                {
                    new MethodDescriptorProto { Name = "Buy", InputType = "Order", OutputType = money },
                },
            },
        },
    });

    private static DescriptorFile Money(string package) => FileOf(new()
    {
        Name = $"{package}.proto",
        Package = package,
        Syntax = "proto3",
        MessageType =
        {
            new DescriptorProto { Name = "Money", NestedType = { new DescriptorProto { Name = "Part" } } },
        },
    });

    private static FieldDescriptorProto Field(string type) => new()
    {
        Name = "price",
        Number = 1,
        Label = FieldDescriptorProto.Types.Label.Optional,
        Type = Type.Message,
        TypeName = type,
    };

    private static DescriptorFile FileOf(FileDescriptorProto file) =>
        DescriptorFile.Parse(file.ToByteString(), "a test");
}

using Google.Protobuf;
using Google.Protobuf.Reflection;
using ProtoRpc.Schema.Linking;
using ProtoRpc.Schema.Sources;
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

    [Theory]
    [InlineData("second.proto")]
    [InlineData("p.pb")]
    [InlineData("p-1.proto")]
    public static void Files_of_a_package_whose_types_need_each_other_are_split(string name)
    {
        FileDescriptorProto first = Money("p").Proto;
        first.MessageType.Add(new DescriptorProto { Name = "A", Field = { Field("p.B") } });
        FileDescriptorProto second = new()
        {
            Name = name,
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
        RpcSchema given = SetOf(Money("common"));

        RpcSchema both = given.CompleteWith(server, "reflection");

        Assert.NotNull(server.GetMethod("Shop/Buy").Problem);
        Assert.Null(both.GetMethod("Shop/Buy").Problem);
        Assert.Empty(both.Warnings);
    }

    [Fact]
    public static void A_schema_with_gaps_keeps_its_services_and_warnings_with_the_files_of_another()
    {
        RpcSchema server = ForgivingLinker.Link(
            new ServerFiles(
                [Shop("common.Money")],
                new Dictionary<string, string>
                {
                    ["shop.v2.Shop"] = "",
                    ["shop.v2.Gone"] = "It is secret.",
                },
                "grpc://test")
            {
                Warnings = ["A file is broken."],
            },
            CancellationToken.None);
        RpcSchema alone = SetOf(Alone());

        RpcSchema both = server.CompleteWith(alone, "generated");
        RpcSchema filled = both.CompleteWith(SetOf(Money("common")), "generated");

        Assert.NotNull(both.GetMethod("Shop/Buy").Problem);
        Assert.Null(both.GetMethod("alone.Alone/Do").Problem);
        Assert.Null(filled.GetMethod("Shop/Buy").Problem);
        foreach (RpcSchema schema in (RpcSchema[])[both, filled])
        {
            Assert.Contains("It is secret.", schema.GetService("shop.v2.Gone").Problem);
            Assert.Contains("A file is broken.", schema.Warnings);
            Assert.Equal(
                ["alone.Alone", "shop.v2.Gone", "shop.v2.Shop"],
                schema.ServedServices.Select(service => service.FullName).Order());
        }
    }

    [Fact]
    public static void Two_schemas_with_gaps_fill_the_gaps_of_each_other()
    {
        FileDescriptorProto alone = Alone().Proto;
        alone.MessageType[0].Field.Add(Field("shop.v2.Order"));

        RpcSchema both = Link(Shop("common.Money"), Money("common"), FileOf(Needing("gone.Gone", "first")))
            .CompleteWith(Link(FileOf(alone), FileOf(Needing("away.Away", "second"))), "server");

        Assert.Null(both.GetMethod("alone.Alone/Do").Problem);
        Assert.Null(both.GetMethod("Shop/Buy").Problem);
        Assert.Contains("gone.Gone", both.GetMethod("first.S/Do").Problem);
        Assert.Contains("away.Away", both.GetMethod("second.S/Do").Problem);
        Assert.Equal(2, both.Warnings.Count);
    }

    [Fact]
    public static void The_files_that_were_loaded_stay_those_of_a_schema_with_gaps()
    {
        RpcSchema given = SetOf(Money("common"));
        RpcSchema both = given.CompleteWith(Link(Shop("common.Price")), "server");

        SchemaPart part = SchemaPart.Create(both, "again");

        Assert.NotNull(both.Gaps);
        Assert.Contains("common.proto", part.RootFiles);
        Assert.DoesNotContain(part.RootFiles, name => part.Files.All(file => file.Name != name));
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

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public static void Many_missing_types_and_imports_take_linear_time(bool inOneFile)
    {
        const int Count = 200_000;
        FileDescriptorProto file = new() { Name = "a.proto", Package = "p", Syntax = "proto3" };
        DescriptorProto message = new() { Name = "M" };
        for (int i = 0; i < Count; i++)
        {
            FieldDescriptorProto field = Field($".gone.G{i}");
            field.Number = i + 1;
            message.Field.Add(field);
        }

        file.MessageType.Add(message);
        FileDescriptorProto importing = inOneFile ? file : new() { Name = "b.proto", Syntax = "proto3" };
        importing.Dependency.Add(Enumerable.Range(0, Count).Select(i => $"other/{i}.proto"));
        DescriptorFile[] files = inOneFile ? [FileOf(file)] : [FileOf(file), FileOf(importing)];

        Assert.Equal(Count, FileRepair.FindMissing(files).Count);
    }

    [Fact]
    public static void Three_of_many_missing_files_are_named()
    {
        FileDescriptorProto shop = Shop("common.Price").Proto;
        shop.Dependency.Add(["e.proto", "d.proto", "c.proto", "b.proto", "b.proto"]);

        Assert.Equal(
            "No file of the server declares 'common.Price'. The server does not return "
            + "'b.proto', 'c.proto', 'd.proto' and others.",
            Link(FileOf(shop)).GetMethod("Shop/Buy").Problem);
    }

    [Fact]
    public static void A_long_name_of_a_missing_file_is_cut()
    {
        FileDescriptorProto shop = Shop("common.Price").Proto;
        shop.Dependency.Add($"{new string('x', 10_000)}.proto");

        Assert.InRange(Link(FileOf(shop)).GetMethod("Shop/Buy").Problem!.Length, 200, 400);
    }

    private static RpcSchema Link(params IReadOnlyList<DescriptorFile> files) => ForgivingLinker.Link(
        new ServerFiles(files, new Dictionary<string, string>(), "grpc://test"), CancellationToken.None);

    private static RpcSchema SetOf(DescriptorFile file) => RpcSchema.FromDescriptorSet(
        new FileDescriptorSet { File = { file.Proto } }.ToByteArray());

    // A service that needs a type.
    private static FileDescriptorProto Needing(string type, string package) => new()
    {
        Name = $"{package}.proto",
        Package = package,
        Syntax = "proto3",
        Service =
        {
            new ServiceDescriptorProto
            {
                Name = "S",
                Method = { new MethodDescriptorProto { Name = "Do", InputType = type, OutputType = type } },
            },
        },
    };

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

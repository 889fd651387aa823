using Google.Protobuf;
using Google.Protobuf.Reflection;
using ProtoRpc.Schema.Linking;
using Type = Google.Protobuf.Reflection.FieldDescriptorProto.Types.Type;

namespace ProtoRpc.Tests.Schema;

/// <summary>Files without imports, as servers with Node's @grpc/reflection send them.</summary>
public static class MissingImportsTests
{
    [Theory]
    [InlineData("common.Money", "common")]
    [InlineData(".common.Money", "common")]
    [InlineData("common.Money", "shop.common")]
    [InlineData("v1.Money", "shop.v1")]
    public static void The_types_of_fields_and_methods_are_found(string name, string package)
    {
        RpcSchema schema = new(MissingImports.Link([Shop(name), Money(package)]), [], []);

        RpcMethodInfo method = Assert.Single(schema.GetService("Shop").Methods);
        Assert.Equal($"{package}.Money", method.ReplyType.FullName);
        Assert.Equal($"{package}.Money", method.RequestType.Fields[0].MessageType?.FullName);
    }

    [Fact]
    public static void Nested_types_are_found()
    {
        RpcSchema schema = new(MissingImports.Link([Shop("common.Money.Part"), Money("common")]), [], []);

        Assert.NotNull(schema.FindMessage("shop.v2.Order")?.Fields[0].MessageType);
    }

    [Fact]
    public static void A_type_that_no_file_has_is_an_error_that_names_it()
    {
        RpcException e = Assert.Throws<RpcException>(() =>
            MissingImports.Link([Shop("common.Price"), Money("common")]));

        Assert.Equal("SchemaError", e.ErrorId);
        Assert.Contains("common.Price", e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void Files_that_need_each_other_are_an_error_that_names_them()
    {
        FileDescriptorProto money = Money("common").Proto;
        money.MessageType[0].Field.Add(Field("shop.v2.Order"));

        RpcException e = Assert.Throws<RpcException>(() =>
            MissingImports.Link([Shop("common.Money"), FileOf(money)]));

        Assert.Contains("circle: shop.proto -> common.proto", e.Message, StringComparison.Ordinal);
    }

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

using System.Diagnostics;
using Google.Protobuf;
using Google.Protobuf.Reflection;

namespace ProtoRpc.Tests.Schema;

public static class NameCheckTests
{
    public static TheoryData<string> BadNames =>
    [
        "", "x\u2019; calc; \u2018", "a'b", "a b", "a\nb", "a\u001B[31m", "1a", "a-b", "a$(x)", "a`b",
        "a.b", "\u00E4",
        "a\u202Eb", "a;b", "a\0",
    ];

    [Theory]
    [MemberData(nameof(BadNames))]
    public static void Every_name_that_is_no_identifier_is_refused(string name)
    {
        Assert.All(FilesWith(name), file =>
        {
            RpcException e = Assert.Throws<RpcException>(() => RpcSchema.FromDescriptorSet(SetOf(file)));

            Assert.Equal("SchemaError", e.ErrorId);
            Assert.StartsWith("hostile.proto: the ", e.Message, StringComparison.Ordinal);
            Assert.DoesNotContain(e.Message, c => c is '\u001B' or '\u202E' or '\0');
        });
    }

    [Theory]
    [InlineData("a..b")]
    [InlineData(".a")]
    [InlineData("a.")]
    [InlineData("a.1b")]
    [InlineData("a.x\u2019y")]
    [InlineData("a b")]
    public static void Every_part_of_a_package_is_an_identifier(string package)
    {
        RpcException e = Assert.Throws<RpcException>(
            () => RpcSchema.FromDescriptorSet(
                SetOf(new FileDescriptorProto { Name = "p.proto", Package = package })));

        Assert.Contains(
            $"the package '{package}' is not a valid identifier", e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void A_package_is_as_deep_and_long_as_protoc_lets_it_be()
    {
        using TempFolder folder = new();
        foreach ((string package, bool isFine) in new[]
        {
            (string.Join('.', Enumerable.Repeat("a", 101)), true),
                (string.Join('.', Enumerable.Repeat("a", 102)), false),
            (new string('a', 511), true), (new string('a', 512), false),
        })
        {
            string path =
                folder.Write("p.proto", $"syntax = \"proto3\";\npackage {package};\nmessage M {{}}\n");
            byte[] set = SetOf(new FileDescriptorProto
            {
                Name = "p.proto",
                Package = package,
                MessageType = { new DescriptorProto { Name = "M" } },
            });

            if (isFine)
            {
                Assert.Equal($"{package}.M", RpcSchema.Load([path]).Messages[0].FullName);
                Assert.Equal($"{package}.M", RpcSchema.FromDescriptorSet(set).Messages[0].FullName);
            }
            else
            {
                Assert.Throws<RpcException>(() => RpcSchema.Load([path]));
                Assert.Throws<RpcException>(() => RpcSchema.FromDescriptorSet(set));
            }
        }
    }

    [Fact]
    public static void A_package_of_many_dots_takes_no_more_time_than_reading_it()
    {
        byte[] set = SetOf(new FileDescriptorProto
        {
            Name = "p.proto",
            Package = string.Join('.', Enumerable.Repeat("a", 2_000_000)),
        });

        Stopwatch watch = Stopwatch.StartNew();
        RpcException e = Assert.Throws<RpcException>(() => RpcSchema.FromDescriptorSet(set));

        // Walking the packages one by one takes hours for so many.
        Assert.True(watch.Elapsed < TimeSpan.FromSeconds(10), $"{watch.Elapsed}");
        Assert.True(e.Message.Length < 1000);
    }

    [Fact]
    public static void Long_names_that_nested_elements_would_repeat_are_refused()
    {
        DescriptorProto outer = new() { Name = new string('M', 4090) };
        outer.NestedType.Add(new DescriptorProto { Name = "Inner12345" });

        RpcException e = Assert.Throws<RpcException>(() => RpcSchema.FromDescriptorSet(
            SetOf(new FileDescriptorProto { Name = "p.proto", MessageType = { outer } })));

        Assert.Contains(
            "the message 'Inner12345' has more than 4096 characters", e.Message, StringComparison.Ordinal);
    }

    private static IEnumerable<FileDescriptorProto> FilesWith(string name)
    {
        DescriptorProto message = new() { Name = "M" };
        FieldDescriptorProto field = new()
        {
            Name = name,
            Number = 1,
            Type = FieldDescriptorProto.Types.Type.Int32,
            Label = FieldDescriptorProto.Types.Label.Optional,
        };
        FieldDescriptorProto extension = field.Clone();
        extension.Number = 100;
        extension.Extendee = ".M";
        EnumDescriptorProto type =
            new() { Name = "E", Value = { new EnumValueDescriptorProto { Name = name } } };
        MethodDescriptorProto method = new() { Name = name, InputType = ".M", OutputType = ".M" };
        yield return File(f => f.MessageType.Add(new DescriptorProto { Name = name }));
        yield return File(f => f.EnumType.Add(new EnumDescriptorProto { Name = name, Value = { NoValue } }));
        yield return File(f => f.EnumType.Add(type));
        yield return File(f => f.Service.Add(new ServiceDescriptorProto { Name = name }));
        yield return File(f => f.Service.Add(new ServiceDescriptorProto { Name = "S", Method = { method } }));
        yield return File(f => f.Extension.Add(extension));
        yield return File(f => f.MessageType[0].Field.Add(field));
        yield return File(f => f.MessageType[0].Extension.Add(extension));
        yield return File(f => f.MessageType[0].OneofDecl.Add(new OneofDescriptorProto { Name = name }));
        yield return File(f => f.MessageType[0].EnumType.Add(type));
        yield return File(f => f.MessageType[0].NestedType.Add(new DescriptorProto { Name = name }));

        FileDescriptorProto File(Action<FileDescriptorProto> change)
        {
            FileDescriptorProto file = new() { Name = "hostile.proto", MessageType = { message.Clone() } };
            change(file);
            return file;
        }
    }

    private static EnumValueDescriptorProto NoValue => new() { Name = "NONE" };

    private static byte[] SetOf(params FileDescriptorProto[] files) =>
        new FileDescriptorSet { File = { files } }.ToByteArray();
}

using System.Diagnostics;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using Google.Protobuf.WellKnownTypes;
using ProtoRpc.Schema;
using Label = Google.Protobuf.Reflection.FieldDescriptorProto.Types.Label;
using Type = Google.Protobuf.Reflection.FieldDescriptorProto.Types.Type;

namespace ProtoRpc.Tests.Schema;

public static class DescriptorSetTests
{
    [Fact]
    public static void A_set_comes_back_byte_for_byte()
    {
        byte[] bytes = TestProtos.Everything.ToDescriptorSet();

        Assert.Equal(bytes, RpcSchema.FromDescriptorSet(bytes).ToDescriptorSet());
    }

    [Fact]
    public static void Files_may_come_in_any_order()
    {
        FileDescriptorSet set = FileDescriptorSet.Parser.ParseFrom(TestProtos.Everything.ToDescriptorSet());
        FileDescriptorSet reversed = new();
        reversed.File.AddRange(set.File.Reverse());

        RpcSchema schema = RpcSchema.FromDescriptorSet(reversed.ToByteArray());

        Assert.Equal(TestProtos.Everything.Messages.Count, schema.Messages.Count);
        Assert.All(schema.Files, f => Assert.All(f.Dependencies, d => Assert.Contains(
            d.Name, schema.Files.TakeWhile(g => g != f).Select(g => g.Name))));
    }

    [Fact]
    public static void The_roots_are_what_nothing_imports()
    {
        byte[] bytes = RpcSchema.Load([TestProtos.PathOf("everything_proto3.proto")]).ToDescriptorSet();

        Assert.Equal(["everything_proto3.proto"], RpcSchema.FromDescriptorSet(bytes).RootFiles);
    }

    [Theory]
    [InlineData("everything_proto3.proto")]
    [InlineData("everything_proto2.proto")]
    [InlineData("custom_options.proto")]
    public static void A_set_that_lacks_only_well_known_files_is_completed(string name)
    {
        RpcSchema whole = RpcSchema.Load([TestProtos.PathOf(name)]);
        FileDescriptorSet set = FileDescriptorSet.Parser.ParseFrom(whole.ToDescriptorSet());
        FileDescriptorSet part = new();
        part.File.AddRange(set.File.Where(file => !WellKnownFiles.Contains(file.Name)));

        RpcSchema completed = RpcSchema.FromDescriptorSet(part.ToByteArray());

        Assert.Equal(
            whole.Files.Select(file => file.Name).Order(), completed.Files.Select(file => file.Name).Order());
        Assert.Equal(whole.RootFiles, completed.RootFiles);
        Assert.Equal(whole.ToProtoText(name), completed.ToProtoText(name));
    }

    [Fact]
    public static void Each_well_known_file_is_found_with_what_it_imports()
    {
        string[] names =
        [
            "any", "api", "descriptor", "duration", "empty", "field_mask", "source_context", "struct",
            "timestamp", "type", "wrappers",
        ];
        foreach (string name in names)
        {
            FileDescriptorSet set = new()
            {
                File =
                {
                    new FileDescriptorProto
                    {
                        Name = "a.proto",
                        Dependency = { $"google/protobuf/{name}.proto" },
                    },
                },
            };

            Assert.Equal(["a.proto"], RpcSchema.FromDescriptorSet(set.ToByteArray()).RootFiles);
        }
    }

    [Fact]
    public static void A_missing_import_is_named_with_the_file_that_wants_it()
    {
        RpcException e =
            AssertRefused(new FileDescriptorProto { Name = "a.proto", Dependency = { "b.proto" } });

        Assert.Contains("'a.proto' imports 'b.proto'", e.Message, StringComparison.Ordinal);
        Assert.Contains("--include_imports", e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void A_circle_of_imports_is_named()
    {
        RpcException e = AssertRefused(
            new FileDescriptorProto { Name = "a.proto", Dependency = { "b.proto" } },
            new FileDescriptorProto { Name = "b.proto", Dependency = { "a.proto" } });

        Assert.Contains("a.proto -> b.proto -> a.proto", e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void The_same_file_twice_is_one_and_two_of_a_name_are_an_error()
    {
        FileDescriptorProto file =
            new() { Name = "a.proto", MessageType = { new DescriptorProto { Name = "A" } } };

        RpcSchema schema = RpcSchema.FromDescriptorSet(SetOf(file, file));
        RpcException e = AssertRefused(file, new FileDescriptorProto { Name = "a.proto" });

        Assert.Single(schema.Messages);
        Assert.Contains("'a.proto'", e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void A_set_that_is_cut_anywhere_is_an_error_or_a_shorter_set()
    {
        byte[] bytes = RpcSchema.Load([Path.Combine(TestProtos.Shipped, "search.proto")]).ToDescriptorSet();

        for (int length = 0; length < bytes.Length; length++)
        {
            RpcException e =
                Assert.Throws<RpcException>(() => RpcSchema.FromDescriptorSet(bytes.AsSpan(0, length)));
            Assert.Equal("SchemaError", e.ErrorId);
        }
    }

    [Fact]
    public static void A_set_with_flipped_bits_is_an_error_or_a_schema()
    {
        byte[] bytes = TestProtos.Everything.ToDescriptorSet();
        Random random = new(20240607);
        int refused = 0;
        for (int i = 0; i < 60; i++)
        {
            byte[] damaged = [.. bytes];
            damaged[random.Next(damaged.Length)] ^= (byte)(1 << random.Next(8));
            try
            {
                UseEverything(RpcSchema.FromDescriptorSet(damaged));
            }
            catch (RpcException)
            {
                refused++;
            }
        }

        Assert.InRange(refused, 1, 59);
    }

    [Theory]
    [InlineData("hello, this is no descriptor set")]
    [InlineData("{\"file\": []}")]
    [InlineData("syntax = \"proto3\";")]
    public static void What_is_no_set_is_an_error_that_tells_how_to_make_one(string text)
    {
        using TempFolder folder = new();
        string path = folder.Write("a.pb", text);

        RpcException e = Assert.Throws<RpcException>(() => RpcSchema.Load([path]));

        Assert.Equal(RpcStatusCode.InvalidArgument, e.Code);
        Assert.Contains(path, e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void An_empty_file_is_no_set()
    {
        using TempFolder folder = new();

        RpcException e = Assert.Throws<RpcException>(() => RpcSchema.Load([folder.Write("a.pb", "")]));

        Assert.Contains("contains no file", e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void Messages_nested_without_end_do_not_end_the_process()
    {
        // By hand, as the library refuses to write what is nested so deep:
        // field 3 of a message is a nested one.
        byte[] inner = [0x0A, 0x01, 0x41];
        for (int i = 0; i < 20_000; i++)
        {
            inner = [0x0A, 0x01, 0x41, 0x1A, .. Varint(inner.Length), .. inner];
            if (inner.Length > 200_000)
            {
                break;
            }
        }

        byte[] file = [0x0A, 0x01, 0x61, 0x22, .. Varint(inner.Length), .. inner];
        byte[] set = [0x0A, .. Varint(file.Length), .. file];

        Assert.Equal(
            "SchemaError", Assert.Throws<RpcException>(() => RpcSchema.FromDescriptorSet(set)).ErrorId);
    }

    [Fact]
    public static void A_long_chain_of_imports_is_linked()
    {
        FileDescriptorProto[] files =
        [
            .. Enumerable.Range(0, 5_000).Select(i => new FileDescriptorProto
            {
                Name = $"{i}.proto",
                Dependency = { i == 4_999 ? [] : [$"{i + 1}.proto"] },
            }),
        ];

        RpcSchema schema = RpcSchema.FromDescriptorSet(SetOf(files));

        Assert.Equal("4999.proto", schema.Files[0].Name);
        Assert.Equal(["0.proto"], schema.RootFiles);
    }

    [Fact]
    public static void A_long_chain_of_public_imports_is_refused()
    {
        FileDescriptorProto[] files =
        [
            .. Enumerable.Range(0, 100_000).Select(i => new FileDescriptorProto
            {
                Name = $"{i}.proto",
                Dependency = { i == 0 ? [] : [$"{i - 1}.proto"] },
                PublicDependency = { i == 0 ? [] : [0] },
            }),
        ];

        Assert.Contains("public imports", AssertRefused(files).Message, StringComparison.Ordinal);
    }

    public static TheoryData<string, DescriptorProto> Senseless() => new()
    {
        { "p.M.a", Message(new FieldDescriptorProto { Name = "a", Number = 0, Type = Type.Int32 }) },
        { "536870912", Message(
            new FieldDescriptorProto { Name = "a", Number = 536870912, Type = Type.Int32 }) },
        {
            "number 1", Message(
                new FieldDescriptorProto { Name = "a", Number = 1, Type = Type.Int32 },
                new FieldDescriptorProto { Name = "b", Number = 1, Type = Type.Int32 })
        },
        {
            ".No", Message(
                new FieldDescriptorProto { Name = "a", Number = 1, Type = Type.Message, TypeName = ".No" })
        },
        { "p.M.a", Message(
            new FieldDescriptorProto { Name = "a", Number = 1, Type = Type.Int32, OneofIndex = 3 }) },
        { "not a valid identifier", new DescriptorProto { Name = "A {} message B" } },
        {
            "'x'", Message(
                new FieldDescriptorProto { Name = "a", Number = 1, Type = Type.Int32, DefaultValue = "x" })
        },
        {
            "map's entry", new DescriptorProto { Name = "M",
                Options = new MessageOptions { MapEntry = true } }
        },
        {
            "p.M.E", new DescriptorProto
            {
                Name = "M",
                EnumType = { new EnumDescriptorProto { Name = "E" } },
            }
        },
    };

    [Theory]
    [MemberData(nameof(Senseless))]
    public static void A_descriptor_that_makes_no_sense_is_refused_by_name(
        string named, DescriptorProto message)
    {
        RpcException e = AssertRefused(
            new FileDescriptorProto { Name = "a.proto", Package = "p", MessageType = { message } });

        Assert.Equal("SchemaError", e.ErrorId);
        Assert.Contains("a.proto", e.Message, StringComparison.Ordinal);
        Assert.Contains(named, e.Message, StringComparison.OrdinalIgnoreCase);
    }

    [Fact]
    public static void Comments_and_defaults_that_are_not_UTF_8_are_read_as_well_as_it_goes()
    {
        using TempFolder folder = new();
        string path = folder.Write(
            "latin.proto",
            """
            syntax = "proto2";
            // One caf?.
            message M { optional string s = 1 [default = "caf?"]; }
            """);
        byte[] text = File.ReadAllBytes(path);
        text.AsSpan().Replace((byte)'?', (byte)0xE9);
        File.WriteAllBytes(path, text);

        RpcMessageInfo message = RpcSchema.Load([path]).GetMessage("M");

        Assert.Equal("One caf\uFFFD.", message.Comment);
        Assert.Equal("caf\uFFFD", message.Fields[0].DefaultValue);
    }

    [Theory]
    [InlineData("proto4", 0, "proto4")]
    [InlineData("editions", 0, "edition 0")]
    [InlineData("editions", 4711, "edition 4711")]
    [InlineData("editions", (int)Edition.Proto3, "2023, 2024 and 2026 are")]
    [InlineData("editions", (int)Edition.Unstable, "edition 9999")]
    public static void An_unknown_syntax_or_edition_is_refused(string syntax, int edition, string named)
    {
        FileDescriptorProto file = new() { Name = "a.proto", Syntax = syntax, Edition = (Edition)edition };

        Assert.Contains(named, AssertRefused(file).Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void Two_extensions_of_a_number_in_two_files_are_refused_by_name()
    {
        FileDescriptorProto first = FileWithExtendable("a.proto", "x");
        FileDescriptorProto second = new()
        {
            Name = "b.proto",
            Package = "p",
            Dependency = { "a.proto" },
            Extension = { Extension("y") },
        };

        RpcException e = AssertRefused(first, second);

        Assert.Equal(
            "b.proto: the extension 'p.y' has the number 100 of 'p.M', which 'p.x' has already.", e.Message);
    }

    [Fact]
    public static void Two_extensions_of_a_number_are_refused_by_name()
    {
        FileDescriptorProto file = FileWithExtendable("a.proto", "x", "y");

        RpcException e = AssertRefused(file);

        Assert.Equal("a.proto: 'y' has the number 100 of 'p.M', which 'x' has already.", e.Message);
    }

    [Fact]
    public static void Generated_descriptors_bring_what_they_import()
    {
        RpcSchema schema =
            RpcSchema.FromDescriptors(ApiReflection.Descriptor, TimestampReflection.Descriptor);

        Assert.Equal(["google/protobuf/api.proto", "google/protobuf/timestamp.proto"], schema.RootFiles);
        Assert.Contains("google/protobuf/any.proto", schema.Files.Select(f => f.Name));
        RpcMessageInfo api = schema.GetMessage("google.protobuf.Api");
        Assert.Equal("google.protobuf.Mixin", api.FindField("mixins")!.TypeName);
        Assert.Same(
            ApiReflection.Descriptor, schema.Files.Single(f => f.Name == "google/protobuf/api.proto"));
    }

    private static FieldDescriptorProto Extension(string name) => new()
    {
        Name = name,
        Number = 100,
        Extendee = ".p.M",
        Label = Label.Optional,
        Type = Type.Int32,
    };

    private static FileDescriptorProto FileWithExtendable(string name, params string[] extensions) => new()
    {
        Name = name,
        Package = "p",
        MessageType =
        {
            new DescriptorProto
            {
                Name = "M",
                ExtensionRange = { new DescriptorProto.Types.ExtensionRange { Start = 100, End = 200 } },
            },
        },
        Extension = { extensions.Select(Extension) },
    };

    private static DescriptorProto Message(params FieldDescriptorProto[] fields)
    {
        DescriptorProto message = new() { Name = "M" };
        foreach (FieldDescriptorProto field in fields)
        {
            field.Label = Label.Optional;
            message.Field.Add(field);
        }

        return message;
    }

    private static RpcException AssertRefused(params FileDescriptorProto[] files)
    {
        RpcException e = Assert.Throws<RpcException>(() => RpcSchema.FromDescriptorSet(SetOf(files)));
        Assert.Equal(RpcStatusCode.InvalidArgument, e.Code);
        return e;
    }

    private static byte[] SetOf(params FileDescriptorProto[] files)
    {
        FileDescriptorSet set = new();
        set.File.AddRange(files);
        return set.ToByteArray();
    }

    private static byte[] Varint(int value)
    {
        byte[] bytes = new byte[CodedOutputStream.ComputeInt32Size(value)];
        using CodedOutputStream output = new(bytes);
        output.WriteInt32(value);
        output.Flush();
        return bytes;
    }

    private static void UseEverything(RpcSchema schema)
    {
        int sum = 0;
        foreach (RpcMessageInfo message in schema.Messages)
        {
            sum += message.Options.Count + message.Oneofs.Count + message.Comment.Length;
            foreach (RpcFieldInfo field in message.Fields.Concat(message.Extensions))
            {
                sum += field.TypeName.Length + field.Options.Count + field.Comment.Length;
                sum += field.DefaultValue is null ? 0 : 1;
                sum += field.EnumType?.Values.Count ?? field.MessageType?.Fields.Count ?? 0;
            }
        }

        sum += schema.Services.Sum(s => s.Methods.Count + s.Options.Count);
        sum += schema.ToProtoTexts().Sum(t => t.Value.Length);
        Debug.Assert(sum > 0);
    }
}

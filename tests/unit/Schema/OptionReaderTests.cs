using Google.Protobuf;
using Google.Protobuf.Reflection;
using Type = Google.Protobuf.Reflection.FieldDescriptorProto.Types.Type;

namespace ProtoRpc.Tests.Schema;

public static class OptionReaderTests
{
    [Fact]
    public static void Every_scalar_kind_is_read()
    {
        IReadOnlyDictionary<string, object?> options =
            TestProtos.Everything.GetMessage("everything.proto2.Options").FindField("scalars")!.Options;

        Assert.Equal(int.MinValue, options["[everything.options.int32_option]"]);
        Assert.Equal(long.MinValue, options["[everything.options.int64_option]"]);
        Assert.Equal(uint.MaxValue, options["[everything.options.uint32_option]"]);
        Assert.Equal(ulong.MaxValue, options["[everything.options.uint64_option]"]);
        Assert.Equal(-1, options["[everything.options.sint32_option]"]);
        Assert.Equal(-2L, options["[everything.options.sint64_option]"]);
        Assert.Equal(3U, options["[everything.options.fixed32_option]"]);
        Assert.Equal(4UL, options["[everything.options.fixed64_option]"]);
        Assert.Equal(-5, options["[everything.options.sfixed32_option]"]);
        Assert.Equal(-6L, options["[everything.options.sfixed64_option]"]);
        Assert.Equal(1.5f, options["[everything.options.float_option]"]);
        Assert.Equal(double.NegativeInfinity, options["[everything.options.double_option]"]);
        Assert.Equal(true, options["[everything.options.bool_option]"]);
        Assert.Equal("it's", options["[everything.options.string_option]"]);
        Assert.Equal(new byte[] { 0, 255 }, options["[everything.options.bytes_option]"]);
        Assert.Equal("HIGH", options["[everything.options.enum_option]"]);
    }

    [Fact]
    public static void Repeated_options_are_arrays_and_built_in_ones_have_bare_names()
    {
        IReadOnlyDictionary<string, object?> options =
            TestProtos.Everything.GetMessage("everything.proto2.Options").FindField("lists")!.Options;

        Assert.Equal(new object[] { 1, 2 }, options["[everything.options.repeated_option]"]);
        Assert.Equal(new object[] { "a", "b" }, options["[everything.options.repeated_text]"]);
        Assert.Equal(true, options["packed"]);
        Assert.Equal(true, options["deprecated"]);
    }

    [Fact]
    public static void An_option_that_is_set_in_parts_is_one_message()
    {
        IReadOnlyDictionary<string, object?> options =
            TestProtos.Everything.GetMessage("everything.proto2.Options").FindField("parts")!.Options;

        Dictionary<string, object?> note = Nested(options, "[everything.options.field_note]");
        Assert.Equal("part", note["text"]);
        Assert.Equal("by extension", note["[everything.options.extra]"]);
        Assert.Equal("HIGH", Nested(Nested(note, "inner"), "inner")["level"]);
    }

    [Fact]
    public static void An_aggregate_is_read_with_all_that_is_in_it()
    {
        Dictionary<string, object?> note = Nested(
            TestProtos.Everything.GetMessage("everything.proto2.Extendable").Options,
            "[everything.options.message_note]");

        Assert.Equal(new object[] { 1, 2, 3 }, note["list"]);
        Assert.Equal(new object[] { 7U, 8U }, note["packed_list"]);
        Assert.Equal("group", Nested(note, "detail")["what"]);
        Assert.Equal(99L, note["right"]);
        Assert.Equal(6, Nested(note, "[everything.options.Scope.scope]")["depth"]);
        Assert.Equal(1, Nested(note, "counts")["one"]);
        Assert.Equal(2, Nested(note, "counts")["two"]);
        Assert.Equal(false, Nested(Nested(note, "notes"), "-1")["flag"]);
    }

    [Fact]
    public static void Every_kind_of_element_has_its_options()
    {
        RpcSchema schema = TestProtos.Everything;

        Assert.Equal(
            5, schema.GetMethod("everything.proto2.Calls/BothStream").Options["[everything.options.cost]"]);
        Assert.Equal(
            "NO_SIDE_EFFECTS", schema.GetMethod("everything.proto2.Calls/BothStream")
                .Options["idempotency_level"]);
        RpcServiceInfo service = schema.GetService("everything.proto2.Calls");
        Assert.Equal("service", Nested(service.Options, "[everything.options.service_note]")["text"]);
        RpcEnumInfo color = schema.GetEnum("everything.proto2.Color");
        Assert.Equal("colors", Nested(color.Options, "[everything.options.enum_note]")["text"]);
        RpcOneofInfo oneof = schema.GetMessage("everything.proto2.Choice").Oneofs[0];
        Assert.Equal("one", Nested(oneof.Options, "[everything.options.oneof_note]")["text"]);
        Assert.Equal("verde", color.GetValueOptions("GREEN")["[everything.options.label]"]);
        Assert.Empty(schema.GetMethod("everything.proto2.Calls/Unary").Options);
    }

    [Fact]
    public static void Options_can_be_read_where_nothing_imports_descriptor_proto()
    {
        RpcSchema schema = RpcSchema.Load([TestProtos.PathOf("editions_file_features.proto")]);

        RpcFieldInfo field = schema.GetMessage("Message").FindField("verified")!;

        Assert.Equal("VERIFY", Nested(field.Options, "features")["utf8_validation"]);
    }

    private static Dictionary<string, object?> Nested(
        IReadOnlyDictionary<string, object?> options, string name) =>
        Assert.IsType<Dictionary<string, object?>>(options[name]);

    [Fact]
    public static void An_option_in_thousands_of_parts_is_read_in_proportion_to_their_number()
    {
        const int Parts = 20_000;
        const int Number = 50_000;
        // The option, of two octets: its field 1 is 1.
        byte[] part = [.. TagOf(Number), 2, 1 << 3, 1];
        FileDescriptorProto file = new()
        {
            Name = "parts.proto",
            Dependency = { "google/protobuf/descriptor.proto" },
            MessageType =
            {
                new DescriptorProto
                {
                    Name = "Opt",
                    Field = { new FieldDescriptorProto { Name = "a", Number = 1, Type = Type.Int32 } },
                },
                new DescriptorProto
                {
                    Name = "M",
                    Options = MessageOptions.Parser.ParseFrom(
                        [.. Enumerable.Repeat(part, Parts).SelectMany(octets => octets)]),
                },
            },
            Extension =
            {
                new FieldDescriptorProto
                {
                    Name = "opt",
                    Number = Number,
                    Extendee = ".google.protobuf.MessageOptions",
                    Type = Type.Message,
                    TypeName = ".Opt",
                },
            },
        };
        RpcMessageInfo message = RpcSchema.FromDescriptorSet(new FileDescriptorSet
        {
            File = { DescriptorReflection.Descriptor.ToProto(), file },
        }.ToByteArray()).GetMessage("M");
        long before = GC.GetAllocatedBytesForCurrentThread();

        object? option = message.Options["[opt]"];

        Assert.InRange(GC.GetAllocatedBytesForCurrentThread() - before, 0, 50_000_000);
        Assert.Equal(1, Assert.IsAssignableFrom<IReadOnlyDictionary<string, object?>>(option)["a"]);
    }

    private static byte[] TagOf(int number)
    {
        using MemoryStream bytes = new();
        using (CodedOutputStream output = new(bytes))
        {
            output.WriteTag(number, WireFormat.WireType.LengthDelimited);
        }

        return bytes.ToArray();
    }
}

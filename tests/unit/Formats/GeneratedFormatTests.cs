using System.Buffers;
using System.Text;
using Google.Protobuf;
using ProtoRpc.Formats.Generated;
using ProtoRpc.Tests.Messages;
using static ProtoRpc.Tests.Formats.GeneratedCases;

namespace ProtoRpc.Tests.Formats;

/// <summary>Messages of generated classes are written field by field, and nothing tells them from dynamic
/// ones.</summary>
public static class GeneratedFormatTests
{
    public static TheoryData<string> Names => GeneratedCases.Names;

    [Theory]
    [MemberData(nameof(Names))]
    public static void A_generated_message_is_written_as_the_dynamic_one(string name)
    {
        foreach ((IMessage generated, DynamicMessage dynamic) in MessagesOf(name))
        {
            foreach (MessageFormat format in MessageFormats.All)
            {
                foreach (FormatOptions options in Options)
                {
                    Assert.Equal(Written(format, dynamic, options), Written(format, generated, options));
                }
            }
        }
    }

    [Fact]
    public static void Only_messages_with_extensions_of_the_schema_go_by_their_binary_form()
    {
        string[] byBinary = [.. Types
            .Where(type => GeneratedType.For(LayoutOf(type), New(type)) is null)
            .Select(type => type.FullName)];

        Assert.Equal(
            "everything.proto2.Extendable, everything.proto3.Singular", string.Join(", ", byBinary));
    }

    [Fact]
    public static void Unknown_fields_are_printed_as_those_of_a_dynamic_message()
    {
        // Fields 100, 101 and 102 of a message, and 103 of one in it.
        byte[] bytes = TestMessages.Bytes(
            "0A 01 61 12 06 0A 01 62 B8 06 05 A0 06 01 AA 06 02 08 01 B5 06 01000000");
        Everything.Proto3.Leaf generated = Everything.Proto3.Leaf.Parser.ParseFrom(bytes);
        DynamicMessage dynamic = DynamicMessage.Parse(TestMessages.Type("proto3.Leaf"), bytes.AsSpan());

        string text = MessageFormats.Text.ToText(generated, Options[0]);

        Assert.Contains("103: 5", text, StringComparison.Ordinal);
        Assert.Equal(MessageFormats.Text.ToText(dynamic), text);
        Assert.Equal(
            "text: \"a\"\nchild {\n  text: \"b\"\n}\n",
            MessageFormats.Text.ToText(generated, new FormatOptions { PrintUnknownFields = false }));
    }

    [Fact]
    public static void Numbers_that_a_closed_enum_does_not_have_are_unknown_fields()
    {
        Everything.Proto2.Repeated generated = new()
        {
            FEnum = { Everything.Proto2.Color.Red, (Everything.Proto2.Color)77 },
        };
        Everything.Proto2.Maps map = new() { StringEnum = { ["a"] = (Everything.Proto2.Size)9 } };

        Assert.Equal("{\"fEnum\":[\"RED\"]}", MessageFormats.Json.ToText(generated, Options[0]));
        Assert.Equal("f_enum: RED\n14: 77\n", MessageFormats.Text.ToText(generated, Options[0]));
        Assert.Equal("{}", MessageFormats.Json.ToText(map, Options[0]));
        Assert.Equal(
            "{}", MessageFormats.Json.ToText(
                new Everything.Proto2.Singular { FEnum = (Everything.Proto2.Color)77 }, Options[0]));
    }

    [Fact]
    public static void Missing_required_fields_are_named_as_those_of_a_dynamic_message()
    {
        Everything.Proto2.Required message = new()
        {
            Id = 1,
            Name = "",
            Place = new() { X = 1 },
            Leaf = new(),
            Color = Everything.Proto2.Color.Red,
            More = { new Everything.Proto2.Required { Id = 2 }, new Everything.Proto2.Required() },
        };
        DynamicMessage dynamic = new(TestMessages.Type("proto2.Required"));
        dynamic.MergeFrom(message.ToByteArray());

        foreach (MessageFormat format in MessageFormats.All.Where(f => f != MessageFormats.Form))
        {
            string wanted = Written(format, dynamic, Options[0]);
            Assert.StartsWith("MissingRequiredField Required.more[0].name", wanted, StringComparison.Ordinal);
            Assert.Equal(wanted, Written(format, message, Options[0]));
        }
    }

    [Fact]
    public static void Half_of_a_surrogate_pair_is_written_as_in_the_binary_form()
    {
        Everything.Proto3.Repeated message = new() { FString = { "a\uD800", "\uDE00b" } };
        Everything.Proto3.WellKnown wrapped = new() { StringValue = "\uD800" };

        Assert.Equal(
            "{\"fString\":[\"a\uFFFD\",\"\uFFFDb\"]}",
            MessageFormats.Json.ToText(message, Options[0]));
        Assert.Equal("{\"stringValue\":\"\uFFFD\"}", MessageFormats.Json.ToText(wrapped, Options[0]));
        Assert.Equal(
            "<root><f_string>a\uFFFD</f_string><f_string>\uFFFDb</f_string></root>",
            MessageFormats.Xml.ToText(message, Options[0]));
    }

    [Fact]
    public static void A_message_within_itself_is_refused()
    {
        Everything.Proto3.Leaf message = new();
        message.Child = message;

        foreach (MessageFormat format in (MessageFormat[])
            [MessageFormats.Json, MessageFormats.Xml, MessageFormats.Text])
        {
            Assert.Equal(
                RpcErrorIds.TooDeep,
                Assert.Throws<RpcException>(() => format.ToArray(message, Options[0])).ErrorId);
        }
    }

    [Fact]
    public static void A_class_with_other_fields_than_the_schema_goes_by_its_binary_form()
    {
        RpcSchema other = RpcSchema.FromDescriptors(Everything.Proto3.EverythingProto3Reflection.Descriptor);
        RpcSchema changed = Changed(other);
        Everything.Proto3.Leaf message = new() { Text = "7" };

        Assert.Equal("{\"text\":\"7\"}", MessageFormats.Json.ToText(message, new() { Schema = other }));
        Assert.Equal("{\"text\":\"Nw==\"}", MessageFormats.Json.ToText(message, new() { Schema = changed }));
    }

    [Fact]
    public static void Many_threads_find_the_types_of_a_schema_at_once()
    {
        Everything.Proto3.WellKnown message = new()
        {
            Timestamps = { new Google.Protobuf.WellKnownTypes.Timestamp() },
            Int32Value = 5,
        };
        for (int i = 0; i < 20; i++)
        {
            FormatOptions options = new()
            {
                Schema = RpcSchema.FromDescriptors(
                    Everything.Proto3.EverythingProto3Reflection.Descriptor),
            };
            Parallel.For(0, 8, _ => Assert.Equal(
                "{\"int32Value\":5,\"timestamps\":[\"1970-01-01T00:00:00Z\"]}",
                MessageFormats.Json.ToText(message, options)));
        }
    }

    [Fact]
    public static void Writing_a_generated_message_takes_no_memory_for_each_message_in_it()
    {
        Everything.Proto3.Leaf message = new();
        message.Children.AddRange(
            Enumerable.Range(0, 10_000).Select(_ => new Everything.Proto3.Leaf { Child = new() }));
        ArrayBufferWriter<byte> output = new(1 << 20);
        MessageFormats.Json.Write(message, output, Options[0]);
        output.ResetWrittenCount();
        long before = GC.GetAllocatedBytesForCurrentThread();

        MessageFormats.Json.Write(message, output, Options[0]);

        Assert.InRange(GC.GetAllocatedBytesForCurrentThread() - before, 0, 10_000);
    }

    private static string Written(MessageFormat format, IMessage message, FormatOptions options)
    {
        try
        {
            byte[] bytes = format.ToArray(message, options);
            return format.IsText ? Encoding.UTF8.GetString(bytes) : Convert.ToHexString(bytes);
        }
        catch (RpcException e)
        {
            return $"{e.ErrorId} {e.FieldPath} {e.Message}";
        }
    }
}

using System.Buffers;
using System.Collections;
using static ProtoRpc.Tests.Messages.TestMessages;

namespace ProtoRpc.Tests.Messages;

public static class DynamicMessageDecodeTests
{
    [Theory]
    [InlineData("proto2.Singular", "f_double", "09 000000000000F83F", 1.5)]
    [InlineData("proto2.Singular", "f_float", "15 0000C03F", 1.5f)]
    [InlineData("proto2.Singular", "f_int64", "18 FFFFFFFFFFFFFFFFFF01", -1L)]
    [InlineData("proto2.Singular", "f_uint64", "20 FFFFFFFFFFFFFFFFFF01", ulong.MaxValue)]
    [InlineData("proto2.Singular", "f_int32", "28 9601", 150)]
    [InlineData("proto2.Singular", "f_int32", "28 FFFFFFFF0F", -1)]
    [InlineData("proto2.Singular", "f_int32", "28 FFFFFFFFFFFFFFFFFF01", -1)]
    [InlineData("proto2.Singular", "f_fixed64", "31 0100000000000080", 0x8000000000000001UL)]
    [InlineData("proto2.Singular", "f_fixed32", "3D FFFFFFFF", uint.MaxValue)]
    [InlineData("proto2.Singular", "f_bool", "40 01", true)]
    [InlineData("proto2.Singular", "f_bool", "40 8080808010", true)]
    [InlineData("proto2.Singular", "f_string", "4A 03 E282AC", "€")]
    [InlineData("proto2.Singular", "f_uint32", "68 FFFFFFFFFFFFFFFFFF01", uint.MaxValue)]
    [InlineData("proto2.Singular", "f_enum", "70 03", 3)]
    [InlineData("proto2.Singular", "f_enum", "70 FFFFFFFFFFFFFFFFFF01", -1)]
    [InlineData("proto2.Singular", "f_sfixed32", "7D FEFFFFFF", -2)]
    [InlineData("proto2.Singular", "f_sfixed64", "8101 FEFFFFFFFFFFFFFF", -2L)]
    [InlineData("proto2.Singular", "f_sint32", "8801 03", -2)]
    [InlineData("proto2.Singular", "f_sint64", "9001 FFFFFFFFFFFFFFFFFF01", long.MinValue)]
    public static void A_scalar_is_read(string type, string field, string hex, object expected)
    {
        DynamicMessage message = Parse(type, hex);

        Assert.Equal(expected, message.Get(field));
        Assert.True(message.Has(field));
    }

    [Theory]
    [InlineData("proto2.Repeated", "28 01 28 02", "28 01 28 02")]
    [InlineData("proto2.Repeated", "2A 02 01 02", "28 01 28 02")]
    [InlineData("proto2.Packed", "28 01 2A 01 02", "2A 02 01 02")]
    [InlineData("proto3.Repeated", "2A 01 01 28 02", "2A 02 01 02")]
    [InlineData("proto3.Unpacked", "2A 02 01 02", "28 01 28 02")]
    [InlineData("editions.Repeated", "28 01 28 02", "2A 02 01 02")]
    [InlineData("editions.Expanded", "2A 02 01 02", "28 01 28 02")]
    public static void Packed_and_unpacked_are_read_and_written_as_declared(
        string type, string hex, string written)
    {
        DynamicMessage message = Parse(type, hex);

        Assert.Equal([1, 2], (List<int>)message.Get("f_int32")!);
        Assert.Equal(Compact(written), Hex(message));
    }

    [Fact]
    public static void Packed_fixed_values_are_read_from_several_chunks()
    {
        DynamicMessage message = Parse(
            "proto3.Repeated", "0A 08 000000000000F03F 09 0000000000000040 12 04 0000803F");

        Assert.Equal([1.0, 2.0], (List<double>)message.Get("f_double")!);
        Assert.Equal([1f], (List<float>)message.Get("f_float")!);
    }

    [Fact]
    public static void The_last_scalar_wins_and_messages_are_merged()
    {
        DynamicMessage message = Parse(
            "proto2.Singular", "28 01 28 02 5A 03 0A 01 61 5A 04 12 02 0A 00 4B 08 05 4C");

        Assert.Equal(2, message.Get("f_int32"));
        Assert.Equal("a", ((DynamicMessage)message.Get("f_message")!).Get("text"));
        Assert.True(((DynamicMessage)message.Get("f_message")!).Has("child"));
    }

    [Fact]
    public static void The_last_of_a_oneof_wins()
    {
        DynamicMessage message = Parse("proto2.Choice", "10 05 1A 01 61");

        Assert.False(message.Has("number"));
        Assert.Equal("a", message.Get("word"));
        Assert.Equal("1A0161", Hex(message));
    }

    [Fact]
    public static void A_message_in_a_oneof_merges_with_itself_and_not_across_others()
    {
        DynamicMessage merged = Parse("proto3.Choice", "1A 03 0A 01 61 1A 02 12 00");
        DynamicMessage replaced = Parse("proto3.Choice", "1A 03 0A 01 61 08 01 1A 02 12 00");

        Assert.Equal("1A050A01611200", Hex(merged));
        Assert.Equal("1A021200", Hex(replaced));
    }

    [Fact]
    public static void A_oneof_member_with_its_default_is_there()
    {
        DynamicMessage message = Parse("proto3.Choice", "08 00");

        Assert.True(message.Has("number"));
        Assert.Equal("0800", Hex(message));
    }

    [Fact]
    public static void A_field_without_presence_is_not_there_with_its_default()
    {
        DynamicMessage message = Parse("proto3.Singular", "28 00 4A 00 62 00 09 0000000000000000");

        Assert.False(message.Has("f_int32"));
        Assert.False(message.Has("f_string"));
        Assert.Equal("", message.Get("f_string"));
        Assert.Equal("", Hex(message));
    }

    [Fact]
    public static void Minus_zero_is_not_the_default()
    {
        DynamicMessage message = Parse("proto3.Singular", "09 0000000000000080");

        Assert.True(message.Has("f_double"));
        Assert.Equal("090000000000000080", Hex(message));
    }

    [Theory]
    [InlineData("proto2.Singular", "28 00 4A 00 62 00")]
    [InlineData("proto3.Optional", "28 00 4A 00 62 00")]
    [InlineData("editions.Explicit", "28 00 4A 00 62 00")]
    public static void A_field_with_presence_is_there_with_its_default(string type, string hex)
    {
        DynamicMessage message = Parse(type, hex);

        Assert.True(message.Has("f_int32"));
        Assert.True(message.Has("f_string"));
        Assert.Equal(Compact(hex), Hex(message));
    }

    [Fact]
    public static void Map_entries_keep_their_order_and_the_last_of_a_key_wins()
    {
        DynamicMessage message = Parse(
            "proto3.Maps", "72 06 0A 01 62 12 01 31 72 06 0A 01 61 12 01 32 72 06 0A 01 62 12 01 33");
        IDictionary map = (IDictionary)message.Get("string_string")!;

        Assert.Equal(["b", "a"], map.Keys.Cast<string>());
        Assert.Equal("3", map["b"]);
    }

    [Theory]
    [InlineData("72 00", "", "")]
    [InlineData("72 03 0A 01 61", "a", "")]
    [InlineData("72 03 12 01 61", "", "a")]
    [InlineData("72 06 12 01 61 0A 01 62", "b", "a")]
    [InlineData("72 09 0A 01 61 0A 01 62 12 01 63", "b", "c")]
    [InlineData("72 08 0A 01 61 1A 00 12 01 62", "a", "b")]
    [InlineData("72 08 08 05 0A 01 61 12 01 62", "a", "b")]
    public static void A_map_entry_takes_defaults_and_ignores_what_it_does_not_know(
        string hex, string key, string value)
    {
        IDictionary map = (IDictionary)Parse("proto3.Maps", hex).Get("string_string")!;

        Assert.Equal(value, map[key]);
        Assert.Single(map);
    }

    [Fact]
    public static void A_map_entry_without_its_message_has_an_empty_one()
    {
        IDictionary map = (IDictionary)Parse("proto3.Maps", "8A01 03 0A 01 61").Get("string_message")!;

        Assert.Equal(new DynamicMessage(Type("proto3.Leaf")), map["a"]);
    }

    [Theory]
    [InlineData("proto2.Singular", "70 63")]
    [InlineData("proto2.Repeated", "70 63")]
    [InlineData("proto2.Choice", "30 63")]
    [InlineData("editions.Explicit", "9801 63")]
    [InlineData("proto2.Maps", "8201 05 0A 01 61 10 63")]
    [InlineData("editions.Maps", "1A 04 08 01 10 63")]
    public static void A_number_that_a_closed_enum_lacks_is_unknown_and_kept(string type, string hex)
    {
        DynamicMessage message = Parse(type, hex);

        Assert.DoesNotContain(message.Type.Fields, message.Has);
        Assert.Equal(Bytes(hex), message.UnknownFieldBytes.ToArray());
        Assert.Equal(Compact(hex), Hex(message));
    }

    [Fact]
    public static void Packed_numbers_that_a_closed_enum_lacks_are_kept_one_by_one()
    {
        DynamicMessage message = Parse("proto2.Packed", "72 03 01 63 02");

        Assert.Equal([1, 2], (List<int>)message.Get("f_enum")!);
        Assert.Equal("720201027063", Hex(message));
    }

    [Theory]
    [InlineData("proto3.Singular", "70 63", "f_enum")]
    [InlineData("editions.Explicit", "70 63", "f_open")]
    public static void An_open_enum_takes_any_number(string type, string hex, string field)
    {
        DynamicMessage message = Parse(type, hex);

        Assert.Equal(99, message.Get(field));
        Assert.Equal(Compact(hex), Hex(message));
    }

    [Theory]
    [InlineData("F8FF01 01")]
    [InlineData("F8FF01 8180808000")]
    [InlineData("F9FF01 0102030405060708")]
    [InlineData("FAFF01 02 0102")]
    [InlineData("FBFF01 08 01 13 14 FCFF01")]
    [InlineData("FDFF01 01020304")]
    [InlineData("2D 01020304")]
    [InlineData("2A 02 0102")]
    [InlineData("48 01")]
    [InlineData("58 01 5D 01020304")]
    public static void What_the_type_does_not_have_is_kept_byte_by_byte(string hex)
    {
        DynamicMessage message = Parse("proto2.Singular", hex + "28 01");

        Assert.Equal(Bytes(hex), message.UnknownFieldBytes.ToArray());
        Assert.Equal(1, message.Get("f_int32"));
        Assert.Equal("2801" + Compact(hex), Hex(message));
    }

    [Theory]
    [InlineData("proto2.Singular", "53 08 07 54", "f_group")]
    [InlineData("proto2.Singular", "53 08 07 13 08 08 14 54", "f_group")]
    [InlineData("editions.Explicit", "53 08 07 54", "delimited")]
    [InlineData("proto2.Singular", "53 08 07 F8FF01 01 54", "f_group")]
    public static void A_group_is_read(string type, string hex, string field)
    {
        DynamicMessage message = Parse(type, hex);

        RpcFieldInfo group = message.Type.Fields.Single(f => f.Kind == RpcFieldKind.Group && f.Number == 10);
        Assert.Equal(field.Replace("_", ""), group.Name.Replace("_", ""), ignoreCase: true);
        Assert.Equal(7, ((DynamicMessage)message.Get(group)!).Get("a"));
        Assert.Equal(Compact(hex), Hex(message));
    }

    [Fact]
    public static void Extensions_are_fields()
    {
        const string hex = "A206 01 61 8007 07 8008 01 8008 02 F8FFFFFF0F 09";

        DynamicMessage message = Parse("proto2.Extendable", hex);

        Assert.Equal("a", message.Get("[everything.proto2.Extendable.nested_extension]"));
        Assert.Equal(7L, message.Get("[everything.proto2.x_int64]"));
        Assert.Equal([1, 2], (List<int>)message.Get("[everything.proto2.x_repeated]")!);
        Assert.Equal(9, message.Get("[everything.proto2.far]"));
        Assert.Equal(Compact(hex), Hex(message));
    }

    [Fact]
    public static void An_extension_that_is_absent_reads_as_its_default()
    {
        DynamicMessage message = new(Type("proto2.Extendable"));

        Assert.Equal(42, message.Get("[everything.proto2.x_int32]"));
        Assert.Equal("hi", message.Get("[everything.proto2.x_string]"));
        Assert.False(message.Has("[everything.proto2.x_int32]"));
    }

    [Theory]
    [InlineData("proto2.Singular", "4A 02 61 FF", "f_string")]
    [InlineData("editions.Strings", "12 02 61 FF", "unverified")]
    public static void Text_that_is_not_UTF_8_is_otherwise_read_as_well_as_it_goes(
        string type, string hex, string field)
    {
        Assert.Equal("a\uFFFD", Parse(type, hex).Get(field));
    }

    [Fact]
    public static void Bytes_in_many_segments_are_read()
    {
        byte[] bytes = Bytes("28 9601 4A 03 E282AC");
        TestSegment first = new(bytes.AsMemory(0, 1));
        TestSegment last = first;
        for (int i = 1; i < bytes.Length; i++)
        {
            last = last.Append(bytes.AsMemory(i, 1));
        }

        DynamicMessage message = DynamicMessage.Parse(
            Type("proto2.Singular"), new ReadOnlySequence<byte>(first, 0, last, 1));

        Assert.Equal(150, message.Get("f_int32"));
        Assert.Equal("€", message.Get("f_string"));
    }

    private sealed class TestSegment : ReadOnlySequenceSegment<byte>
    {
        public TestSegment(ReadOnlyMemory<byte> memory) => Memory = memory;

        public TestSegment Append(ReadOnlyMemory<byte> memory)
        {
            TestSegment next = new(memory) { RunningIndex = RunningIndex + Memory.Length };
            Next = next;
            return next;
        }
    }
}

using System.Buffers;
using System.Collections;
using Google.Protobuf;
using ProtoRpc.Tests.Formats;
using ProtoRpc.Tests.Schema;
using static ProtoRpc.Tests.Messages.TestMessages;

namespace ProtoRpc.Tests.Messages;

public static class DynamicMessageTests
{
    private static readonly RpcMessageInfo Leaf = Type("proto2.Leaf");

    [Fact]
    public static void An_absent_field_reads_as_its_default()
    {
        DynamicMessage message = new(Type("proto2.Defaults"));

        Assert.Equal(-1.5e+300, message.Get("f_double"));
        Assert.Equal(long.MinValue, message.Get("f_int64"));
        Assert.Equal(true, message.Get("f_bool"));
        Assert.Equal(3, message.Get("f_enum"));
        Assert.StartsWith("quo\"te", (string)message.Get("f_string")!);
        Assert.Equal(new byte[] { 0, 1, 255 }, ((byte[])message.Get("f_bytes")!)[..3]);
        Assert.Empty(message.ToByteArray());
    }

    [Fact]
    public static void A_default_of_bytes_cannot_be_changed_through_a_message()
    {
        DynamicMessage message = new(Type("proto2.Defaults"));
        ((byte[])message.Get("f_bytes")!)[0] = 99;

        Assert.Equal(0, ((byte[])message.Get("f_bytes")!)[0]);
    }

    [Fact]
    public static void Numbers_and_bools_are_set_without_boxes()
    {
        RpcMessageInfo type = Type("proto2.Defaults");
        RpcFieldInfo[] fields = [.. ((string[])
            ["f_double", "f_float", "f_int64", "f_uint64", "f_int32", "f_fixed32", "f_bool", "f_enum"])
            .Select(name => type.FindField(name)!)];
        DynamicMessage message = new(type);
        Fill();
        long before = GC.GetAllocatedBytesForCurrentThread();
        Fill();
        long allocated = GC.GetAllocatedBytesForCurrentThread() - before;

        Assert.Equal(0, allocated);
        Assert.Equal(
            [2.5, 1.5f, -7L, 7UL, -8, 8U, false, 2], fields.Select(field => message.Get(field)!));

        void Fill()
        {
            message.Set(fields[0], 2.5);
            message.Set(fields[1], 1.5f);
            message.Set(fields[2], -7L);
            message.Set(fields[3], 7UL);
            message.Set(fields[4], -8);
            message.Set(fields[5], 8U);
            message.Set(fields[6], false);
            message.Set(fields[7], 2);
        }
    }

    [Fact]
    public static void A_number_of_another_type_is_refused()
    {
        RpcMessageInfo type = Type("proto2.Defaults");
        DynamicMessage message = new(type);

        foreach ((string name, Action<RpcFieldInfo> set) in ((string, Action<RpcFieldInfo>)[])
        [
            ("f_int32", field => message.Set(field, 1L)),
            ("f_int64", field => message.Set(field, 1)),
            ("f_bool", field => message.Set(field, 1)),
            ("f_double", field => message.Set(field, 1f)),
            ("f_enum", field => message.Set(field, 99)),
            ("f_string", field => message.Set(field, 'c')),
            ("f_int32", field => message.Set(field, DayOfWeek.Friday)),
        ])
        {
            RpcException e = Assert.Throws<RpcException>(() => set(type.FindField(name)!));
            Assert.Equal("InvalidFieldValue", e.ErrorId);
            Assert.False(message.Has(name));
        }
    }

    [Fact]
    public static void Absent_messages_lists_and_maps_are_null_and_empty()
    {
        Assert.Null(new DynamicMessage(Leaf).Get("child"));
        Assert.Empty((IEnumerable)new DynamicMessage(Type("proto2.Repeated")).Get("f_double")!);
        Assert.Empty((IDictionary)new DynamicMessage(Type("proto2.Maps")).Get("string_bool")!);
    }

    [Theory]
    [InlineData("f_double", 2.5)]
    [InlineData("f_float", 2.5f)]
    [InlineData("f_int64", -7L)]
    [InlineData("f_uint64", 7UL)]
    [InlineData("f_int32", -7)]
    [InlineData("f_fixed64", 7UL)]
    [InlineData("f_fixed32", 7U)]
    [InlineData("f_bool", true)]
    [InlineData("f_string", "text")]
    [InlineData("f_bytes", new byte[] { 1 })]
    [InlineData("f_uint32", 7U)]
    [InlineData("f_enum", 2)]
    [InlineData("f_sfixed32", -7)]
    [InlineData("f_sfixed64", -7L)]
    [InlineData("f_sint32", -7)]
    [InlineData("f_sint64", -7L)]
    public static void What_is_set_is_there_until_it_is_cleared(string field, object value)
    {
        DynamicMessage message = new(Type("proto2.Singular"));
        RpcFieldInfo info = message.Type.FindField(field)!;

        message.Set(info, value);

        Assert.True(message.Has(info));
        Assert.Equal(value, message.Get(info));
        Assert.Equal(message, DynamicMessage.Parse(message.Type, message.ToByteArray().AsSpan()));

        message.Clear(info);

        Assert.False(message.Has(info));
        Assert.Equal(new DynamicMessage(message.Type), message);
    }

    [Theory]
    [InlineData("f_int32", 1L, "Int32")]
    [InlineData("f_int64", 1, "Int64")]
    [InlineData("f_double", 1f, "Double")]
    [InlineData("f_string", 'a', "String")]
    [InlineData("f_bool", 1, "Boolean")]
    [InlineData("f_bytes", "AA==", "Byte[]")]
    [InlineData("f_message", "x", "everything.proto2.Leaf")]
    public static void A_value_of_another_type_is_refused(string field, object value, string expected)
    {
        DynamicMessage message = new(Type("proto2.Singular"));

        RpcException e = Assert.Throws<RpcException>(() => message.Set(field, value));

        Assert.Equal("InvalidFieldValue", e.ErrorId);
        Assert.Contains(expected, e.Message);
        Assert.Contains(value.GetType().FullName!, e.Message);
    }

    [Fact]
    public static void A_list_of_another_type_or_with_null_is_refused()
    {
        DynamicMessage message = new(Type("proto2.Repeated"));

        Assert.Throws<RpcException>(() => message.Set("f_int32", new long[] { 1 }));
        Assert.Throws<RpcException>(() => message.Set("f_string", new string?[] { null }));
        Assert.Throws<RpcException>(() => message.Set("f_message", new[] { message }));
        Assert.Throws<RpcException>(() => message.Set("f_enum", new[] { 99 }));
    }

    [Fact]
    public static void A_closed_enum_refuses_a_number_that_it_lacks()
    {
        DynamicMessage message = new(Type("proto2.Singular"));

        Assert.Contains("closed", Assert.Throws<RpcException>(() => message.Set("f_enum", 99)).Message);
    }

    [Fact]
    public static void A_field_of_another_type_or_schema_is_refused()
    {
        DynamicMessage message = new(Leaf);
        RpcSchema other = RpcSchema.FromDescriptorSet(TestProtos.Everything.ToDescriptorSet());
        RpcFieldInfo sameName = other.GetMessage("everything.proto2.Leaf").FindField("text")!;

        Assert.Throws<RpcException>(() => message.Get(Type("proto2.Choice").FindField("word")!));
        Assert.Contains(
            "in this schema", Assert.Throws<RpcException>(() => message.Set(sameName, "x")).Message);
    }

    [Fact]
    public static void A_member_of_a_oneof_clears_the_others()
    {
        DynamicMessage message = new(Type("proto2.Choice"));

        message.Set("number", 1);
        message.Set("this_one", 2);
        message.Set("leaf", new DynamicMessage(Leaf));
        Assert.False(message.Has("number"));
        Assert.True(message.Has("leaf"));
        message.Set("flag", false);
        Assert.False(message.Has("leaf"));
        Assert.True(message.Has("flag"));
        Assert.True(message.Has("this_one"));
        Assert.Equal("40005002", Hex(message));
    }

    [Fact]
    public static void Types_with_more_than_64_fields_keep_presence_of_each()
    {
        DynamicMessage message = new(Type("proto2.Extendable"));
        IEnumerable<RpcFieldInfo> fields = message.Type.Extensions
            .Where(field => field.Kind == RpcFieldKind.Int32 && !field.IsRepeated);
        foreach (RpcFieldInfo field in fields)
        {
            message.Set(field, 0);
            Assert.True(message.Has(field));
            message.Clear(field);
            Assert.False(message.Has(field));
        }
        Assert.Empty(message.ToByteArray());
    }

    [Fact]
    public static void A_list_that_was_got_may_be_changed_and_one_that_was_given_is_copied()
    {
        DynamicMessage message = new(Type("proto3.Repeated"));
        List<int> given = [1];
        message.Set("f_int32", given);

        given.Add(9);
        ((List<int>)message.Get("f_int32")!).Add(2);

        Assert.Equal("2A020102", Hex(message));
        ((List<int>)message.Get("f_int32")!).Clear();
        Assert.False(message.Has("f_int32"));
        Assert.Empty(message.ToByteArray());
    }

    [Fact]
    public static void Equality_is_of_contents_and_maps_have_no_order()
    {
        RpcMessageInfo type = Type("proto3.Maps");
        DynamicMessage left = new(type);
        DynamicMessage right = new(type);
        left.Set("string_string", new Dictionary<string, string> { ["a"] = "1", ["b"] = "2" });
        right.Set("string_string", new Dictionary<string, string> { ["b"] = "2", ["a"] = "1" });

        Assert.Equal(left, right);
        Assert.Equal(left.GetHashCode(), right.GetHashCode());
        right.Set("string_string", new Dictionary<string, string> { ["b"] = "2", ["a"] = "3" });
        Assert.NotEqual(left, right);
    }

    [Theory]
    [InlineData("proto2.Singular", "28 01", "28 02")]
    [InlineData("proto2.Singular", "28 00", "")]
    [InlineData("proto2.Singular", "4A 01 61", "4A 01 62")]
    [InlineData("proto2.Singular", "62 01 61", "62 01 62")]
    [InlineData("proto2.Singular", "5A 00", "")]
    [InlineData("proto2.Singular", "F8FF01 01", "F8FF01 02")]
    [InlineData("proto2.Singular", "09 0000000000000080", "09 0000000000000000")]
    [InlineData("proto2.Repeated", "28 01 28 02", "28 02 28 01")]
    [InlineData("proto2.Repeated", "09 0000000000000000", "")]
    [InlineData("proto2.Repeated", "15 00000080", "15 00000000")]
    [InlineData("proto2.Leaf", "1A 00", "1A 00 1A 00")]
    public static void Messages_that_differ_are_not_equal(string type, string left, string right)
    {
        Assert.NotEqual(Parse(type, left), Parse(type, right));
        Assert.Equal(Parse(type, left), Parse(type, left));
        Assert.Equal(Parse(type, left).GetHashCode(), Parse(type, left).GetHashCode());
    }

    [Fact]
    public static void A_clone_shares_nothing()
    {
        DynamicMessage message = new RandomMessages(5).Make(Type("proto2.Maps"));
        message.Set("string_bytes", new Dictionary<string, byte[]> { ["k"] = [1] });
        message.Set("string_message", new Dictionary<string, DynamicMessage> { ["k"] = new(Leaf) });
        DynamicMessage clone = message.Clone();

        ((byte[])((IDictionary)clone.Get("string_bytes")!)["k"]!)[0] = 2;
        ((DynamicMessage)((IDictionary)clone.Get("string_message")!)["k"]!).Set("text", "changed");

        Assert.Equal(1, ((byte[])((IDictionary)message.Get("string_bytes")!)["k"]!)[0]);
        Assert.False(((DynamicMessage)((IDictionary)message.Get("string_message")!)["k"]!).Has("text"));
    }

    [Fact]
    public static void Merging_messages_is_merging_their_bytes()
    {
        RandomMessages random = new(11);
        string[] names =
            ["proto2.Singular", "proto2.Repeated", "proto2.Maps", "proto2.Choice", "proto3.Choice"];
        foreach (string name in names)
        {
            DynamicMessage first = random.Make(Type(name));
            DynamicMessage second = random.Make(Type(name));
            DynamicMessage expected = DynamicMessage.Parse(
                first.Type, [.. first.ToByteArray(), .. second.ToByteArray()]);

            first.MergeFrom(second);

            Assert.Equal(expected, first);
        }
    }

    [Fact]
    public static void A_message_of_another_type_is_not_merged()
    {
        Assert.Throws<RpcException>(
            () => new DynamicMessage(Leaf).MergeFrom(new DynamicMessage(Type("proto3.Leaf"))));
    }

    [Fact]
    public static void Google_Protobuf_reads_and_writes_it()
    {
        RandomMessages random = new(3);
        string[] names = ["proto2.Singular", "proto2.Repeated", "proto3.Maps", "editions.Explicit"];
        foreach (string name in names)
        {
            RpcMessageInfo type = Type(name);
            DynamicMessage message = random.Make(type);
            message.MergeFrom(Bytes(
                "FBFF01 08 01 13 14 FCFF01 FAFF01 02 0102 F9FF01 0102030405060708 FDFF01 01020304").AsSpan());
            byte[] bytes = message.ToByteArray();
            MessageParser<DynamicMessage> parser = new(() => new DynamicMessage(type));
            ArrayBufferWriter<byte> output = new();
            MemoryStream stream = new();

            MessageExtensions.WriteTo(message, output);
            MessageExtensions.WriteTo(message, stream);

            Assert.Equal(bytes, output.WrittenSpan.ToArray());
            Assert.Equal(bytes, stream.ToArray());
            Assert.Equal(bytes, MessageExtensions.ToByteArray(message));
            Assert.Equal(bytes.Length, message.CalculateSize());
            Assert.Equal(message, parser.ParseFrom(bytes));
            Assert.Equal(message, parser.ParseFrom(new MemoryStream(bytes)));
        }
    }

    [Fact]
    public static void Google_Protobuf_is_told_of_malformed_bytes()
    {
        MessageParser<DynamicMessage> parser = new(() => new DynamicMessage(Type("proto3.Singular")));

        Assert.Throws<RpcException>(() => parser.ParseFrom(Bytes("4A 01 FF")));
        Assert.Throws<InvalidProtocolBufferException>(() => parser.ParseFrom(Bytes("4A 05 FF")));
    }

    [Fact]
    public static void A_message_that_contains_itself_is_refused_and_does_not_crash()
    {
        DynamicMessage message = new(Leaf);
        message.Set("child", message);

        Assert.Equal("TooDeep", Assert.Throws<RpcException>(message.ToByteArray).ErrorId);
        Assert.Equal(
            "TooDeep", Assert.Throws<RpcException>(() => new MessageMapper().ToObject(message)).ErrorId);
        Assert.EndsWith("}", message.ToString());
    }

    [Fact]
    public static void Writing_to_a_buffer_gives_the_bytes_and_their_number()
    {
        DynamicMessage message = new RandomMessages(9).Make(Type("proto3.Repeated"));
        ArrayBufferWriter<byte> output = new();

        int written = message.WriteTo(output);

        Assert.Equal(message.ToByteArray(), output.WrittenSpan.ToArray());
        Assert.Equal(written, output.WrittenCount);
    }

    [Fact]
    public static void A_message_larger_than_the_first_buffer_is_written_whole()
    {
        DynamicMessage message = new(Type("proto3.Repeated"));
        message.Set("f_string", Enumerable.Range(0, 20_000).Select(i => $"string {i} é").ToArray());
        message.Set("f_bytes", new[] { new byte[1_000_000], [1] });

        Assert.Equal(message, DynamicMessage.Parse(message.Type, message.ToByteArray().AsSpan()));
    }

    [Fact]
    public static void Text_shows_fields_and_what_is_unknown()
    {
        DynamicMessage message = Parse("proto2.Singular", "28 01 4A 03 61 22 0A 70 01 53 08 07 54 F8FF01 01");

        Assert.Equal(
            "f_int32: 1 f_string: \"a\\\"\\n\" fgroup { a: 7 } f_enum: RED # 4 unknown bytes",
            message.ToString());
        Assert.Equal(message.ToString(), message.ToDiagnosticString());
    }

    [Fact]
    public static void Text_shows_bytes_as_the_text_format_does()
    {
        DynamicMessage message = new(Type("proto3.Singular"));
        message.Set("f_bytes", new byte[] { (byte)'h', (byte)'"', (byte)'\\', 0, 10, 0x7F, 0xFF });

        string text = message.ToString();

        Assert.Equal("f_bytes: \"h\\\"\\\\\\000\\012\\177\\377\"", text);
        Assert.Equal(message, MessageFormats.Text.Read("proto3.Singular", text));
    }

    [Fact]
    public static void Layouts_are_made_once_by_many_threads()
    {
        RpcSchema schema = RpcSchema.FromDescriptorSet(TestProtos.Everything.ToDescriptorSet());
        RpcMessageInfo type = schema.GetMessage("everything.proto2.Singular");
        byte[] bytes = new RandomMessages(1).Make(type).ToByteArray();

        DynamicMessage[] messages = new DynamicMessage[64];
        Parallel.For(0, messages.Length, i => messages[i] = DynamicMessage.Parse(type, bytes.AsSpan()));

        Assert.All(messages, message => Assert.Equal(messages[0], message));
    }
}

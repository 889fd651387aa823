using System.Collections;
using System.Text;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using ProtoRpc.Tests.Schema;
using static ProtoRpc.Tests.Messages.TestMessages;

namespace ProtoRpc.Tests.Messages;

public static class MessageSetTests
{
    // The items as protoc writes them: group 1 { type_id = 2, message = 3 }.
    private const string Note = "0B 10 E807 1A 03 0A 01 61 0C";
    private const string Strict = "0B 10 D00F 1A 04 08 05 10 06 0C";
    private const string Far = "0B 10 80A8D6B907 1A 02 08 07 0C";
    private const string Wrapped = "0B 10 E88780 8002 1A 03 0A 01 62 0C";

    private static readonly string File = TestProtos.PathOf("message_sets.proto");
    private static readonly RpcSchema Schema = RpcSchema.Load([File]);
    private static readonly RpcMessageInfo Set = Schema.GetMessage("sets.Set");
    private static readonly MessageMapper Mapper = new();

    [Theory]
    [InlineData(Note, "sets.Note.note")]
    [InlineData(Strict, "sets.strict")]
    [InlineData(Far, "sets.far")]
    [InlineData(Wrapped, "sets.wrapped")]
    public static void An_item_is_the_extension_of_its_type_id(string hex, string extension)
    {
        DynamicMessage set = Parse(hex);

        Assert.True(set.Has($"[{extension}]"));
        Assert.True(set.UnknownFieldBytes.IsEmpty);
        Assert.Equal(Compact(hex), Hex(set));
    }

    [Theory]
    [InlineData("0B 1A 03 0A 01 61 10 E807 0C")]
    [InlineData("0B 10 E807 10 D00F 1A 03 0A 01 61 1A 01 FF 0C")]
    [InlineData("0B 1A 03 0A 01 61 1A 01 FF 10 E807 10 D00F 0C")]
    [InlineData("0B 20 01 10 E807 2B 08 01 2C 1A 03 0A 01 61 32 01 00 0C")]
    [InlineData("C23E 03 0A 01 61")]
    [InlineData("C23E 03 0A 01 62 0B 1A 03 0A 01 61 10 E807 0C")]
    [InlineData("0B 10 E887808080808080 8001 1A 03 0A 01 61 0C")]
    public static void Items_of_other_writers_are_read_too(string hex)
    {
        Assert.Equal(Compact(Note), Hex(Parse(hex)));
    }

    [Fact]
    public static void Items_of_one_type_are_merged_in_their_order()
    {
        DynamicMessage set =
            Parse("0B 10 D00F 1A 04 08 05 10 06 0C 827D 02 10 07 0B 1A 04 08 01 10 08 10 D00F 0C");

        Assert.Equal("sets.strict", Assert.Single(Set.Extensions, set.Has).FullName);
        Assert.Equal(Compact("0B 10 D00F 1A 08 08 01 10 06 10 07 10 08 0C"), Hex(set));
    }

    [Theory]
    [InlineData("0B 10 05 1A 02 00 63 0C")]
    [InlineData("0B 1A 02 00 63 10 05 0C")]
    [InlineData("0B 20 01 10 8500 1A 82 00 00 63 2B 2C 0C")]
    [InlineData("0B 10 FFFFFFFF0F 1A 00 0C")]
    [InlineData("2A 01 61")]
    [InlineData("0D 01000000 0A 00")]
    public static void An_unknown_type_id_keeps_its_bytes(string hex)
    {
        DynamicMessage set = Parse(hex);

        Assert.Equal(Compact(hex), Convert.ToHexString(set.UnknownFieldBytes));
        Assert.Equal(Compact(hex), Hex(set));
        Assert.Equal(Compact(Note + hex), Hex(Parse(hex + Note)));
        Assert.Equal(Compact(hex), Hex(Mapper.ToMessage(Set, Mapper.ToObject(set))));
    }

    [Theory]
    [InlineData("0B 10 E807 0C")]
    [InlineData("0B 1A 01 FF 0C")]
    [InlineData("0B 0C")]
    public static void An_item_without_type_or_message_is_left_out(string hex)
    {
        Assert.Equal("", Hex(Parse(hex)));
    }

    [Theory]
    [InlineData("0B 10 E807 1A 03 0A 02 61 0C", "length of 2")]
    [InlineData("0B 10 E807 1A 02 00 63 0C", "number 0")]
    [InlineData("0B 1A 02 00 63 10 E807 0C", "number 0")]
    [InlineData("C23E 02 00 63", "number 0")]
    [InlineData("0B 10 00 1A 00 0C", "type id 0")]
    [InlineData("0B 10 8080808010 1A 00 0C", "type id 0")]
    [InlineData("0B 10 E807 1A 03 0A 01 61", "end in the middle of an item")]
    [InlineData("0B 10 E807 1A 05 0A 01 61 0C", "length of 5")]
    [InlineData("0B 10 E807 1A 00 14", "did not begin")]
    [InlineData("0B 10 E807 1B 1C 1E 0C", "wire type 6")]
    public static void A_malformed_item_is_refused(string hex, string reason)
    {
        RpcException e = Assert.Throws<RpcException>(() => Parse(hex));

        Assert.Equal("MalformedMessage", e.ErrorId);
        Assert.Contains(reason, e.Message);
    }

    [Fact]
    public static void A_required_field_in_an_item_must_be_there()
    {
        RpcException e = Assert.Throws<RpcException>(() => Parse("0B 10 D00F 1A 02 10 06 0C"));

        Assert.Equal("MissingRequiredField", e.ErrorId);
        Assert.Equal("Set.[sets.strict].id", e.FieldPath);
    }

    [Theory]
    [InlineData(50, true)]
    [InlineData(51, false)]
    [InlineData(2_000, false)]
    public static void Sets_nest_as_deep_as_all_messages(int count, bool isRead)
    {
        // A set, its note, the set in that: two messages each. As items in order, as items with the type at
        // the end, and as plain extensions.
        Func<byte[], byte[]>[] forms =
        [
            inner => [0x0B, 0x10, 0xE8, 0x07, 0x1A, .. Length(inner), .. inner, 0x0C],
            inner => [0x0B, 0x1A, .. Length(inner), .. inner, 0x10, 0xE8, 0x07, 0x0C],
            inner => [0xC2, 0x3E, .. Length(inner), .. inner],
        ];
        foreach (Func<byte[], byte[]> form in forms)
        {
            byte[] note = [];
            byte[] set = form(note);
            for (int i = 1; i < count; i++)
            {
                note = [0x12, .. Length(set), .. set];
                set = form(note);
            }

            if (isRead)
            {
                DynamicMessage message = DynamicMessage.Parse(Set, set.AsSpan());
                Assert.Equal(message, DynamicMessage.Parse(Set, message.ToByteArray().AsSpan()));
                Assert.Equal(message.ToByteArray().Length, message.CalculateSize());
                Assert.Equal(message, MessageFormats.Json.Read(Set, MessageFormats.Json.ToText(message)));
                Assert.Equal(message, Mapper.ToMessage(Set, Mapper.ToObject(message)));
            }
            else
            {
                Assert.Equal("TooDeep", Assert.Throws<RpcException>(
                    () => DynamicMessage.Parse(Set, set.AsSpan())).ErrorId);
            }
        }
    }

    [Fact]
    public static void Protoc_reads_and_writes_the_same()
    {
        ProtocCodec protoc = new(File, "sets.Holder");
        byte[] bytes = Bytes("0A 2E" + Note + Strict + Wrapped + Far + "12 01 7A");
        DynamicMessage holder = DynamicMessage.Parse(Schema.GetMessage("sets.Holder"), bytes.AsSpan());

        string text = MessageFormats.Text.ToText(holder);

        Assert.Equal(Encoding.UTF8.GetString(protoc.Decode(bytes)).ReplaceLineEndings("\n"), text);
        Assert.Equal(
            Convert.ToHexString(bytes), Convert.ToHexString(protoc.Encode(Encoding.UTF8.GetBytes(text))));
        Assert.Equal(Convert.ToHexString(bytes), Hex(holder));
        Assert.Equal(holder, MessageFormats.Text.Read(holder.Type, text));
        Assert.Contains("[sets.Note] {", text);
    }

    [Theory]
    [InlineData("Json", """{"[sets.Note.note]":{"text":"a"},"[sets.strict]":{"id":5,"numbers":[6]}}""")]
    [InlineData("Json", """{"[sets.Note]":{"text":"a"},"[sets.strict]":{"id":5,"numbers":[6]}}""")]
    [InlineData("Text", """[sets.Note] { text: "a" } [sets.strict] { id: 5 numbers: 6 }""")]
    [InlineData("Text", """[sets.Note.note] { text: "a" } [sets.strict] { id: 5 numbers: 6 }""")]
    public static void A_set_is_read_from_text(string format, string text)
    {
        DynamicMessage set = Named(format).Read(Set, text);

        Assert.Equal(Compact(Note + Strict), Hex(set));
        Assert.Equal(set, Named(format).Read(Set, Named(format).ToText(set)));
    }

    [Fact]
    public static void A_set_is_written_as_json_by_the_name_of_its_extensions()
    {
        Assert.Equal(
            """{"[sets.Note.note]":{"text":"a"},"[sets.far]":{"id":7}}""",
            MessageFormats.Json.ToText(Parse(Note + Far)));
    }

    [Fact]
    public static void A_set_is_written_as_xml_and_read_again()
    {
        DynamicMessage set = Parse(Note + Strict + Far);

        Assert.Equal(set, MessageFormats.Xml.Read(Set, MessageFormats.Xml.ToText(set)));
    }

    [Fact]
    public static void A_set_is_an_object_with_its_extensions_as_members()
    {
        DynamicMessage set = Parse(Note + Strict);

        IDictionary shown = (IDictionary)Mapper.ToObject(set);
        DynamicMessage byType = Mapper.ToMessage(Set, new Hashtable
        {
            ["[sets.Note]"] = new Hashtable { ["text"] = "a" },
            ["[sets.strict]"] = new Hashtable { ["id"] = 5, ["numbers"] = 6 },
        });

        Assert.Equal(["[sets.Note.note]", "[sets.strict]"], shown.Keys.Cast<string>());
        Assert.Equal(set, Mapper.ToMessage(Set, shown));
        Assert.Equal(set, byType);
    }

    [Fact]
    public static void The_schema_of_a_set_is_written_as_text_that_compiles_to_it()
    {
        using TempFolder folder = new();
        folder.Write("sets.proto", System.IO.File.ReadAllText(File)
            .Replace("4 to max", "4 to 1999999999, 2000000000"));
        RpcSchema schema = RpcSchema.Load([Path.Combine(folder.Path, "sets.proto")]);

        IReadOnlyList<string> written = schema.WriteProtoFiles(Path.Combine(folder.Path, "again"));

        RpcSchema again = RpcSchema.Load(written);
        Assert.Equal(
            FileDescriptorSet.Parser.ParseFrom(schema.ToDescriptorSet()).File[0].MessageType,
            FileDescriptorSet.Parser.ParseFrom(again.ToDescriptorSet()).File[0].MessageType);
        Assert.True(again.GetMessage("sets.Set").IsMessageSet);
    }

    [Fact]
    public static void Long_items_take_time_in_proportion()
    {
        byte[] item = Bytes("0B 1A 03 0A 01 61 10 E807 0C");
        byte[] many = [.. Enumerable.Repeat(item, 200_000).SelectMany(bytes => bytes)];

        DynamicMessage set = DynamicMessage.Parse(Set, many.AsSpan());

        Assert.Equal(Compact(Note), Hex(set));
    }

    [Theory]
    [InlineData("optional int32 x = 1;", "optional M x = 5;", "Wrong.x: MessageSet")]
    [InlineData("", "repeated M x = 5;", "is not an optional message")]
    [InlineData("", "optional int32 x = 5;", "is not an optional message")]
    public static void A_set_that_could_not_be_sent_is_no_schema(
        string field, string extension, string reason)
    {
        // protoc refuses such a file, so the option is set in what it has made.
        using TempFolder folder = new();
        string file = folder.Write(
            "wrong.proto",
            $$"""
            syntax = "proto2";
            message M {}
            message Wrong { {{field}} extensions 4 to 100; }
            extend Wrong { {{(extension.Length > 0 ? extension : "optional M x = 5;")}} }
            """);
        FileDescriptorSet set = FileDescriptorSet.Parser.ParseFrom(RpcSchema.Load([file]).ToDescriptorSet());
        set.File.Single(f => f.Name == "wrong.proto").MessageType[1].Options =
            new() { MessageSetWireFormat = true };

        RpcException e = Assert.Throws<RpcException>(() => RpcSchema.FromDescriptorSet(set.ToByteArray()));

        Assert.Contains(reason, e.Message);
    }

    private static DynamicMessage Parse(string hex) => DynamicMessage.Parse(Set, Bytes(hex).AsSpan());

    private static MessageFormat Named(string name) =>
        name == "Json" ? MessageFormats.Json : MessageFormats.Text;

    private static byte[] Length(byte[] bytes)
    {
        List<byte> length = [];
        uint left = (uint)bytes.Length;
        for (; left >= 0x80; left >>= 7)
        {
            length.Add((byte)(left | 0x80));
        }
        return [.. length, (byte)left];
    }
}

using System.Buffers;
using System.Text;
using Google.Protobuf.Reflection;
using Google.Protobuf.WellKnownTypes;
using ProtoRpc.Tests.Messages;

namespace ProtoRpc.Tests.Formats;

public static class MessageFormatsTests
{
    private static readonly string[] Types =
    [
        "proto2.Singular", "proto2.Repeated", "proto2.Packed", "proto2.Maps", "proto2.Choice",
        "proto2.Required",
        "proto2.Extendable", "proto3.Singular", "proto3.Optional", "proto3.Repeated", "proto3.Maps",
        "proto3.Names",
        "editions.Explicit", "editions.Implicit", "editions.Repeated", "editions.Maps", "editions.Extendable",
    ];

    public static TheoryData<string> TextFormats => new("Json", "Xml", "Text");

    [Theory]
    [InlineData("json", "Json")]
    [InlineData("application/JSON; charset=utf-8", "Json")]
    [InlineData("text/xml", "Xml")]
    [InlineData(" application/xml ;q=1", "Xml")]
    [InlineData("application/x-protobuf", "Binary")]
    [InlineData("application/proto", "Binary")]
    [InlineData("application/x-www-form-urlencoded", "Form")]
    [InlineData("text/html", null)]
    [InlineData("", null)]
    public static void Finds_a_format_by_name_and_media_type(string wanted, string? name)
    {
        MessageFormats.TryFind(wanted, out MessageFormat? format);

        Assert.Equal(name, format?.Name);
    }

    [Theory]
    [InlineData("a/reply.json", "Json")]
    [InlineData("REPLY.XML", "Xml")]
    [InlineData("x.txtpb", "Text")]
    [InlineData("x.binpb", "Binary")]
    [InlineData("x.txt", null)]
    public static void Finds_a_format_by_the_ending_of_a_file(string file, string? name)
    {
        MessageFormats.TryFindByFile(file, out MessageFormat? format);

        Assert.Equal(name, format?.Name);
    }

    [Fact]
    public static void No_two_rows_of_the_table_say_the_same()
    {
        string[] all =
        [
            .. MessageFormats.All.Select(f => f.Name),
            .. MessageFormats.All.SelectMany(f => f.MediaTypes),
            .. MessageFormats.All.SelectMany(f => f.FileExtensions),
            .. MessageFormats.All.Select(f => f.Row.ConnectName).OfType<string>(),
        ];

        Assert.Equal(all.Length, all.Distinct(StringComparer.Ordinal).Count());
        Assert.Equal(["Binary", "Json", "Xml", "Form", "Text"], MessageFormats.All.Select(f => f.Name));
        Assert.Equal(["Xml", "Json", "Binary", "Form"], MessageFormats.OfHttp.Select(f => f.Name));
        Assert.All(MessageFormats.All, f => Assert.Contains(f.MediaType.Split(';')[0], f.MediaTypes));
    }

    [Theory]
    [MemberData(nameof(TextFormats))]
    public static void Reads_random_messages_as_it_wrote_them(string name)
    {
        MessageFormats.TryFind(name, out MessageFormat? format);
        RandomMessages random = new(20251121);
        foreach (string type in Types)
        {
            for (int i = 0; i < 20; i++)
            {
                DynamicMessage message = random.Make(TestMessages.Type(type));
                string text;
                try
                {
                    text = format!.ToText(message);
                }
                catch (RpcException e) when (name == "Xml" && e.Message.Contains("XML cannot represent"))
                {
                    // Control characters, which XML has no way to write.
                    continue;
                }
                DynamicMessage read = format.Read(message.Type, text);
                Assert.True(message.Equals(read), $"{type}:\n{message}\nas\n{text}\nread as\n{read}");
            }
        }
    }

    [Theory]
    [MemberData(nameof(TextFormats))]
    public static void Damaged_text_is_read_or_refused_and_nothing_else(string name)
    {
        MessageFormats.TryFind(name, out MessageFormat? format);
        RandomMessages messages = new(7);
        Random random = new(7);
        foreach (string type in Types)
        {
            for (int i = 0; i < 60; i++)
            {
                ArrayBufferWriter<byte> output = new();
                try
                {
                    format!.Write(messages.Make(TestMessages.Type(type)), output);
                }
                catch (RpcException)
                {
                    continue;
                }
                byte[] damaged = Damage(output.WrittenSpan.ToArray(), random);
                Exception? thrown = Record.Exception(() => format.Read(TestMessages.Type(type), damaged));
                Assert.True(
                    thrown is null or RpcException { Code: RpcStatusCode.InvalidArgument },
                    $"{Convert.ToHexString(damaged)}: {thrown}");
            }
        }
    }

    [Fact]
    public static void Generated_messages_go_the_same_way()
    {
        FileDescriptorProto file = new()
        {
            Name = "a.proto",
            MessageType =
                { new DescriptorProto { Name = "M", Field = { new FieldDescriptorProto { Number = 3 } } } },
        };

        foreach (MessageFormat format in MessageFormats.All.Where(f => f != MessageFormats.Form))
        {
            byte[] bytes = format.ToArray(file);
            FileDescriptorProto read = new();
            format.Read(new ReadOnlySequence<byte>(bytes), read);
            Assert.Equal(file, read);
        }
        Assert.Equal(
            """{"name":"a.proto","messageType":[{"name":"M","field":[{"number":3}]}]}""",
            MessageFormats.Json.ToText(file));
    }

    [Fact]
    public static void Generated_well_known_types_have_their_own_shapes()
    {
        Struct value = new() { Fields = { ["a"] = Value.ForList(Value.ForNumber(1), Value.ForNull()) } };

        string json = MessageFormats.Json.ToText(value);
        Struct read = new();
        MessageFormats.Json.Read(new ReadOnlySequence<byte>(Encoding.UTF8.GetBytes(json)), read);

        Assert.Equal("""{"a":[1,null]}""", json);
        Assert.Equal(value, read);
        Assert.Equal(
            "\"0001-01-01T00:00:00Z\"", MessageFormats.Json.ToText(new Timestamp { Seconds = -62135596800 }));
    }

    [Fact]
    public static void The_types_in_an_any_are_found_in_the_schema_that_is_given()
    {
        DynamicMessage leaf = MessageFormats.Json.Read("proto3.Leaf", """{"text":"a"}""");
        Any any = Any.Pack(leaf);
        FormatOptions options = new() { Schema = leaf.Type.Schema };

        Assert.Equal(
            """{"@type":"type.googleapis.com/everything.proto3.Leaf","text":"a"}""",
            MessageFormats.Json.ToText(any, options));
        Assert.Equal(
            """{"@type":"type.googleapis.com/everything.proto3.Leaf","value":"CgFh"}""",
            MessageFormats.Json.ToText(any));
    }

    private static byte[] Damage(byte[] bytes, Random random)
    {
        List<byte> damaged = [.. bytes];
        for (int i = random.Next(1, 4); i > 0 && damaged.Count > 0; i--)
        {
            int at = random.Next(damaged.Count);
            switch (random.Next(4))
            {
                case 0:
                    damaged[at] = (byte)random.Next(256);
                    break;
                case 1:
                    damaged.RemoveAt(at);
                    break;
                case 2:
                    damaged.Insert(at, (byte)"{}[]<>\"':,\\&%#0-e"[random.Next(17)]);
                    break;
                default:
                    damaged.RemoveRange(at, damaged.Count - at);
                    break;
            }
        }
        return [.. damaged];
    }

    [Theory]
    [InlineData("text", "timestamp { year: 2024 }")]
    [InlineData("text", "duration { hours: 5 }")]
    [InlineData("text", "int64_value { number: 5 }")]
    [InlineData("xml", "<root><any><type>a</type></any></root>")]
    [InlineData("xml", "<root><value><number>5</number></value></root>")]
    [InlineData("json", """{"timestamp":{"year":2024}}""")]
    [InlineData("json", """{"int64Value":{"number":5}}""")]
    [InlineData("json", """{"any":{"type":"a"}}""")]
    public static void A_well_known_type_never_ignores_a_name(string format, string text)
    {
        RpcMessageInfo type = Messages.TestMessages.Type("proto3.WellKnown");
        FormatOptions options = new() { IgnoreUnknownFields = true };

        RpcException refused = Assert.Throws<RpcException>(
            () => MessageFormats.Named(format).Read(type, text, options));

        Assert.Equal(RpcStatusCode.InvalidArgument, refused.Code);
    }
}

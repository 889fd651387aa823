using System.Buffers;
using System.Text;
using ProtoRpc.Tests.Messages;

namespace ProtoRpc.Tests.Formats;

/// <summary>Messages in several pieces, as a network brings them, and messages written to streams.</summary>
public static class SequenceTests
{
    private static readonly string[] Types =
        ["proto2.Singular", "proto2.Maps", "proto3.Repeated", "proto3.Names", "editions.Explicit"];

    // Tokens of every kind, which a cut may fall into.
    private const string AllTokens = """
        # a comment, with "quotes" and a \
        f_int32: -0x7F f_double: 1.5e+3 f_float: .25 f_bool: true
        f_string: "a\"b\x41\101\u00e9" 'c # d' # and more
        f_bytes: '\\\'' [everything.proto2.none] : 1 unknown < a: [1, 2.5f], b { c: "x" } >
        f_uint64: 18446744073709551615
        """;

    public static TheoryData<string> Formats => new("Binary", "Json", "Xml", "Text", "Form");

    [Theory]
    [MemberData(nameof(Formats))]
    public static void A_message_in_two_pieces_is_the_same(string name)
    {
        foreach ((DynamicMessage message, byte[] bytes) in Messages(name))
        {
            for (int cut = 0; cut <= bytes.Length; cut += Math.Max(1, bytes.Length / 200))
            {
                DynamicMessage read = FormatOf(name).Read(
                    message.Type, Segments.Of(bytes.AsMemory(0, cut), bytes.AsMemory(cut)));

                Assert.True(message.Equals(read), $"{message.Type.FullName} cut at {cut}");
            }
        }
    }

    [Theory]
    [MemberData(nameof(Formats))]
    public static void A_damaged_message_in_two_pieces_fails_in_the_same_way(string name)
    {
        Random random = new(3);
        foreach ((DynamicMessage message, byte[] bytes) in Messages(name))
        {
            for (int i = 0; i < 40; i++)
            {
                byte[] damaged = [.. bytes];
                damaged[random.Next(damaged.Length)] = (byte)random.Next(256);
                int cut = random.Next(damaged.Length);

                string whole = Outcome(name, message.Type, new ReadOnlySequence<byte>(damaged));
                string pieces = Outcome(
                    name, message.Type, Segments.Of(damaged.AsMemory(0, cut), damaged.AsMemory(cut)));

                Assert.True(
                    whole == pieces, $"{Convert.ToHexString(damaged)} cut at {cut}:\n{whole}\n{pieces}");
            }
        }
    }

    [Theory]
    [MemberData(nameof(Formats))]
    public static void A_message_in_many_pieces_is_the_same(string name)
    {
        foreach ((DynamicMessage message, byte[] bytes) in Messages(name))
        {
            foreach (int size in (int[])[1, 2, 3, 7, 64])
            {
                Assert.Equal(message, FormatOf(name).Read(message.Type, Segments.Pieces(bytes, size)));
            }
        }
    }

    [Fact]
    public static void Tokens_of_text_are_the_same_wherever_they_are_cut()
    {
        byte[] bytes = Encoding.UTF8.GetBytes(AllTokens);
        FormatOptions options = new() { IgnoreUnknownFields = true };
        RpcMessageInfo type = TestMessages.Type("proto2.Singular");
        DynamicMessage whole = MessageFormats.Text.Read(type, bytes, options);
        Assert.Equal("a\"bAA\u00e9c # d", whole["f_string"]);

        for (int cut = 0; cut <= bytes.Length; cut++)
        {
            Assert.Equal(whole, MessageFormats.Text.Read(
                type, Segments.Of(bytes.AsMemory(0, cut), bytes.AsMemory(cut)), options));
        }
        for (int size = 1; size < 20; size++)
        {
            Assert.Equal(whole, MessageFormats.Text.Read(type, Segments.Pieces(bytes, size), options));
        }
    }

    [Fact]
    public static void A_text_cut_off_fails_as_it_does_in_one_piece()
    {
        byte[] bytes = Encoding.UTF8.GetBytes(AllTokens);
        for (int length = 0; length < bytes.Length; length++)
        {
            Assert.Equal(
                Outcome("Text", TestMessages.Type("proto2.Singular"), new(bytes.AsMemory(0, length))),
                Outcome(
                    "Text", TestMessages.Type("proto2.Singular"),
                    Segments.Pieces(bytes.AsMemory(0, length), 3)));
        }
    }

    [Theory]
    [InlineData("Text", "f_string: \"", "\"")]
    [InlineData("Text", "f_string: \"", "")]
    [InlineData("Text", "#", "")]
    [InlineData("Text", "f_uint64: 1", "")]
    [InlineData("Text", "f", ": 1")]
    [InlineData("Form", "f_string=", "")]
    [InlineData("Form", "f", "=1")]
    public static void A_token_in_very_many_pieces_is_read_in_proportion_to_its_length(
        string name, string before, string after)
    {
        byte[] bytes = [.. Encoding.UTF8.GetBytes(before), .. Enumerable.Repeat((byte)'1', 1 << 20),
            .. Encoding.UTF8.GetBytes(after)];
        RpcMessageInfo type = TestMessages.Type("proto2.Singular");
        ReadOnlySequence<byte> pieces = Segments.Pieces(bytes, 16);
        long start = GC.GetAllocatedBytesForCurrentThread();

        Outcome(name, type, pieces);

        // Read again for each of the 65,536 pieces, it would be 32 GiB.
        Assert.InRange(GC.GetAllocatedBytesForCurrentThread() - start, 0, 64 << 20);
    }

    [Fact]
    public static void Errors_name_line_and_column_across_pieces()
    {
        byte[] json = Encoding.UTF8.GetBytes("{\n \"fInt32\": \"x\"\n}");
        for (int cut = 0; cut <= json.Length; cut++)
        {
            ReadOnlySequence<byte> input = Segments.Of(json.AsMemory(0, cut), json.AsMemory(cut));

            RpcException error = Assert.Throws<RpcException>(
                () => MessageFormats.Json.Read(
                    TestMessages.Type("proto3.Singular"), input,
                    new FormatOptions { IgnoreUnknownFields = false }));

            Assert.Contains("line 2, column", error.Message, StringComparison.Ordinal);
        }
    }

    [Theory]
    [MemberData(nameof(Formats))]
    public static void A_stream_gets_the_same_bytes(string name)
    {
        foreach ((DynamicMessage message, byte[] bytes) in Messages(name))
        {
            using MemoryStream stream = new();

            FormatOf(name).Write(message, stream);

            Assert.Equal(bytes, stream.ToArray());
        }
    }

    [Fact]
    public static void A_large_message_goes_to_the_stream_in_blocks()
    {
        DynamicMessage large = MessageFormats.Json.Read(
            RpcSchema.FromDescriptors(
                Google.Protobuf.WellKnownTypes.StructReflection.Descriptor).GetMessage("ListValue"),
            $"[{string.Join(',', Enumerable.Repeat("\"abcdefgh\"", 40_000))}]");
        foreach (string name in (string[])["Json", "Text", "Xml"])
        {
            BlockCount stream = new();

            FormatOf(name).Write(large, stream);

            Assert.InRange(stream.Largest, 1, 64 * 1024);
            Assert.InRange(stream.Total, 400_000, int.MaxValue);
        }
    }

    private static IEnumerable<(DynamicMessage Message, byte[] Bytes)> Messages(string name)
    {
        RandomMessages random = new(11);
        foreach (string type in Types)
        {
            for (int i = 0; i < 4; i++)
            {
                DynamicMessage message = random.Make(TestMessages.Type(type));
                byte[]? bytes = null;
                try
                {
                    bytes = FormatOf(name).ToArray(message);
                }
                catch (RpcException) when (name is "Xml" or "Form")
                {
                    // Control characters, which XML has no way to write; messages, which forms do not hold.
                }

                if (bytes is { Length: > 0 })
                {
                    yield return (message, bytes);
                }
            }
        }
    }

    private static MessageFormat FormatOf(string name) =>
        MessageFormats.TryFind(name, out MessageFormat? format) ? format : throw new ArgumentException(name);

    private static string Outcome(string name, RpcMessageInfo type, ReadOnlySequence<byte> input)
    {
        try
        {
            return FormatOf(name).Read(type, input).ToString();
        }
        catch (RpcException e)
        {
            // What is not JSON is explained by the reader of the runtime, which may quote more or less.
            int where = e.Message.LastIndexOf("(at", StringComparison.Ordinal);
            return $"{e.ErrorId} {e.FieldPath} {(where < 0 ? e.Message : e.Message[where..])}";
        }
    }

    private sealed class BlockCount : MemoryStream
    {
        public int Largest { get; private set; }

        public int Total { get; private set; }

        public override void Write(byte[] buffer, int offset, int count)
        {
            Largest = Math.Max(Largest, count);
            Total += count;
        }
    }
}

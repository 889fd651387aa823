using System.Buffers;
using System.Text;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc.Tests.Messages;

/// <summary>What Google.Protobuf's parser would make of a message is counted before.</summary>
public static class GeneratedLimitsTests
{
    private const int Limit = 100;

    private static readonly RpcMessageInfo Node = MakeNode();

    [Theory]
    [InlineData("0A 04 08 {0} 12 00")]
    [InlineData("3A 04 08 {0} 10 01")]
    public static void Entries_of_a_map_with_numbers_as_keys_are_counted(string entry)
    {
        Check(Many(entry, Limit));

        RequireRefused(Many(entry, Limit + 1));
    }

    [Fact]
    public static void Entries_of_a_map_with_texts_as_keys_are_not()
    {
        Check(Many("22 03 0A 01 {0}", 10 * Limit));
    }

    [Fact]
    public static void A_map_that_comes_in_pieces_is_one_map()
    {
        Check(Many("12 06 0A 04 08 {0} 12 00", Limit));

        RequireRefused(Many("12 06 0A 04 08 {0} 12 00", Limit + 1));
    }

    [Fact]
    public static void Maps_of_elements_are_counted_each_but_not_without_end()
    {
        byte[] element = [0x1A, 0x3C, .. Many("0A 04 08 {0} 12 00", 10)];

        // Ten entries are a hundredth of the square of the limit.
        Check([.. Enumerable.Repeat(element, Limit).SelectMany(b => b)]);
        RequireRefused([.. Enumerable.Repeat(element, Limit + 1).SelectMany(b => b)]);
    }

    [Fact]
    public static void Unknown_fields_are_counted_once_while_they_repeat()
    {
        byte[] different = [.. Enumerable.Range(0, Limit + 1).SelectMany(i => Unknown(1000 + i))];

        Check(different.AsSpan(3));
        Check([.. Enumerable.Repeat(Unknown(1000), 10 * Limit).SelectMany(b => b)]);
        RequireRefused(different);
        RequireRefused([0x2B, .. different, 0x2C]);
        byte[] two = [0x0D, 0, 0, 0, 0, .. Unknown(9)];
        RequireRefused([.. Enumerable.Repeat(two, Limit).SelectMany(b => b)]);
    }

    [Fact]
    public static void Messages_are_counted_with_their_fields()
    {
        byte[] bytes = Many("1A 00", 1000);

        GeneratedLimits.Check(Node, bytes, 8000, int.MaxValue);
        RpcException error = Assert.Throws<RpcException>(
            () => GeneratedLimits.Check(Node, bytes, 7999, int.MaxValue));

        Assert.Equal("TooManyElements", error.ErrorId);
        Assert.Contains("MaxMessageElements", error.Message);
    }

    [Fact]
    public static void The_estimate_by_lengths_changes_no_answer()
    {
        Random random = new(20261130);
        int refused = 0;
        for (int i = 0; i < 150; i++)
        {
            byte[] bytes = MakeAny(random, depth: 0, size: 1 << random.Next(9, 13));
            Tally tally = Tally.Of(bytes);

            // One limit is close to what the message contains.
            double share = 0.6 + (0.6 * random.NextDouble());
            bool isOfElements = random.Next(2) == 0;
            int maxElements = isOfElements ? (int)(tally.Elements * share) : int.MaxValue;
            int maxEntries = isOfElements ? int.MaxValue : (int)(Math.Sqrt(tally.Work) * share);
            bool isOver = tally.Elements > Math.Max(maxElements, bytes.Length / 2)
                || tally.Work > (long)maxEntries * maxEntries;
            refused += isOver ? 1 : 0;

            RpcException? error = Record.Exception(
                () => GeneratedLimits.Check(Node, bytes, maxElements, maxEntries)) as RpcException;

            Assert.Equal(isOver ? "TooManyElements" : null, error?.ErrorId);
        }

        Assert.InRange(refused, 25, 125);
    }

    [Theory]
    [InlineData("1A 05")]
    [InlineData("2B 08 01")]
    [InlineData("07")]
    public static void What_is_no_message_is_refused(string end)
    {
        byte[] bytes = [.. Many("20 00", 10 * Limit), .. TestMessages.Bytes(end)];

        Assert.Equal(
            RpcStatusCode.InvalidArgument,
            Assert.Throws<RpcException>(() => Check(bytes)).Code);
    }

    [Theory]
    [InlineData("Json", "{{\"int64_float\":{{{0}\"-1\":1}}}}", "\"{0}\":1,")]
    [InlineData("Xml", "<a>{0}</a>", "<int64_float><key>{0}</key></int64_float>")]
    [InlineData("Text", "{0}", "int64_float {{ key: {0} }} ")]
    public static void The_limit_holds_in_every_format(string name, string whole, string entry)
    {
        Assert.True(MessageFormats.TryFind(name, out MessageFormat? format));
        FormatOptions options = new() { MaxGeneratedMapEntries = Limit };
        byte[] few = Make(Limit - 1);
        byte[] many = Make(Limit + 1);

        format.Read(new ReadOnlySequence<byte>(few), new Everything.Proto3.Maps(), options);
        format.Read(TestMessages.Type("proto3.Maps"), many.AsMemory(), options);
        RpcException error = Assert.Throws<RpcException>(() => format.Read(
            new ReadOnlySequence<byte>(many), new Everything.Proto3.Maps(), options));

        Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
        Assert.Contains("MaxGeneratedMapEntries", error.Message);

        byte[] Make(int count) => Encoding.UTF8.GetBytes(string.Format(
            null, CompositeFormat.Parse(whole),
            string.Concat(Enumerable.Range(0, count).Select(i =>
                string.Format(null, CompositeFormat.Parse(entry), i)))));
    }

    [Fact]
    public static void The_parser_is_as_slow_as_the_limit_is_for()
    {
        // The worst that the limit lets pass, several times what it takes here.
        byte[] bytes = [.. Enumerable.Range(0, RpcLimits.Default.MaxGeneratedMapEntries)
            .SelectMany(i => new Everything.Proto3.Maps
            {
                Int64Float = { [((long)i << 32) | ((long)i ^ 0x1234567)] = 1 },
            }.ToByteArray())];
        long start = Environment.TickCount64;

        GeneratedLimits.Check(
            TestMessages.Type("proto3.Maps"), bytes, RpcLimits.Default.MaxMessageElements,
            RpcLimits.Default.MaxGeneratedMapEntries);
        Everything.Proto3.Maps read = Everything.Proto3.Maps.Parser.ParseFrom(bytes);

        Assert.Equal(RpcLimits.Default.MaxGeneratedMapEntries, read.Int64Float.Count);
        Assert.InRange(Environment.TickCount64 - start, 0, 5_000);
    }

    [Fact]
    public static void Headers_of_the_native_protocol_are_counted_too()
    {
        byte[] fields = [.. Enumerable.Range(0, RpcLimits.Default.MaxGeneratedMapEntries + 1)
            .SelectMany(i => new Field(600_000 + (i * 17_519 % 500_000_000)).Bytes)];
        byte[] header = [.. Varint((ulong)fields.Length), .. fields];

        RpcException error = Assert.Throws<RpcException>(
            () => NativeHeaders.Read(NativeHeaders.RequestParser, header, out _));

        Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
    }

    private static void Check(ReadOnlySpan<byte> bytes) =>
        GeneratedLimits.Check(Node, bytes, int.MaxValue, Limit);

    private static void RequireRefused(byte[] bytes)
    {
        RpcException error = Assert.Throws<RpcException>(() => Check(bytes));

        Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
        Assert.Equal("TooManyElements", error.ErrorId);
        Assert.Contains("MaxGeneratedMapEntries", error.Message);
    }

    private static byte[] Many(string hex, int count) => [.. Enumerable.Range(0, count).SelectMany(i =>
        TestMessages.Bytes(string.Format(null, CompositeFormat.Parse(hex), $"{i % 128:X2}")))];

    // A random message of the type Node without groups.
    private static byte[] MakeAny(Random random, int depth, int size)
    {
        List<byte> bytes = [];
        while (bytes.Count < size)
        {
            int kind = depth > 5 ? 0 : random.Next(8);
            byte[] part = kind == 0 ? [] : MakeAny(random, depth + 1, random.Next(size / 2));
            bytes.AddRange(kind switch
            {
                0 => Unknown(random.Next(100, 140)),
                1 => [0x12, .. Varint((ulong)part.Length), .. part],
                2 => [0x1A, .. Varint((ulong)part.Length), .. part],
                3 => Entry([0x08, (byte)random.Next(128), 0x12, .. Varint((ulong)part.Length), .. part]),
                _ => [0x1A, 0],
            });
        }

        return [.. bytes];

        static byte[] Entry(byte[] content) => [0x0A, .. Varint((ulong)content.Length), .. content];
    }

    private static byte[] Unknown(int number) => new Field(number).Bytes;

    private static byte[] Varint(ulong value)
    {
        using MemoryStream stream = new();
        using (CodedOutputStream output = new(stream))
        {
            output.WriteUInt64(value);
        }

        return stream.ToArray();
    }

    // What a message without groups contains, counted one by one, by the reader of Google.Protobuf.
    private sealed record Tally(long Elements, long Keys, long WorkBelow)
    {
        public long Work => WorkBelow + (Keys * Keys);

        public static Tally Of(byte[] bytes)
        {
            CodedInputStream input = new(bytes);
            Tally all = new(0, 0, 0);
            uint last = 0;
            while (input.ReadTag() is > 0 and uint tag)
            {
                all = tag switch
                {
                    0x0A => all.WithEntry(OfEntry(input.ReadBytes().ToByteArray())),
                    0x12 => all.WithOwn(Of(input.ReadBytes().ToByteArray())),
                    0x1A => all.WithElement(Of(input.ReadBytes().ToByteArray())),
                    _ => all with { Keys = all.Keys + (tag == last ? 0 : 1) },
                };
                if (tag is not (0x0A or 0x12 or 0x1A))
                {
                    input.SkipLastField();
                    last = tag;
                }
            }

            return all;
        }

        // Its key, and its value, which is a message.
        private static Tally OfEntry(byte[] bytes)
        {
            CodedInputStream input = new(bytes);
            input.ReadTag();
            input.ReadInt64();
            input.ReadTag();
            return new Tally(0, 0, 0).WithOwn(Of(input.ReadBytes().ToByteArray()));
        }

        private Tally WithEntry(Tally entry) =>
            new(Elements + 1 + entry.Elements, Keys + 1, WorkBelow + entry.Work);

        private Tally WithOwn(Tally inner) =>
            new(Elements + 8 + inner.Elements, Keys + inner.Keys, WorkBelow + inner.WorkBelow);

        private Tally WithElement(Tally inner) =>
            new(Elements + 8 + inner.Elements, Keys, WorkBelow + inner.Work);
    }

    private sealed record Field(int Number)
    {
        public byte[] Bytes => [.. Varint((ulong)Number << 3), 1];
    }

    private static RpcMessageInfo MakeNode()
    {
        const FieldDescriptorProto.Types.Label One = FieldDescriptorProto.Types.Label.Optional;
        const FieldDescriptorProto.Types.Label More = FieldDescriptorProto.Types.Label.Repeated;
        DescriptorProto node = new() { Name = "Node" };
        AddMap("numbers", 1, FieldDescriptorProto.Types.Type.Int64, FieldDescriptorProto.Types.Type.Message);
        node.Field.Add(FieldOf("one", 2, One, FieldDescriptorProto.Types.Type.Message, ".Node"));
        node.Field.Add(FieldOf("nodes", 3, More, FieldDescriptorProto.Types.Type.Message, ".Node"));
        AddMap("texts", 4, FieldDescriptorProto.Types.Type.String, FieldDescriptorProto.Types.Type.Int32);
        node.Field.Add(FieldOf("group", 5, One, FieldDescriptorProto.Types.Type.Group, ".Node"));
        node.Field.Add(FieldOf("sizes", 6, More, FieldDescriptorProto.Types.Type.Int32));
        AddMap("colors", 7, FieldDescriptorProto.Types.Type.Int32, FieldDescriptorProto.Types.Type.Int32);
        FileDescriptorProto file = new() { Name = "node.proto", Syntax = "proto2", MessageType = { node } };
        return RpcSchema.FromDescriptorSet(new FileDescriptorSet { File = { file } }.ToByteArray())
            .GetMessage("Node");

        void AddMap(
            string name, int number, FieldDescriptorProto.Types.Type key,
            FieldDescriptorProto.Types.Type value)
        {
            string entry = $"{char.ToUpperInvariant(name[0])}{name[1..]}Entry";
            node.NestedType.Add(new DescriptorProto
            {
                Name = entry,
                Options = new MessageOptions { MapEntry = true },
                Field =
                {
                    FieldOf("key", 1, One, key),
                    FieldOf(
                        "value", 2, One, value,
                        value == FieldDescriptorProto.Types.Type.Message ? ".Node" : null),
                },
            });
            node.Field.Add(FieldOf(
                name, number, More, FieldDescriptorProto.Types.Type.Message, $".Node.{entry}"));
        }
    }

    private static FieldDescriptorProto FieldOf(
        string name, int number, FieldDescriptorProto.Types.Label label,
        FieldDescriptorProto.Types.Type type, string? typeName = null)
    {
        FieldDescriptorProto field = new() { Name = name, Number = number, Label = label, Type = type };
        if (typeName is not null)
        {
            field.TypeName = typeName;
        }

        return field;
    }
}

using System.Buffers;
using System.Text;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using ProtoRpc.Tests.Messages;
using static ProtoRpc.Tests.Formats.GeneratedCases;

namespace ProtoRpc.Tests.Formats;

/// <summary>Readers set the properties of generated messages, and nothing tells what they read from a dynamic
/// message.</summary>
public static class GeneratedReadTests
{
    public static TheoryData<string> Names => GeneratedCases.Names;

    [Theory]
    [MemberData(nameof(Names))]
    public static void A_generated_message_is_read_as_the_dynamic_one(string name)
    {
        foreach ((IMessage generated, DynamicMessage dynamic) in MessagesOf(name))
        {
            foreach (MessageFormat format in MessageFormats.All)
            {
                if (TryWrite(format, dynamic, Options[0]) is not { } bytes)
                {
                    continue;
                }
                IMessage expected = New(generated.Descriptor);
                expected.MergeFrom(format.Read(dynamic.Type, bytes, Options[0]).ToByteArray());
                foreach (int size in (int[])[int.MaxValue, 1, 5])
                {
                    IMessage read = New(generated.Descriptor);
                    format.Read(
                        Segments.Pieces(bytes, Math.Min(size, Math.Max(bytes.Length, 1))), read, Options[0]);
                    Assert.Equal(expected, read);
                    Assert.Equal(expected.ToByteArray(), read.ToByteArray());
                }
            }
        }
    }

    [Theory]
    [InlineData("proto2.Singular")]
    [InlineData("proto3.Optional")]
    [InlineData("proto3.WellKnown")]
    [InlineData("proto3.Choice")]
    public static void A_generated_message_is_the_same_wherever_it_is_cut(string name)
    {
        foreach ((IMessage generated, DynamicMessage dynamic) in MessagesOf($"everything.{name}").Take(3))
        {
            foreach (MessageFormat format in MessageFormats.All)
            {
                if (TryWrite(format, dynamic, Options[0]) is not { Length: > 0 } bytes)
                {
                    continue;
                }
                IMessage expected = New(generated.Descriptor);
                format.Read(new ReadOnlySequence<byte>(bytes), expected, Options[0]);
                for (int cut = 0; cut <= bytes.Length; cut++)
                {
                    IMessage read = New(generated.Descriptor);
                    format.Read(
                        Segments.Of(bytes.AsMemory(0, cut), bytes.AsMemory(cut)), read, Options[0]);
                    Assert.Equal(expected, read);
                }
            }
        }
    }

    [Theory]
    [MemberData(nameof(Names))]
    public static void Damaged_text_is_read_or_refused_as_for_a_dynamic_message(string name)
    {
        Random random = new(name.Length);
        foreach ((IMessage generated, DynamicMessage dynamic) in MessagesOf(name).Take(8))
        {
            foreach (MessageFormat format in MessageFormats.All.Where(format => format.IsText))
            {
                if (TryWrite(format, dynamic, Options[0]) is not { Length: > 0 } bytes)
                {
                    continue;
                }
                for (int i = 0; i < 12; i++)
                {
                    byte[] damaged = Damage(bytes, random);
                    FormatOptions options = Options[0] with { IgnoreUnknownFields = i % 2 == 0 };
                    IMessage read = New(generated.Descriptor);
                    Assert.Equal(
                        Outcome(() => format.Read(dynamic.Type, damaged, options), generated.Descriptor),
                        Outcome(
                            () =>
                            {
                                format.Read(new ReadOnlySequence<byte>(damaged), read, options);
                                return read;
                            },
                            generated.Descriptor));
                }
            }
        }
    }

    [Theory]
    [InlineData("Json", "proto3.Choice", """{"number":1,"word":"a"}""")]
    [InlineData("Json", "proto3.Choice", """{"word":"","leaf":{}}""")]
    [InlineData("Text", "proto3.Choice", "leaf {} number: 0")]
    [InlineData("Json", "proto3.Leaf", """{"text":"a","text":"b"}""")]
    [InlineData("Xml", "proto3.Leaf", "<root><text>a</text><text>b</text></root>")]
    [InlineData("Form", "proto3.Leaf", "text=a&text=b")]
    [InlineData("Text", "proto3.Leaf", "child { text: 'a' } child {}")]
    [InlineData("Json", "proto3.Leaf", """{"child":{"children":[{},{"none":1}]}}""")]
    [InlineData("Json", "proto3.Maps", """{"stringMessage":{"a":{},"a":{}}}""")]
    [InlineData("Json", "proto3.Maps", """{"int32Double":{"1":1,"1":2}}""")]
    [InlineData("Json", "proto2.Singular", """{"fEnum":77}""")]
    [InlineData("Json", "proto2.Maps", """{"stringEnum":{"a":77}}""")]
    [InlineData("Json", "proto2.Required", """{"id":1,"more":[{"id":2}]}""")]
    [InlineData("Text", "proto2.Required", "id: 1 more { id: 2 }")]
    [InlineData("Json", "proto2.Extendable", """{"none":1}""")]
    [InlineData("Json", "proto3.WellKnown", """{"timestamp":"2024-02-30T00:00:00Z"}""")]
    [InlineData("Json", "proto3.WellKnown", """{"any":{"@type":"type.googleapis.com/none.Such"}}""")]
    [InlineData("Json", "proto3.WellKnown", """{"int32Value":4000000000}""")]
    public static void A_generated_message_is_refused_in_the_words_for_a_dynamic_one(
        string name, string type, string text)
    {
        MessageFormat format = MessageFormats.All.Single(format => format.Name == name);
        MessageDescriptor descriptor = Types.Single(known => known.FullName == $"everything.{type}");
        byte[] bytes = Encoding.UTF8.GetBytes(text);

        RpcException expected = Assert.Throws<RpcException>(
            () => format.Read(TestMessages.Type(type), bytes, Options[0]));
        RpcException error = Assert.Throws<RpcException>(
            () => format.Read(new ReadOnlySequence<byte>(bytes), New(descriptor), Options[0]));

        Assert.Equal(
            (expected.ErrorId, expected.FieldPath, expected.Message),
            (error.ErrorId, error.FieldPath, error.Message));
    }

    [Fact]
    public static void Reading_a_generated_message_makes_no_dynamic_one()
    {
        const int Count = 5000;
        Everything.Proto3.Leaf message = new();
        message.Children.AddRange(
            Enumerable.Range(0, Count).Select(_ => new Everything.Proto3.Leaf { Text = "a" }));
        byte[] binary = message.ToByteArray();
        foreach (MessageFormat format in (MessageFormat[])
            [MessageFormats.Json, MessageFormats.Xml, MessageFormats.Text])
        {
            ReadOnlySequence<byte> text = new(format.ToArray(message, Options[0]));
            format.Read(text, new Everything.Proto3.Leaf(), Options[0]);
            long dynamic = Allocated(
                () => format.Read(TestMessages.Type("proto3.Leaf"), text, Options[0]));
            long parsed = Allocated(() => Everything.Proto3.Leaf.Parser.ParseFrom(binary));
            long read = Allocated(() => format.Read(text, new Everything.Proto3.Leaf(), Options[0]));

            // A dynamic message takes more than a hundred bytes beside the generated one.
            long made = Allocated(() => DynamicMessage.Parse(TestMessages.Type("proto3.Leaf"), binary));
            Assert.InRange(read, 0, dynamic - made + parsed + (Count * 50));
        }
    }

    [Fact]
    public static void Fields_that_the_class_has_otherwise_are_merged_in_their_binary_form()
    {
        RpcSchema changed = Changed(
            RpcSchema.FromDescriptors(Everything.Proto3.EverythingProto3Reflection.Descriptor));
        Everything.Proto3.Leaf target = new();

        MessageFormats.Json.Read(
            new ReadOnlySequence<byte>(
                """{"text":"Nw==","children":[{"child":{"text":"OA=="}}]}"""u8.ToArray()),
            target, new FormatOptions { Schema = changed });

        Assert.Equal("7", target.Text);
        Assert.Equal("8", Assert.Single(target.Children).Child.Text);
    }

    [Theory]
    [InlineData("Json", "{\"child\":", "{}", "}")]
    [InlineData("Xml", "<child>", "", "</child>")]
    [InlineData("Text", "child{", "", "}")]
    public static void Messages_that_are_nested_too_deep_are_refused(
        string name, string open, string inner, string close)
    {
        string text = string.Concat(Enumerable.Repeat(open, 150)) + inner
            + string.Concat(Enumerable.Repeat(close, 150));

        RpcException error = Refused(name, name == "Xml" ? $"<root>{text}</root>" : text, Options[0]);

        Assert.Equal(RpcErrorIds.TooDeep, error.ErrorId);
    }

    [Fact]
    public static void Messages_with_too_many_elements_are_refused()
    {
        string json = $"{{\"children\":[{string.Join(',', Enumerable.Repeat("{}", 20_000))}]}}";

        RpcException error = Refused("Json", json, Options[0] with { MaxElements = 1000 });

        Assert.Equal(RpcErrorIds.TooManyElements, error.ErrorId);
    }

    [Fact]
    public static void A_target_that_is_not_empty_is_merged_into()
    {
        Everything.Proto3.Leaf target = new() { Text = "old", Child = new() { Text = "kept" } };

        MessageFormats.Json.Read(
            new ReadOnlySequence<byte>("""{"text":"new","child":{"children":[{}]}}"""u8.ToArray()), target);

        Assert.Equal(
            new Everything.Proto3.Leaf
            {
                Text = "new",
                Child = new() { Text = "kept", Children = { new Everything.Proto3.Leaf() } },
            },
            target);
    }

    private static long Allocated(Action action)
    {
        long before = GC.GetAllocatedBytesForCurrentThread();
        action();
        return GC.GetAllocatedBytesForCurrentThread() - before;
    }

    // A piece is left out, is there twice, or has other bytes.
    private static byte[] Damage(byte[] bytes, Random random)
    {
        int start = random.Next(bytes.Length);
        int length = random.Next(1, Math.Min(20, bytes.Length - start) + 1);
        byte[] piece = bytes[start..(start + length)];
        switch (random.Next(3))
        {
            case 0:
                piece = [];
                break;
            case 1:
                piece = [.. piece, .. piece];
                break;
            default:
                piece[random.Next(length)] = (byte)random.Next(0x20, 0x7F);
                break;
        }
        return [.. bytes[..start], .. piece, .. bytes[(start + length)..]];
    }

    // What was read, as the class keeps it; or why nothing was.
    private static string Outcome(Func<IMessage> read, MessageDescriptor type)
    {
        try
        {
            IMessage message = New(type);
            message.MergeFrom(read().ToByteArray());
            return Convert.ToHexString(message.ToByteArray());
        }
        catch (RpcException e)
        {
            return $"{e.Code} {e.ErrorId} {e.FieldPath} {e.Message}";
        }
    }

    private static RpcException Refused(string name, string text, FormatOptions options) =>
        Assert.Throws<RpcException>(() => MessageFormats.All.Single(format => format.Name == name).Read(
            Segments.Pieces(Encoding.UTF8.GetBytes(text), 1000), new Everything.Proto3.Leaf(), options));
}

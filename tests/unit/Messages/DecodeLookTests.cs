using System.Text;

namespace ProtoRpc.Tests.Messages;

/// <summary>Long messages are not read to their end if nobody waits for them.</summary>
public static class DecodeLookTests
{
    private const int Pieces = 50_000;

    public static TheoryData<string, string, string, string, string> Shapes => new()
    {
        { "Binary", "proto3.Leaf", "", "\x1a\0", "" },
        { "Binary", "proto3.Leaf", "", "\x0a\x01x", "" },
        { "Binary", "proto3.Leaf", "", "\x90\x4e\x01", "" },
        { "Binary", "proto3.Repeated", "", "\x4a\0", "" },
        { "Binary", "proto3.Unpacked", "", "\x28\x01", "" },
        { "Binary", "proto3.Maps", "", "\x0a\0", "" },
        { "Binary", "proto2.Choice", "", "\x08\x01", "" },
        { "Json", "proto3.Leaf", "{\"children\":[{}", ",{}", "]}" },
        { "Json", "proto3.Repeated", "{\"f_int32\":[1", ",1", "]}" },
        { "Json", "proto3.Leaf", "{\"x\":[1", ",1", "]}" },
        { "Json", "proto3.WellKnown", "{\"any\":{\"x\":[1", ",1", "],\"@type\":\"a/b\"}}" },
        { "Xml", "proto3.Leaf", "<a>", "<children/>", "</a>" },
        { "Xml", "proto3.Leaf", "<a><x>", "<y/>", "</x></a>" },
        { "Xml", "proto3.Leaf", "<a><text>", "<![CDATA[x]]>", "</text></a>" },
        { "Text", "proto3.Leaf", "", "children{}", "" },
        { "Text", "proto3.Repeated", "f_int32:[1", ",1", "]" },
        { "Text", "proto3.Leaf", "x:[1", ",1", "]" },
        { "Form", "proto3.Repeated", "f_int32=1", "&f_int32=1", "" },
    };

    [Theory]
    [MemberData(nameof(Shapes))]
    public static void Reading_ends_when_the_call_does(
        string name, string type, string before, string one, string after)
    {
        Assert.True(MessageFormats.TryFind(name, out MessageFormat? format));
        byte[] bytes = Make(before, one, after);
        int looks = 0;
        FormatOptions options = new()
        {
            IgnoreUnknownFields = true,
            MaxFormFields = int.MaxValue,
            Look = () => throw new TimeoutException($"look {++looks}"),
        };
        FormatOptions patient = options with { Look = () => looks++ };

        Assert.Throws<TimeoutException>(
            () => format.Read(TestMessages.Type(type), bytes.AsMemory(), options));
        Assert.Equal(1, looks);
        _ = Record.Exception(() => format.Read(TestMessages.Type(type), bytes.AsMemory(), patient));
        Assert.InRange(looks, 5, 1 + (Pieces / 50));
    }

    [Fact]
    public static void Packed_numbers_are_not_read_to_their_end()
    {
        byte[] bytes = [0x2A, 0xC0, 0x84, 0x3D, .. new byte[1_000_000]];
        int looks = 0;

        Assert.Throws<TimeoutException>(() => DynamicMessage.Parse(
            TestMessages.Type("proto3.Repeated"), bytes, int.MaxValue,
            () => _ = ++looks == 3 ? throw new TimeoutException() : 0));
    }

    [Fact]
    public static void Short_messages_and_those_without_a_caller_are_read_without_a_look()
    {
        int looks = 0;

        byte[] bytes = Make("", "\x1a\0", "");
        DynamicMessage.Parse(TestMessages.Type("proto3.Leaf"), bytes[..4000], 10_000, () => looks++);
        DynamicMessage.Parse(TestMessages.Type("proto3.Leaf"), bytes, 10_000_000);

        Assert.Equal(0, looks);
    }

    [Fact]
    public static void What_is_read_with_looks_is_what_is_read_without()
    {
        RandomMessages messages = new(2);
        string[] types = ["proto2.Repeated", "proto3.Maps", "proto2.Packed", "proto2.Extendable"];
        foreach (string type in types)
        {
            byte[] bytes = [.. Enumerable.Range(0, 400)
                .SelectMany(_ => messages.Make(TestMessages.Type(type)).ToByteArray())];
            int looks = 0;

            DynamicMessage watched =
                DynamicMessage.Parse(TestMessages.Type(type), bytes, int.MaxValue, () => looks++);

            Assert.True(looks > 0);
            Assert.Equal(TestMessages.Parse(type, bytes), watched);
        }
    }

    private static byte[] Make(string before, string one, string after) => Encoding.Latin1.GetBytes(
        new StringBuilder(before).Insert(before.Length, one, Pieces).Append(after).ToString());
}

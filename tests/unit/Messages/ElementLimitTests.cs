using System.Buffers;
using System.Text;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using ProtoRpc.Messages;
using static ProtoRpc.Tests.Messages.TestMessages;

namespace ProtoRpc.Tests.Messages;

/// <summary>Few bytes cannot stand for many objects.</summary>
public static class ElementLimitTests
{
    private const int Fields = 39;
    private const int Allowed = 50;

    // A message counts one more than its fields.
    private const int Limit = Allowed * (Fields + 1);

    private static readonly RpcMessageInfo Leaf = Type("proto3.Leaf");
    private static readonly RpcMessageInfo Wide = MakeWide();

    public static TheoryData<string, string, string, string> Formats => new()
    {
        { "Binary", "", "\x0a\0", "" },
        { "Json", "{\"children\":[{}", ",{}", "]}" },
        { "Xml", "<a>", "<children/>", "</a>" },
        { "Text", "", "children{}", "" },
        { "Text", "children:[{}", ",{}", "]" },
    };

    [Theory]
    [MemberData(nameof(Formats))]
    public static void Empty_messages_over_the_limit_are_refused(
        string name, string before, string one, string after)
    {
        RpcException error = Assert.Throws<RpcException>(() => Read(name, before, one, after, Allowed + 1));

        Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
        Assert.Equal("TooManyElements", error.ErrorId);
        Assert.Contains("MaxMessageElements", error.Message);
    }

    [Theory]
    [MemberData(nameof(Formats))]
    public static void As_many_as_the_limit_allows_are_read(
        string name, string before, string one, string after)
    {
        DynamicMessage read = Read(name, before, one, after, Allowed - 1);

        Assert.True(((System.Collections.ICollection)read.Get("children")!).Count >= Allowed - 1);
    }

    [Fact]
    public static void A_long_message_may_have_an_element_for_every_two_bytes()
    {
        // Each child has twelve bytes and three fields.
        byte[] one = Bytes("1A 0A 0A 08 61 61 61 61 61 61 61 61");
        byte[] bytes = [.. Enumerable.Repeat(one, 10_000).SelectMany(b => b)];

        DynamicMessage read = DynamicMessage.Parse(Leaf, bytes, maxElements: 100);

        Assert.Equal(10_000, ((System.Collections.ICollection)read.Get("children")!).Count);
    }

    [Fact]
    public static void Entries_of_maps_count()
    {
        byte[] bytes = [.. Enumerable.Repeat(Bytes("0A 00"), 1000).SelectMany(b => b)];
        RpcMessageInfo type = Leaf.Schema.GetMessage("google.protobuf.Struct");

        RpcException error = Assert.Throws<RpcException>(() => DynamicMessage.Parse(type, bytes, 1500));

        Assert.Equal("TooManyElements", error.ErrorId);
    }

    [Theory]
    [InlineData("google.protobuf.Timestamp", 3)]
    [InlineData("google.protobuf.Int32Value", 2)]
    [InlineData("google.protobuf.Value", 2)]
    public static void Types_with_a_shape_of_their_own_count(string type, int elements)
    {
        Assert.Equal(elements, MessageLayout.For(Leaf.Schema.GetMessage(type)).Elements);
    }

    [Fact]
    public static void Messages_in_an_Any_count_when_they_are_shown()
    {
        byte[] many = [.. Enumerable.Repeat(Bytes("1A 00"), RpcLimits.Default.MaxMessageElements / 4)
            .SelectMany(b => b), .. Bytes("1A 00 1A 00")];
        DynamicMessage any = new(Leaf.Schema.GetMessage("google.protobuf.Any"));
        any.Set("type_url", "type.googleapis.com/everything.proto3.Leaf");
        any.Set("value", many);

        RpcException error = Assert.Throws<RpcException>(() => new MessageMapper().ToObject(any));

        Assert.Equal("TooManyElements", error.ErrorId);
    }

    [Theory]
    [InlineData("Json")]
    [InlineData("Text")]
    public static void Messages_in_an_Any_count_when_they_are_written(string name)
    {
        Assert.True(MessageFormats.TryFind(name, out MessageFormat? format));
        DynamicMessage any = new(Leaf.Schema.GetMessage("google.protobuf.Any"));
        any.Set("type_url", "type.googleapis.com/everything.proto3.Leaf");
        any.Set("value", Enumerable.Repeat(Bytes("1A 00"), 1000).SelectMany(b => b).ToArray());
        FormatOptions few = new() { MaxElements = 3999, ExpandAny = true };

        format.ToArray(any, few with { MaxElements = 4000 });
        RpcException error = Assert.Throws<RpcException>(() => format.ToArray(any, few));

        Assert.Equal("TooManyElements", error.ErrorId);
    }

    [Fact]
    public static void Short_records_as_many_as_a_message_holds_are_read()
    {
        byte[] one = Bytes("1A 06 0A 04 61 62 63 64");
        byte[] bytes = [.. Enumerable.Repeat(one, RpcLimits.Default.MaxMessageBytes / 8).SelectMany(b => b)];

        Assert.NotNull(DynamicMessage.Parse(Leaf, bytes, RpcLimits.Default.MaxMessageElements));
    }

    [Fact]
    public static void An_object_that_nobody_waits_for_is_not_made_to_its_end()
    {
        DynamicMessage message =
            Parse("proto3.Leaf", [.. Enumerable.Repeat(Bytes("1A 00"), 100_000).SelectMany(b => b)]);
        int asked = 0;
        MessageMapper mapper = new() { IsGivenUp = () => ++asked == 3 };

        Assert.Throws<OperationCanceledException>(() => mapper.ToObject(message));

        Assert.Equal(3, asked);
    }

    private static DynamicMessage Read(string name, string before, string one, string after, int count)
    {
        StringBuilder text = new(before);
        for (int i = 0; i < count; i++)
        {
            text.Append(one);
        }

        Assert.True(MessageFormats.TryFind(name, out MessageFormat? format));
        byte[] bytes = Encoding.Latin1.GetBytes(text.Append(after).ToString());
        return format.Read(
            Wide, new ReadOnlySequence<byte>(bytes), new FormatOptions { MaxElements = Limit });
    }

    private static RpcMessageInfo MakeWide()
    {
        DescriptorProto wide = new() { Name = "Wide" };
        for (int i = 1; i <= Fields; i++)
        {
            FieldDescriptorProto field = new()
            {
                Name = i == 1 ? "children" : $"text{i}",
                Number = i,
                Label = i == 1
                    ? FieldDescriptorProto.Types.Label.Repeated
                    : FieldDescriptorProto.Types.Label.Optional,
                Type = i == 1
                    ? FieldDescriptorProto.Types.Type.Message
                    : FieldDescriptorProto.Types.Type.String,
            };
            if (i == 1)
            {
                field.TypeName = ".Wide";
            }

            wide.Field.Add(field);
        }

        FileDescriptorProto file = new() { Name = "wide.proto", Syntax = "proto3", MessageType = { wide } };
        return RpcSchema.FromDescriptorSet(new FileDescriptorSet { File = { file } }.ToByteArray())
            .GetMessage("Wide");
    }
}

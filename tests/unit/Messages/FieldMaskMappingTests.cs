using System.Collections;
using Google.Protobuf;
using static ProtoRpc.Tests.Messages.TestMessages;
using FieldMask = Google.Protobuf.WellKnownTypes.FieldMask;

namespace ProtoRpc.Tests.Messages;

public static class FieldMaskMappingTests
{
    private static readonly RpcMessageInfo WellKnown = Type("proto3.WellKnown");
    private static readonly MessageMapper Mapper = new();

    [Theory]
    [InlineData(",")]
    [InlineData(" ")]
    [InlineData(" , ,")]
    [InlineData("", "a")]
    [InlineData("a", "")]
    public static void A_field_mask_has_no_empty_paths(params string[] paths)
    {
        object value = paths.Length == 1 ? paths[0] : paths;

        RpcException e = Assert.Throws<RpcException>(
            () => Mapper.ToMessage(WellKnown, new Hashtable { ["field_mask"] = value }));

        Assert.Contains("path", e.Message, StringComparison.Ordinal);
        Assert.Contains("field_mask", e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void What_a_field_mask_shows_is_read_the_same_or_refused()
    {
        string[] parts = ["", ",", " ", "a", "\t"];
        RpcMessageInfo type = WellKnown.FindField("field_mask")!.MessageType!;
        foreach (string[] paths in from first in parts
                                   from second in parts.Append(null)
                                   select second is null ? new[] { first } : [first, second])
        {
            FieldMask mask = new() { Paths = { paths } };
            DynamicMessage message = new(WellKnown);
            message.Set(
                WellKnown.FindField("field_mask")!, DynamicMessage.Parse(type, mask.ToByteArray().AsSpan()));
            try
            {
                DynamicMessage once = Mapper.ToMessage(WellKnown, Mapper.ToObject(message));
                DynamicMessage again = Mapper.ToMessage(WellKnown, Mapper.ToObject(once));

                Assert.Equal(once, again);
            }
            catch (RpcException e)
            {
                Assert.Equal("InvalidFieldValue", e.ErrorId);
            }
        }
    }
}

using Google.Protobuf;
using static ProtoRpc.Tests.Messages.TestMessages;

namespace ProtoRpc.Tests.Messages;

public static class RequiredFieldsTests
{
    // id, name, place.x, leaf, color
    private const string Complete = "08 01 12 01 61 1B 09 000000000000F03F 1C 22 00 30 01";

    [Fact]
    public static void A_complete_message_is_read_and_written()
    {
        Assert.Equal(Compact(Complete), Hex(Parse("proto2.Required", Complete)));
    }

    [Fact]
    public static void A_message_that_comes_in_parts_is_complete_with_the_last()
    {
        const string Parts = "08 01 12 01 61 1B 1C 1B 09 000000000000F03F 1C 22 00 30 01";

        Assert.Equal(Compact(Complete), Hex(Parse("proto2.Required", Parts)));
    }

    [Fact]
    public static void All_missing_fields_are_named_with_their_paths()
    {
        RpcException e = Refused("proto2.Required", Bytes("08 01 1B 1C 2A 02 08 01"));

        Assert.Equal("MissingRequiredField", e.ErrorId);
        Assert.Equal(RpcStatusCode.InvalidArgument, e.Code);
        Assert.Equal("Required.name", e.FieldPath);
        Assert.Contains(
            "Required.name, Required.leaf, Required.color, Required.place.x, Required.more[0].name",
            e.Message);
    }

    [Fact]
    public static void The_message_that_requires_them_is_named()
    {
        RpcException e = Refused("proto2.Required", Bytes("08 01 12 01 61 1B 1C 22 00 30 01"));

        string place = Type("proto2.Required").FindField("place")!.MessageType!.FullName;
        Assert.EndsWith($"Required.place.x must be set: the field is required in {place}.", e.Message);
    }

    [Fact]
    public static void Writing_checks_them_too()
    {
        DynamicMessage message = new(Type("proto2.Required"));

        Assert.Equal("MissingRequiredField", Assert.Throws<RpcException>(message.ToByteArray).ErrorId);
        Assert.Throws<RpcException>(() => Google.Protobuf.MessageExtensions.ToByteArray(message));
    }

    [Fact]
    public static void A_message_in_two_parts_is_complete_when_both_are_read()
    {
        DynamicMessage message = Parse(
            "proto2.Required", "08 01 12 01 61 1B 1C 22 00 30 01 1B 09 000000000000F03F 1C");

        message.CheckRequired();
        Assert.Equal(1.0, ((DynamicMessage)message.Get("place")!).Get("x"));
    }

    [Fact]
    public static void A_number_that_the_closed_enum_lacks_does_not_count()
    {
        RpcException e = Refused(
            "proto2.Required", Bytes("08 01 12 01 61 1B 09 000000000000F03F 1C 22 00 30 63"));

        Assert.Equal("Required.color", e.FieldPath);
    }

    [Fact]
    public static void Editions_have_them_as_a_feature()
    {
        RpcException e = Refused("editions.Required", Bytes("08 01 12 00 22 02 08 01"));

        Assert.Contains("Required.delimited, Required.more[0].leaf, Required.more[0].delimited", e.Message);
    }

    [Fact]
    public static void Thousands_of_missing_fields_behind_a_long_key_cost_little_and_are_counted()
    {
        const int Missing = 5_000;
        RpcMessageInfo type =
            RpcSchema.FromDescriptors(Required.RequiredReflection.Descriptor).GetMessage("required.Node");
        Required.Node holder = new() { Name = "b" };
        holder.Many.Add(Enumerable.Repeat(new Required.Node(), Missing));
        Required.Node root = new() { Name = "a", Named = { { new string('k', 20_000), holder } } };
        byte[] bytes = root.ToByteArray();
        long before = GC.GetAllocatedBytesForCurrentThread();

        RpcException e = Assert.Throws<RpcException>(() => DynamicMessage.Parse(type, bytes));

        Assert.InRange(GC.GetAllocatedBytesForCurrentThread() - before, 0, 100L * bytes.Length);
        Assert.Contains(
            $"].many[9].name and {Missing - 10} more must be set", e.Message, StringComparison.Ordinal);
        Assert.InRange(e.Message.Length, 0, 5_000);
    }
}

using static ProtoRpc.Tests.Messages.TestMessages;

namespace ProtoRpc.Tests.Messages;

public static class MalformedMessageTests
{
    [Theory]
    [InlineData("proto3.Singular", "4A 01 FF")]
    [InlineData("proto3.Repeated", "4A 02 C080")]
    [InlineData("proto3.Maps", "72 03 0A 01 80")]
    [InlineData("editions.Strings", "0A 03 EDA080")]
    [InlineData("editions.Strings", "22 03 0A 01 FF")]
    public static void Text_that_is_not_UTF_8_is_refused_where_the_field_says_so(string type, string hex)
    {
        RpcException e = Refused(type, Bytes(hex));

        Assert.Equal("MalformedMessage", e.ErrorId);
        Assert.Contains("UTF-8", e.Message);
    }

    [Theory]
    [InlineData("00 01", "number 0")]
    [InlineData("02 01 01", "number 0")]
    [InlineData("8000 01", "number 0")]
    [InlineData("28", "end in the middle")]
    [InlineData("28 80", "end in the middle")]
    [InlineData("28 FFFFFFFFFFFFFFFFFFFF01", "more than ten bytes")]
    [InlineData("28 FFFFFFFFFFFFFFFFFFFF", "more than ten bytes")]
    [InlineData("FFFFFFFFFF0F 01", "32 bits")]
    [InlineData("A88080808000 01", "32 bits")]
    [InlineData("A8", "end in the middle")]
    [InlineData("09 00000000000000", "end in the middle")]
    [InlineData("15 000000", "end in the middle")]
    [InlineData("4A 05 61", "length of 5")]
    [InlineData("4A FFFFFFFF07", "length of 2147483647")]
    [InlineData("4A FFFFFFFFFFFFFFFFFF01", "length of 18446744073709551615")]
    [InlineData("5A 02 0A", "length of 2")]
    [InlineData("5A 02 0A 05 61", "length of 5")]
    [InlineData("53 08 01", "end in the middle of a group")]
    [InlineData("53 08 01 5C", "did not begin")]
    [InlineData("54", "did not begin")]
    [InlineData("F4FF01", "did not begin")]
    [InlineData("FBFF01 08 01", "end in the middle of a group")]
    [InlineData("FBFF01 F4FF01", "did not begin")]
    [InlineData("2E 01", "wire type 6")]
    [InlineData("2F 01", "wire type 7")]
    [InlineData("FAFF01 7F 00", "length of 127")]
    public static void Malformed_bytes_are_refused_with_the_reason_and_the_place(string hex, string reason)
    {
        RpcException e = Refused("proto2.Singular", Bytes(hex));

        Assert.Equal(RpcStatusCode.InvalidArgument, e.Code);
        Assert.Equal("MalformedMessage", e.ErrorId);
        Assert.Contains(reason, e.Message);
        Assert.Contains("everything.proto2.Singular", e.Message);
        Assert.Contains("at byte ", e.Message);
    }

    [Theory]
    [InlineData("2A FFFFFFFF07 01", "length of 2147483647")]
    [InlineData("0A 07 00000000000000", "end in the middle")]
    [InlineData("2A 01 80", "end in the middle")]
    [InlineData("12 05 0000000000", "end in the middle")]
    public static void Malformed_packed_fields_are_refused(string hex, string reason)
    {
        Assert.Contains(reason, Refused("proto3.Repeated", Bytes(hex)).Message);
    }

    [Fact]
    public static void A_length_that_lies_allocates_nothing()
    {
        byte[] bytes = Bytes("4A FFFFFFFF07");
        Refused("proto2.Singular", bytes);

        long before = GC.GetAllocatedBytesForCurrentThread();
        Refused("proto2.Singular", bytes);

        Assert.InRange(GC.GetAllocatedBytesForCurrentThread() - before, 0, 100_000);
    }

    [Fact]
    public static void A_hundred_messages_within_one_are_read_and_written_and_one_more_is_not()
    {
        DynamicMessage deepest = Parse("proto2.Leaf", Nested(100));

        Assert.Equal(Convert.ToHexString(Nested(100)), Hex(deepest));
        Assert.Equal("TooDeep", Refused("proto2.Leaf", Nested(101)).ErrorId);
    }

    [Theory]
    [InlineData(100, true)]
    [InlineData(101, false)]
    [InlineData(1_000_000, false)]
    public static void Unknown_groups_are_bounded_as_well(int depth, bool isRead)
    {
        byte[] bytes =
        [
            .. Enumerable.Repeat((byte)0xA3, depth).SelectMany(tag => new byte[] { tag, 0x06 }),
            .. Enumerable.Repeat((byte)0xA4, depth).SelectMany(tag => new byte[] { tag, 0x06 }),
        ];

        if (isRead)
        {
            Assert.Equal(bytes, Parse("proto2.Singular", bytes).UnknownFieldBytes.ToArray());
        }
        else
        {
            Assert.Equal("TooDeep", Refused("proto2.Singular", bytes).ErrorId);
        }
    }

    [Fact]
    public static void Known_groups_are_bounded_as_well()
    {
        // f_group, and then "deeper" in it again and again.
        static byte[] Groups(int deeper) =>
        [
            0x53, .. Enumerable.Repeat((byte)0x13, deeper), .. Enumerable.Repeat((byte)0x14, deeper), 0x54,
        ];

        Assert.Equal(Convert.ToHexString(Groups(99)), Hex(Parse("proto2.Singular", Groups(99))));
        Assert.Equal("TooDeep", Refused("proto2.Singular", Groups(100)).ErrorId);
    }
}

using ProtoRpc.Protocols.Grpc;

namespace ProtoRpc.Tests.Protocols.Grpc;

public static class GrpcHeaderTests
{
    [Theory]
    [InlineData(0, "1u")]
    [InlineData(1, "1u")]
    [InlineData(15_000_000, "1500000u")]
    [InlineData(10_000_000_000, "1000000m")]
    [InlineData(10_000_000_001, "1000001m")]
    [InlineData(10_000_000_000_000, "1000000S")]
    public static void A_timeout_has_the_finest_unit_that_holds_it(long ticks, string wanted) =>
        Assert.Equal(wanted, GrpcTimeout.Format(TimeSpan.FromTicks(ticks)));

    [Theory]
    [InlineData("grpc-status", true)]
    [InlineData("GRPC-Encoding", true)]
    [InlineData("grpc-retry-pushback", true)]
    [InlineData("te", true)]
    [InlineData("grpc-retry-pushback-ms", false)]
    [InlineData("Grpc-Previous-Rpc-Attempts", false)]
    [InlineData("x-own", false)]
    public static void Names_of_the_protocol_are_reserved_but_not_those_of_retries(
        string name, bool isReserved) =>
        Assert.Equal(isReserved, GrpcHeaders.IsReserved(name));

    [Fact]
    public static void No_timeout_is_longer_than_eight_digits()
    {
        string longest = GrpcTimeout.Format(TimeSpan.MaxValue);

        Assert.True(longest.Length <= 9, longest);
        Assert.NotNull(GrpcTimeout.Parse(longest));
    }

    [Theory]
    [InlineData("100n", 1)]
    [InlineData("1n", 1)]
    [InlineData("2S", 20_000_000)]
    [InlineData("99999999H", 3_599_999_964_000_000_000)]
    public static void A_timeout_is_read(string text, long ticks) =>
        Assert.Equal(TimeSpan.FromTicks(ticks), GrpcTimeout.Parse(text));

    [Theory]
    [InlineData("")]
    [InlineData("S")]
    [InlineData("-1S")]
    [InlineData("1x")]
    [InlineData("123456789S")]
    [InlineData("1.5S")]
    public static void What_is_no_timeout_is_not_read(string text) => Assert.Null(GrpcTimeout.Parse(text));

    [Theory]
    [InlineData("plain text", "plain text")]
    [InlineData("100 %", "100 %25")]
    [InlineData("\tä☺\n", "%09%C3%A4%E2%98%BA%0A")]
    public static void A_message_is_escaped_and_read_back(string text, string escaped)
    {
        Assert.Equal(escaped, GrpcMessageText.Encode(text));
        Assert.Equal(text, GrpcMessageText.Decode(escaped));
    }

    [Theory]
    [InlineData("abcdef", 6, "abcdef")]
    [InlineData("abcdefg", 6, "abc...")]
    [InlineData("aä", 7, "a%C3%A4")]
    [InlineData("aäb", 7, "a...")]
    [InlineData("ää", 12, "%C3%A4%C3%A4")]
    [InlineData("ääa", 12, "%C3%A4...")]
    [InlineData("abc😀", 14, "abc...")]
    public static void A_message_that_is_too_long_is_cut_between_characters(
        string text, int max, string escaped)
    {
        Assert.Equal(escaped, GrpcMessageText.Encode(text, max));
    }

    [Theory]
    [InlineData("50 % off", "50 % off")]
    [InlineData("cut %4", "cut %4")]
    [InlineData("%zz", "%zz")]
    public static void A_message_that_is_not_escaped_rightly_is_read_as_it_is(string text, string wanted) =>
        Assert.Equal(wanted, GrpcMessageText.Decode(text));

    [Fact]
    public static void Bytes_are_read_with_padding_without_and_several_in_a_line()
    {
        Assert.Equal([[1], [2, 3]], GrpcBinaryHeader.Decode("AQ==, AgM"));
        Assert.Equal("AgM", GrpcBinaryHeader.Encode([2, 3]));
        Assert.Null(GrpcBinaryHeader.Decode("not base64!"));
    }

    [Fact]
    public static void Metadata_takes_what_can_be_sent_only()
    {
        RpcMetadata metadata = new() { { "Key", "a" }, { "key", "b" }, { "data-bin", (byte[])[1] } };

        Assert.Equal(["a", "b"], metadata.GetAll("KEY"));
        Assert.Equal("b", metadata.GetText("key"));
        Assert.Equal([1], metadata.GetBytes("data-bin"));
        Assert.Throws<RpcException>(() => metadata.Add("a b", "x"));
        Assert.Throws<RpcException>(() => metadata.Add("a", "ä"));
        Assert.Throws<RpcException>(() => metadata.Add("a", "x\r\ny: z"));
        Assert.Throws<RpcException>(() => metadata.Add("a-bin", "text"));
        Assert.Throws<RpcException>(() => metadata.Add("a", (byte[])[1]));
    }
}

namespace ProtoRpc.Tests.Messages;

/// <summary>Numbers that are texts, in objects, forms and XML.</summary>
public static class NumberTextTests
{
    private static readonly MessageMapper Mapper = new();

    [Theory]
    [InlineData("5.0", 5)]
    [InlineData(" +05 ", 5)]
    [InlineData("1e3", 1000)]
    [InlineData("-120e-1", -12)]
    [InlineData("2147483647.0000000000000000000000000000000000000000", 2147483647)]
    [InlineData("0.0000000000000000000000000000000000000001e40", 1)]
    [InlineData("-0", 0)]
    [InlineData("0e999999999999", 0)]
    public static void A_whole_number_may_be_spelled_in_many_ways(string text, int expected)
    {
        Assert.Equal(expected, Read("f_int32", text));
        Assert.Equal(expected, ReadForm("f_int32", text));
        Assert.Equal(expected, ReadXml("f_int32", text));
    }

    [Theory]
    [InlineData("1e-30")]
    [InlineData("0.99999999999999999999999999999999")]
    [InlineData("1.00000000000000000000000000000001")]
    [InlineData("1e-400")]
    [InlineData("1\0")]
    [InlineData("2147483648")]
    [InlineData("-2147483649.0")]
    [InlineData("1e400")]
    [InlineData("0x1")]
    [InlineData("1,000")]
    [InlineData("NaN")]
    [InlineData("Infinity")]
    [InlineData(".")]
    [InlineData("+-1")]
    public static void What_is_no_whole_number_is_refused_and_not_rounded(string text)
    {
        RpcException problem = Assert.Throws<RpcException>(() => Read("f_int32", text));

        Assert.Equal(RpcErrorIds.InvalidFieldValue, problem.ErrorId);
        Assert.Throws<RpcException>(() => ReadForm("f_int32", text));
    }

    [Theory]
    [InlineData("f_double")]
    [InlineData("f_float")]
    [InlineData("f_bool")]
    public static void Nothing_follows_a_value(string field) =>
        Assert.Throws<RpcException>(() => Read(field, "1\0"));

    [Fact]
    public static void A_float_is_rounded_once()
    {
        // As a double it is the middle of two floats, of which the even one is 1.
        const string text = "1.00000005960464477539062500000001";

        Assert.Equal(1.0000001f, Read("f_float", text));
        Assert.Equal(1.0000001f, ReadForm("f_float", text));
    }

    private static object? Read(string field, string text) =>
        Value(field, Mapper.ToMessage(Type, new Dictionary<string, object?> { [field] = text }));

    private static object? ReadForm(string field, string text) =>
        Value(field, MessageFormats.Form.Read(Type, $"{field}={Uri.EscapeDataString(text)}"));

    private static object? ReadXml(string field, string text) =>
        Value(field, MessageFormats.Xml.Read(Type, $"<r><{field}>{text}</{field}></r>"));

    private static RpcMessageInfo Type => TestMessages.Type("proto3.Singular");

    private static object? Value(string field, DynamicMessage message) =>
        message.Get(Type.FindField(field)!);
}

using System.Collections;
using System.Numerics;
using Google.Protobuf;
using ProtoRpc.Messages.Mapping;
using static ProtoRpc.Tests.Messages.TestMessages;

namespace ProtoRpc.Tests.Messages;

public static class ScalarMappingTests
{
    private static readonly MessageMapper Mapper = new();

    public static TheoryData<string, object, object> Accepted() => new()
    {
        { "f_int32", 5, 5 },
        { "f_int32", (byte)5, 5 },
        { "f_int32", (sbyte)-5, -5 },
        { "f_int32", (short)-5, -5 },
        { "f_int32", (ushort)5, 5 },
        { "f_int32", 5U, 5 },
        { "f_int32", -5L, -5 },
        { "f_int32", 5UL, 5 },
        { "f_int32", (nint)5, 5 },
        { "f_int32", 3.0, 3 },
        { "f_int32", 3f, 3 },
        { "f_int32", (Half)3, 3 },
        { "f_int32", 3.00m, 3 },
        { "f_int32", new BigInteger(3), 3 },
        { "f_int32", (Int128)3, 3 },
        { "f_int32", (UInt128)3, 3 },
        { "f_int32", " -12 ", -12 },
        { "f_int32", "3.0", 3 },
        { "f_int32", "1e3", 1000 },
        { "f_int32", DayOfWeek.Friday, 5 },
        { "f_int32", new NamedNumber("Friday", 5), 5 },
        { "f_string", new NamedNumber("Friday", 5), "Friday" },
        { "f_int32", int.MinValue, int.MinValue },
        { "f_sint32", "2147483647", int.MaxValue },
        { "f_sfixed32", -1.0, -1 },
        { "f_uint32", 4294967295.0, uint.MaxValue },
        { "f_fixed32", "4294967295", uint.MaxValue },
        { "f_int64", "-9223372036854775808", long.MinValue },
        { "f_sint64", 5, 5L },
        { "f_sfixed64", 5, 5L },
        { "f_uint64", "18446744073709551615", ulong.MaxValue },
        { "f_fixed64", 1e18, 1_000_000_000_000_000_000UL },
        { "f_double", 5, 5.0 },
        { "f_double", 5m, 5.0 },
        { "f_double", 1.5f, 1.5 },
        { "f_double", " -1.5e3 ", -1500.0 },
        { "f_double", "NaN", double.NaN },
        { "f_double", "Infinity", double.PositiveInfinity },
        { "f_double", "-infinity", double.NegativeInfinity },
        { "f_float", 1.5, 1.5f },
        { "f_float", double.PositiveInfinity, float.PositiveInfinity },
        { "f_float", "NaN", float.NaN },
        { "f_float", float.MaxValue, float.MaxValue },
        { "f_bool", true, true },
        { "f_bool", "True", true },
        { "f_bool", "false", false },
        { "f_bool", 1, true },
        { "f_bool", 0, false },
        { "f_string", "text", "text" },
        { "f_string", "", "" },
        { "f_string", 'c', "c" },
        { "f_string", 1.5, "1.5" },
        { "f_string", 42L, "42" },
        { "f_string", DayOfWeek.Friday, "Friday" },
        { "f_string", new Guid(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), "00000001-0002-0003-0405-060708090a0b" },
        { "f_string", new Uri("http://x/ä"), "http://x/ä" },
        { "f_string", new Version(1, 2), "1.2" },
        { "f_string", System.Net.IPAddress.Loopback, "127.0.0.1" },
        { "f_string", new DateTime(2024, 2, 29, 1, 2, 3, DateTimeKind.Utc), "2024-02-29T01:02:03.0000000Z" },
        { "f_bytes", new byte[] { 1, 2 }, new byte[] { 1, 2 } },
        { "f_bytes", new ReadOnlyMemory<byte>([1, 2]), new byte[] { 1, 2 } },
        { "f_bytes", new Memory<byte>([1, 2]), new byte[] { 1, 2 } },
        { "f_bytes", ByteString.CopyFrom(1, 2), new byte[] { 1, 2 } },
        { "f_bytes", new MemoryStream([1, 2]), new byte[] { 1, 2 } },
        { "f_bytes", new object[] { 1, 2L, (byte)255 }, new byte[] { 1, 2, 255 } },
        { "f_bytes", new List<byte> { 1 }, new byte[] { 1 } },
        { "f_bytes", "base64:+/8=", new byte[] { 0xFB, 0xFF } },
        { "f_bytes", "base64:-_8", new byte[] { 0xFB, 0xFF } },
        { "f_bytes", "base64: AQI= ", new byte[] { 1, 2 } },
        { "f_bytes", "base64:", Array.Empty<byte>() },
        { "f_bytes", "utf8:fo\u00F6 ", "fo\u00F6 "u8.ToArray() },
        { "f_bytes", "utf8:base64:AQ==", "base64:AQ=="u8.ToArray() },
        { "f_bytes", "utf8:", Array.Empty<byte>() },
        { "f_enum", "RED", 1 },
        { "f_enum", "green", 2 },
        { "f_enum", "AZURE", 3 },
        { "f_enum", 3, 3 },
        { "f_enum", "-1", -1 },
        { "f_enum", 2.0, 2 },
        { "f_enum", ConsoleColor.Red, 1 },
        { "f_enum", DayOfWeek.Tuesday, 2 },
    };

    public static TheoryData<string, object, string> Refused() => new()
    {
        { "f_int32", 2147483648L, "does not fit into int32, which takes numbers from -2147483648" },
        { "f_int32", 3.5, "is not a whole number; int32 takes numbers from -2147483648" },
        { "f_int32", double.NaN, "is not a whole number" },
        { "f_int32", 1e300, "does not fit" },
        { "f_int32", "12abc", "'12abc' (String) is not a whole number" },
        { "f_int32", true, "is not a whole number" },
        { "f_int32", 'a', "is not a whole number" },
        { "f_int32", new Hashtable(), "a dictionary with 0 keys (Hashtable) is not a whole number" },
        { "f_int32", new object[] { 1 }, "a list of 1 (Object[]) is not a whole number" },
        { "f_uint32", -1, "does not fit into uint32, which takes numbers from 0 to 4294967295" },
        { "f_uint64", -1, "from 0 to 18446744073709551615" },
        { "f_uint64", BigInteger.Pow(10, 50), "does not fit" },
        { "f_int64", 9223372036854775808UL, "from -9223372036854775808 to 9223372036854775807" },
        { "f_float", 1e39, "does not fit into float" },
        { "f_double", "1e999", "is not a number" },
        { "f_double", "abc", "is not a number" },
        { "f_double", true, "is not a number" },
        { "f_bool", "yes", "is not a bool" },
        { "f_bool", 2, "is not a bool" },
        { "f_string", true, "write 'true' or 'false' in quotes" },
        { "f_string", new Hashtable(), "is not text" },
        { "f_string", new object[] { "a" }, "is not text" },
        { "f_string", "a\uD800b", "half of a surrogate pair" },
        { "f_string", "\uDC00", "half of a surrogate pair" },
        { "f_string", new MessageMapperTests.Formatted(), "is not text" },
        { "f_bytes", "base64:***", "is not base64" },
        { "f_bytes", "base64:A", "is not base64" },
        { "f_bytes", "foo", "Give a byte array, 'utf8:foo', or 'base64:Zm9v'." },
        { "f_bytes", "AQI=", "'utf8:AQI='" },
        { "f_bytes", " ", "can be text or base64" },
        { "f_bytes", "UTF8:foo", "can be text or base64" },
        { "f_bytes", new string('a', 1000), "Give a byte array, 'utf8:text', or 'base64:dGV4dA=='." },
        { "f_bytes", "utf8:\uD800", "half of a surrogate pair" },
        { "f_bytes", "\uD800", "Give a byte array" },
        { "f_bytes", new object[] { 1, 256 }, "its element [1] is '256' (Int32)" },
        { "f_bytes", new object?[] { null }, "its element [0] is null" },
        { "f_bytes", 5, "is not bytes" },
        { "f_enum", "PURPLE", "is not in the enum everything.proto2.Color. Its names are RED, GREEN, BLUE" },
        { "f_enum", "GREN", "Did you mean 'GREEN'?" },
        { "f_enum", 99, "is closed; it has RED = 1" },
        { "f_enum", 1.5, "is not in the enum" },
        { "f_message", "text", "'text' (String) is not a message everything.proto2.Leaf; give a" },
        { "f_message", "text", "an object with its fields, which are text, child, children." },
        { "f_message", 5, "is not a message" },
        { "f_message", new object[] { new Hashtable() }, "is not a message" },
    };

    [Theory]
    [MemberData(nameof(Accepted))]
    public static void A_value_that_fits_is_taken(string field, object value, object expected)
    {
        DynamicMessage message = Map("proto2.Singular", (field, value));

        Assert.Equal(expected, message.Get(field));
        Assert.True(message.Has(field));
    }

    [Theory]
    [MemberData(nameof(Refused))]
    public static void A_value_that_does_not_fit_is_refused_with_path_value_and_remedy(
        string field, object value, string reason)
    {
        RpcException e = Assert.Throws<RpcException>(() => Map("proto2.Singular", (field, value)));

        Assert.Equal(RpcStatusCode.InvalidArgument, e.Code);
        Assert.Equal("InvalidFieldValue", e.ErrorId);
        Assert.Equal("Singular." + field, e.FieldPath);
        Assert.StartsWith($"Singular.{field}: ", e.Message);
        Assert.Contains(reason, e.Message);
    }

    [Fact]
    public static void Values_in_errors_are_shortened()
    {
        RpcException e = Assert.Throws<RpcException>(
            () => Map("proto2.Singular", ("f_int32", new string('x', 100_000))));

        Assert.InRange(e.Message.Length, 60, 300);
    }

    [Fact]
    public static void An_open_enum_takes_any_number()
    {
        Assert.Equal(99, Map("proto3.Singular", ("f_enum", 99)).Get("f_enum"));
    }

    private static DynamicMessage Map(string type, params (string Key, object? Value)[] members) =>
        Mapper.ToMessage(Type(type), members.ToDictionary(member => member.Key, member => member.Value));
}

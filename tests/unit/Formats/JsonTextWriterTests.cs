using System.Buffers;
using System.Globalization;
using System.Text;
using System.Text.Encodings.Web;
using System.Text.Json;
using ProtoRpc.Formats.Json;

namespace ProtoRpc.Tests.Formats;

/// <summary>Our writer of JSON tokens against the one of .NET: the same bytes.</summary>
public static class JsonTextWriterTests
{
    public static TheoryData<string> Texts =>
    [
        "", "a",
        "\"\\/", "\0\u0001\t\r\n\u001f", "\u007f\u0080\u009f", "é漢\U0001F600", "\u2028\u2029\ufeff",
        "\ud800", "a\udc00b", "<script>&'+", new string('x', 511), new string('x', 512),
        new string('x', 100_000), new string('"', 2000), new string('\u0001', 2000),
        new string('é', 5000), string.Concat(Enumerable.Repeat("\U0001F600", 3000)),
        "x" + string.Concat(Enumerable.Repeat("\U0001F600", 3000)), new string('\ud800', 3000),
    ];

    [Fact]
    public static void Numbers_do_not_depend_on_the_culture()
    {
        CultureInfo before = CultureInfo.CurrentCulture;
        CultureInfo other = (CultureInfo)CultureInfo.InvariantCulture.Clone();
        other.NumberFormat.NumberDecimalSeparator = ",";
        other.NumberFormat.NegativeSign = "minus ";
        CultureInfo.CurrentCulture = other;
        try
        {
            string written = Ours(isIndented: false, json =>
            {
                json.WriteStart((byte)'[');
                json.WriteNumber(-1.5);
                json.WriteNumber(-2);
                json.WriteQuotedNumber(-3L);
                json.WriteEnd((byte)']');
            });

            Assert.Equal("[-1.5,-2,\"-3\"]", written);
        }
        finally
        {
            CultureInfo.CurrentCulture = before;
        }
    }

    [Theory]
    [MemberData(nameof(Texts))]
    public static void Strings_and_names_are_those_of_dotnet(string text)
    {
        foreach (bool isIndented in new[] { false, true })
        {
            string expected = Theirs(isIndented, json =>
            {
                json.WriteStartObject();
                json.WritePropertyName(text);
                json.WriteStringValue(text);
                json.WritePropertyName("list");
                json.WriteStartArray();
                json.WriteStringValue(text);
                json.WriteStringValue(text);
                json.WriteEndArray();
                json.WriteEndObject();
            });
            string written = Ours(isIndented, json =>
            {
                json.WriteStart((byte)'{');
                json.WriteName(text);
                json.WriteString(text);
                json.WriteName("\"list\":"u8);
                json.WriteStart((byte)'[');
                json.WriteString(text);
                json.WriteString(text);
                json.WriteEnd((byte)']');
                json.WriteEnd((byte)'}');
            });

            Assert.Equal(expected, written);
        }
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(4095)]
    [InlineData(4096)]
    [InlineData(1_000_000)]
    public static void Bytes_are_those_of_dotnet(int length)
    {
        byte[] bytes = new byte[length];
        new Random(1).NextBytes(bytes);

        Assert.Equal(
            Theirs(false, json => json.WriteBase64StringValue(bytes)),
            Ours(false, json => json.WriteBase64(bytes)));
    }

    [Theory]
    [InlineData(0.1)]
    [InlineData(1e300)]
    [InlineData(-1.7976931348623157E+308)]
    [InlineData(5e-324)]
    [InlineData(123456789012345680)]
    public static void Numbers_are_those_of_dotnet(double number)
    {
        Assert.Equal(
            Theirs(false, json => json.WriteNumberValue(number)),
            Ours(false, json => json.WriteNumber(number)));
        Assert.Equal(
            Theirs(false, json => json.WriteNumberValue((float)0.1)),
            Ours(false, json => json.WriteNumber((float)0.1)));
    }

    [Fact]
    public static void Empty_and_nested_values_are_indented_as_dotnet_does()
    {
        string expected = Theirs(isIndented: true, json =>
        {
            json.WriteStartArray();
            json.WriteStartObject();
            json.WriteEndObject();
            json.WriteStartArray();
            json.WriteEndArray();
            json.WriteStartObject();
            json.WritePropertyName("a");
            json.WriteStartArray();
            json.WriteNumberValue(1);
            json.WriteNumberValue(2);
            json.WriteEndArray();
            json.WritePropertyName("b");
            json.WriteNullValue();
            json.WriteEndObject();
            json.WriteEndArray();
        });
        string written = Ours(isIndented: true, json =>
        {
            json.WriteStart((byte)'[');
            json.WriteStart((byte)'{');
            json.WriteEnd((byte)'}');
            json.WriteStart((byte)'[');
            json.WriteEnd((byte)']');
            json.WriteStart((byte)'{');
            json.WriteName("\"a\":"u8);
            json.WriteStart((byte)'[');
            json.WriteNumber(1);
            json.WriteNumber(2);
            json.WriteEnd((byte)']');
            json.WriteName("b");
            json.WriteRaw("null"u8);
            json.WriteEnd((byte)'}');
            json.WriteEnd((byte)']');
        });

        Assert.Equal(expected, written);
    }

    private static string Ours(bool isIndented, Action<JsonTextWriter> write)
    {
        ArrayBufferWriter<byte> output = new();
        using JsonTextWriter json = new(output, isIndented);
        write(json);
        json.Flush();
        return Encoding.UTF8.GetString(output.WrittenSpan);
    }

    private static string Theirs(bool isIndented, Action<Utf8JsonWriter> write)
    {
        ArrayBufferWriter<byte> output = new();
        using Utf8JsonWriter json = new(output, new JsonWriterOptions
        {
            Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping,
            Indented = isIndented,
            NewLine = "\n",
        });
        write(json);
        json.Flush();
        return Encoding.UTF8.GetString(output.WrittenSpan);
    }
}

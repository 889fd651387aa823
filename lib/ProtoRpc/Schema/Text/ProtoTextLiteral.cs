using System.Globalization;
using System.Text;

namespace ProtoRpc.Schema.Text;

/// <summary>Values as .proto files and the text format write them.</summary>
internal static class ProtoTextLiteral
{
    /// <summary>A scalar of an option: number, bool, string, bytes or enum.</summary>
    public static string Of(RpcFieldInfo field, object value) => value switch
    {
        string text => Quote(text),
        byte[] bytes => Quote(bytes),
        bool flag => flag ? "true" : "false",
        double number => Of(number, number.ToString("R", CultureInfo.InvariantCulture)),
        float number => Of(number, number.ToString("R", CultureInfo.InvariantCulture)),
        int number when field.Kind == RpcFieldKind.Enum
            && field.EnumType!.FindName(number) is { } name => name,
        _ => Convert.ToString(value, CultureInfo.InvariantCulture)!,
    };

    /// <summary>Text in quotes; what is not ASCII stays as it is.</summary>
    public static string Quote(string text)
    {
        StringBuilder quoted = new("\"");
        foreach (char c in text)
        {
            // Every control character is one byte in UTF-8 up to 0x7F; the ones above stay.
            AppendEscaped(quoted, c, isPlain: c >= 0x80);
        }

        return quoted.Append('"').ToString();
    }

    /// <summary>Bytes in quotes, as ASCII.</summary>
    public static string Quote(ReadOnlySpan<byte> bytes)
    {
        StringBuilder quoted = new("\"");
        foreach (byte b in bytes)
        {
            AppendEscaped(quoted, (char)b, isPlain: false);
        }

        return quoted.Append('"').ToString();
    }

    private static string Of(double number, string text) =>
        double.IsNaN(number) ? "nan"
        : double.IsPositiveInfinity(number) ? "inf"
        : double.IsNegativeInfinity(number) ? "-inf"
        : text;

    private static void AppendEscaped(StringBuilder quoted, char c, bool isPlain)
    {
        string? escape = c switch
        {
            '\n' => "\\n",
            '\r' => "\\r",
            '\t' => "\\t",
            '"' => "\\\"",
            '\\' => "\\\\",
            _ => null,
        };
        if (escape is not null)
        {
            quoted.Append(escape);
        }
        else if (isPlain || c is >= ' ' and <= '~')
        {
            quoted.Append(c);
        }
        else
        {
            // Three octal digits always, so that a digit after them is not taken for a part.
            quoted.Append('\\').Append(Convert.ToString(c, 8).PadLeft(3, '0'));
        }
    }
}

using System.Collections;
using System.Globalization;
using System.Text;
using Google.Protobuf;

namespace ProtoRpc.Messages.Mapping;

/// <summary>Converts values to bytes: arrays, text with a prefix, streams and lists of numbers.</summary>
internal static class BytesReader
{
    /// <summary>What text begins with that stands for its own bytes in UTF-8.</summary>
    public const string Utf8Prefix = "utf8:";

    /// <summary>What base64 begins with.</summary>
    public const string Base64Prefix = "base64:";

    private const int MaxShown = 60;
    private const string Remedy =
        $"give a byte array, '{Utf8Prefix}TEXT', '{Base64Prefix}...', a stream, or a list of numbers from 0 "
        + "to 255.";

    /// <summary>Whether a value is one value of bytes, not a list of them.</summary>
    public static bool IsBytes(object value) =>
        value is byte[] or ByteString or ArraySegment<byte> or List<byte>;

    /// <returns>What is wrong with the value, or null.</returns>
    public static string? Read(object value, IObjectModel objects, out byte[] bytes)
    {
        switch (value)
        {
            case byte[] array:
                bytes = array;
                return null;
            case ReadOnlyMemory<byte> memory:
                bytes = memory.ToArray();
                return null;
            case Memory<byte> memory:
                bytes = memory.ToArray();
                return null;
            case ByteString string8:
                bytes = string8.ToByteArray();
                return null;
            case string text:
                return ReadText(text, out bytes);
            case Stream stream:
                return ReadStream(stream, out bytes);
            case IEnumerable list and not IDictionary:
                return ReadList(list, objects, out bytes);
            default:
                bytes = [];
                return $"is not bytes; {Remedy}";
        }
    }

    /// <summary>Bytes as text that is read back.</summary>
    public static string TextOf(byte[] bytes) => Base64Prefix + Convert.ToBase64String(bytes);

    /// <summary>Reads base64 in both alphabets, with or without padding, as JSON has it.</summary>
    /// <returns>What is wrong with the text, or null.</returns>
    public static string? ReadBase64(string text, out byte[] bytes)
    {
        string standard = text.Trim().TrimEnd('=').Replace('-', '+').Replace('_', '/');
        bytes = new byte[(standard.Length + 3) / 4 * 3];
        bool valid = Convert.TryFromBase64String(
            standard.PadRight((standard.Length + 3) / 4 * 4, '='), bytes, out int written);
        bytes = valid ? bytes[..written] : [];
        return valid
            ? null
            : "is not base64, which has letters, digits, '+' and '/', and up to two '=' at its end.";
    }

    // Much text is also base64: 'foo' would be the bytes 7E 8A.
    private static string? ReadText(string text, out byte[] bytes)
    {
        bytes = [];
        if (text.StartsWith(Base64Prefix, StringComparison.Ordinal))
        {
            return ReadBase64(text[Base64Prefix.Length..], out bytes);
        }
        if (text.StartsWith(Utf8Prefix, StringComparison.Ordinal))
        {
            string content = text[Utf8Prefix.Length..];
            if (ScalarReader.HasLoneSurrogate(content))
            {
                return "has half of a surrogate pair, which no text in UTF-8 can have.";
            }
            bytes = Encoding.UTF8.GetBytes(content);
            return null;
        }
        if (text.Length == 0)
        {
            return null;
        }
        string shown = text.Length <= MaxShown && !ScalarReader.HasLoneSurrogate(text) ? text : "text";
        return $"can be text or base64. Give a byte array, '{Utf8Prefix}{shown}', or "
            + $"'{TextOf(Encoding.UTF8.GetBytes(shown))}'.";
    }

    private static string? ReadStream(Stream stream, out byte[] bytes)
    {
        bytes = [];
        try
        {
            using MemoryStream copy = new();
            stream.CopyTo(copy);
            bytes = copy.ToArray();
            return null;
        }
        catch (Exception e) when (e is IOException or NotSupportedException or ObjectDisposedException)
        {
            return $"cannot be read: {e.Message}";
        }
    }

    private static string? ReadList(IEnumerable list, IObjectModel objects, out byte[] bytes)
    {
        bytes = [];
        List<byte> read = [];
        foreach (object? wrapped in list)
        {
            object? item = objects.Unwrap(wrapped);
            if (item is null || !ScalarReader.TryGetDouble(item, out double number) ||
                number is < byte.MinValue or > byte.MaxValue || !double.IsInteger(number))
            {
                return string.Create(
                    CultureInfo.InvariantCulture,
                    $"is not bytes, for its element [{read.Count}] is {ValueText.Of(item)}; {Remedy}");
            }
            read.Add((byte)number);
        }
        bytes = [.. read];
        return null;
    }
}

using System.Collections;
using System.Globalization;
using Google.Protobuf;

namespace ProtoRpc.Messages.Mapping;

/// <summary>Converts values to bytes: arrays, base64 text, streams and lists of numbers.</summary>
internal static class BytesReader
{
    private const string Remedy =
        "give a byte array, base64 text, a stream, or a list of numbers from 0 to 255.";

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
                return ReadBase64(text, out bytes);
            case Stream stream:
                return ReadStream(stream, out bytes);
            case IEnumerable list and not IDictionary:
                return ReadList(list, objects, out bytes);
            default:
                bytes = [];
                return $"is not bytes; {Remedy}";
        }
    }

    private static string? ReadBase64(string text, out byte[] bytes)
    {
        // Both alphabets, with or without padding.
        string standard = text.Trim().TrimEnd('=').Replace('-', '+').Replace('_', '/');
        bytes = new byte[(standard.Length + 3) / 4 * 3];
        bool valid = Convert.TryFromBase64String(
            standard.PadRight((standard.Length + 3) / 4 * 4, '='), bytes, out int written);
        bytes = valid ? bytes[..written] : [];
        return valid ? null : $"is not base64; {Remedy}";
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

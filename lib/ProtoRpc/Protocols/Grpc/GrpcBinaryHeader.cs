using System.Buffers.Text;

namespace ProtoRpc.Protocols.Grpc;

/// <summary>Headers whose names end in -bin: bytes as base64.</summary>
internal static class GrpcBinaryHeader
{
    public const string Suffix = "-bin";

    public static bool IsBinary(string name) => name.EndsWith(Suffix, StringComparison.OrdinalIgnoreCase);

    /// <summary>Writes bytes, without padding.</summary>
    public static string Encode(ReadOnlySpan<byte> bytes) => Convert.ToBase64String(bytes).TrimEnd('=');

    /// <summary>Reads the values of one header line, which peers may join with commas,
    /// with or without padding.</summary>
    /// <returns>Null when a value is not base64.</returns>
    public static IReadOnlyList<byte[]>? Decode(string line)
    {
        List<byte[]> values = [];
        foreach (string part in line.Split(','))
        {
            string text = part.Trim().TrimEnd('=');
            string padded = text.PadRight((text.Length + 3) / 4 * 4, '=');
            byte[] bytes = new byte[Base64.GetMaxDecodedFromUtf8Length(padded.Length)];
            if (!Convert.TryFromBase64String(padded, bytes, out int length))
            {
                return null;
            }

            values.Add(bytes[..length]);
        }

        return values;
    }
}

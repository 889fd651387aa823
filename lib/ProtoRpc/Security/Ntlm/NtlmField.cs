using System.Buffers.Binary;
using System.Text;

namespace ProtoRpc.Security.Ntlm;

/// <summary>What the three NTLM messages share: signature, type,
/// and fields that point into the payload.</summary>
internal static class NtlmField
{
    /// <summary>Octets of signature and type.</summary>
    public const int HeaderSize = 12;

    /// <summary>Octets of a field: length twice, and offset.</summary>
    public const int Size = 8;

    private static ReadOnlySpan<byte> Signature => "NTLMSSP\0"u8;

    /// <summary>Whether a message of this type begins here and has at least so many octets.</summary>
    public static bool IsMessage(ReadOnlySpan<byte> message, uint type, int minimumSize) =>
        message.Length >= minimumSize
        && message.StartsWith(Signature)
        && BinaryPrimitives.ReadUInt32LittleEndian(message[Signature.Length..]) == type;

    /// <summary>Writes signature and type.</summary>
    public static void WriteHeader(Span<byte> message, uint type)
    {
        Signature.CopyTo(message);
        BinaryPrimitives.WriteUInt32LittleEndian(message[Signature.Length..], type);
    }

    /// <summary>Reads what a field points at.</summary>
    /// <returns>False when it points outside of the message.</returns>
    public static bool TryRead(ReadOnlySpan<byte> message, int position, out ReadOnlySpan<byte> value)
    {
        int length = BinaryPrimitives.ReadUInt16LittleEndian(message[position..]);
        uint offset = BinaryPrimitives.ReadUInt32LittleEndian(message[(position + 4)..]);
        value = default;
        if (length == 0)
        {
            // The offset of nothing may be anything.
            return true;
        }

        if (offset > (uint)message.Length || length > message.Length - (int)offset)
        {
            return false;
        }

        value = message.Slice((int)offset, length);
        return true;
    }

    /// <summary>Reads the text that a field points at.</summary>
    /// <returns>False when it points outside of the message, or has half a character.</returns>
    public static bool TryReadText(ReadOnlySpan<byte> message, int position, out string text)
    {
        text = "";
        if (!TryRead(message, position, out ReadOnlySpan<byte> value) || value.Length % 2 != 0)
        {
            return false;
        }

        text = Encoding.Unicode.GetString(value);
        return true;
    }

    /// <summary>Writes a field and its value.</summary>
    /// <param name="message">The message.</param>
    /// <param name="position">Where the field is.</param>
    /// <param name="offset">Where the value goes.</param>
    /// <param name="value">The value.</param>
    /// <returns>Where the next value goes.</returns>
    public static int Write(Span<byte> message, int position, int offset, ReadOnlySpan<byte> value)
    {
        ushort length = checked((ushort)value.Length);
        BinaryPrimitives.WriteUInt16LittleEndian(message[position..], length);
        BinaryPrimitives.WriteUInt16LittleEndian(message[(position + 2)..], length);
        BinaryPrimitives.WriteUInt32LittleEndian(message[(position + 4)..], (uint)offset);
        value.CopyTo(message[offset..]);
        return offset + value.Length;
    }
}

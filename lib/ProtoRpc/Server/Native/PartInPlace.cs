using Google.Protobuf;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Protocols.Headers;

namespace ProtoRpc.Server.Native;

/// <summary>Reads a part of a message without copying its payload, which is nearly all of it.</summary>
internal static class PartInPlace
{
    // All fields of the message have tags of one octet.
    private const byte PayloadTag =
        (RpcMultiPartRequest.PayloadBytesFieldNumber << WireType.TagBits) | (int)WireType.LengthDelimited;

    private const byte FirstOfLongTag = 0x80;
    private const int MaxVarint64Bytes = 10;

    /// <summary>Reads a part whose payload is its last field, where serializers put it.</summary>
    /// <param name="bytes">The part; it must not change for as long as the result is used.</param>
    /// <returns>Null for any other bytes: the parser of the message reads them, or says what is
    /// wrong.</returns>
    public static RpcMultiPartRequest? TryRead(ReadOnlyMemory<byte> bytes)
    {
        ReadOnlySpan<byte> span = bytes.Span;
        int position = 0;
        while (position < span.Length && span[position] != PayloadTag)
        {
            byte tag = span[position++];
            if (tag >= FirstOfLongTag || !TryReadVarint(span, ref position, out ulong value))
            {
                return null;
            }

            if ((tag & WireType.Mask) == WireType.LengthDelimited && value <= (ulong)(span.Length - position))
            {
                position += (int)value;
            }
            else if ((tag & WireType.Mask) != WireType.Varint)
            {
                return null;
            }
        }

        int header = position++;
        if (header >= span.Length || !TryReadVarint(span, ref position, out ulong length)
            || length != (ulong)(span.Length - position))
        {
            return null;
        }

        try
        {
            RpcMultiPartRequest part = RpcMultiPartRequest.Parser.ParseFrom(span[..header]);
            part.PayloadBytes = UnsafeByteOperations.UnsafeWrap(bytes[position..]);
            return part;
        }
        catch (InvalidProtocolBufferException)
        {
            return null;
        }
    }

    private static bool TryReadVarint(ReadOnlySpan<byte> span, ref int position, out ulong value)
    {
        value = 0;
        for (int i = 0; i < MaxVarint64Bytes && position < span.Length; i++)
        {
            byte octet = span[position++];
            value |= (ulong)(octet & 0x7F) << (7 * i);
            if (octet < 0x80)
            {
                return true;
            }
        }

        return false;
    }
}

using ProtoRpc.Messages;
using ProtoRpc.Messages.Binary;

namespace ProtoRpc.Formats.Text;

/// <summary>Guesses whether the bytes of an unknown field are a message.</summary>
/// <remarks>By hand and not by the reader of messages, whose errors would cost too much: there may be very
/// many such fields.</remarks>
internal static class UnknownShape
{
    private const int MaxVarintBytes = 10;

    public static bool IsMessage(ReadOnlySpan<byte> bytes) => TrySkipFields(ref bytes, 0, 0) && bytes.IsEmpty;

    private static bool TrySkipFields(ref ReadOnlySpan<byte> bytes, uint endTag, int depth)
    {
        while (!bytes.IsEmpty)
        {
            if (!TryTakeVarint(ref bytes, out ulong wide)
                || wide > uint.MaxValue || wide >> WireType.TagBits == 0)
            {
                return false;
            }
            uint tag = (uint)wide;
            if (tag == endTag)
            {
                return true;
            }
            bool skipped = (tag & WireType.Mask) switch
            {
                WireType.Varint => TryTakeVarint(ref bytes, out _),
                WireType.Fixed32 => TryTake(ref bytes, sizeof(uint)),
                WireType.Fixed64 => TryTake(ref bytes, sizeof(ulong)),
                WireType.LengthDelimited =>
                    TryTakeVarint(ref bytes, out ulong length) && TryTake(ref bytes, length),
                WireType.StartGroup => depth < MessageLayout.MaxDepth &&
                    TrySkipFields(ref bytes, tag - WireType.StartGroup + WireType.EndGroup, depth + 1),
                _ => false,
            };
            if (!skipped)
            {
                return false;
            }
        }
        return endTag == 0;
    }

    private static bool TryTakeVarint(ref ReadOnlySpan<byte> bytes, out ulong value)
    {
        value = 0;
        for (int i = 0; i < bytes.Length && i < MaxVarintBytes; i++)
        {
            value |= (bytes[i] & 0x7FUL) << (7 * i);
            if (bytes[i] < 0x80)
            {
                bytes = bytes[(i + 1)..];
                return true;
            }
        }
        return false;
    }

    private static bool TryTake(ref ReadOnlySpan<byte> bytes, ulong length)
    {
        if (length > (ulong)bytes.Length)
        {
            return false;
        }
        bytes = bytes[(int)length..];
        return true;
    }
}

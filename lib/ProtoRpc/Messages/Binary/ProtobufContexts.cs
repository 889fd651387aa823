using System.Buffers.Binary;
using System.Runtime.InteropServices;

namespace ProtoRpc.Messages.Binary;

/// <summary>Takes bytes from, and gives bytes to, Google.Protobuf's contexts, whose own ways to do so are not
/// public.</summary>
internal static class ProtobufContexts
{
    /// <summary>The bytes up to the context's limit, or to the end of the current group.</summary>
    public static ReadOnlySpan<byte> ReadAll(ref ParseContext context)
    {
        ArrayBufferWriter<byte> output = new();
        uint tag;
        while ((tag = context.ReadTag()) != 0 && (tag & WireType.Mask) != WireType.EndGroup)
        {
            CopyField(ref context, tag, output, 0);
        }
        return output.WrittenSpan;
    }

    public static void WriteAll(ref WriteContext context, ReadOnlySpan<byte> bytes)
    {
        // WriteContext cannot write raw bytes, but a fixed64 is eight raw bytes and a raw tag one.
        foreach (ulong eight in MemoryMarshal.Cast<byte, ulong>(bytes))
        {
            context.WriteFixed64(
                BitConverter.IsLittleEndian ? eight : BinaryPrimitives.ReverseEndianness(eight));
        }
        foreach (byte rest in bytes[(bytes.Length & -sizeof(ulong))..])
        {
            context.WriteRawTag(rest);
        }
    }

    private static void CopyField(
        ref ParseContext context, uint tag, ArrayBufferWriter<byte> output, int depth)
    {
        WriteVarint(output, tag);
        switch (tag & WireType.Mask)
        {
            case WireType.Varint:
                WriteVarint(output, context.ReadUInt64());
                break;
            case WireType.Fixed64:
                BinaryPrimitives.WriteUInt64LittleEndian(
                    output.GetSpan(sizeof(ulong)), context.ReadFixed64());
                output.Advance(sizeof(ulong));
                break;
            case WireType.LengthDelimited:
                ByteString bytes = context.ReadBytes();
                WriteVarint(output, (ulong)bytes.Length);
                output.Write(bytes.Span);
                break;
            case WireType.StartGroup:
                CopyGroup(ref context, output, depth + 1);
                break;
            case WireType.Fixed32:
                BinaryPrimitives.WriteUInt32LittleEndian(output.GetSpan(sizeof(uint)), context.ReadFixed32());
                output.Advance(sizeof(uint));
                break;
            default:
                throw new RpcException(
                    RpcStatusCode.InvalidArgument, RpcErrorIds.MalformedMessage,
                    "The bytes are not a protobuf message: " +
                    $"the wire type {tag & WireType.Mask} does not exist.");
        }
    }

    private static void CopyGroup(ref ParseContext context, ArrayBufferWriter<byte> output, int depth)
    {
        if (depth > MessageLayout.MaxDepth)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.TooDeep,
                "The message is rejected: " +
                $"groups are nested more than {MessageLayout.MaxDepth} deep.");
        }
        uint tag;
        while ((tag = context.ReadTag()) != 0)
        {
            if ((tag & WireType.Mask) == WireType.EndGroup)
            {
                // The decoder checks whether the end tag belongs to the right group.
                WriteVarint(output, tag);
                return;
            }
            CopyField(ref context, tag, output, depth);
        }
    }

    private static void WriteVarint(ArrayBufferWriter<byte> output, ulong value)
    {
        Span<byte> target = output.GetSpan(10);
        int size = 0;
        while (value >= 0x80)
        {
            target[size++] = (byte)(value | 0x80);
            value >>= 7;
        }
        target[size++] = (byte)value;
        output.Advance(size);
    }
}

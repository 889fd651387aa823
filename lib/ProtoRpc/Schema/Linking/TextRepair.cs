using Google.Protobuf;
using Google.Protobuf.Reflection;

namespace ProtoRpc.Schema.Linking;

/// <summary>Makes the strings of a serialized message UTF-8.</summary>
internal static class TextRepair
{
    // As deep as parsers let messages nest. What is deeper is left to them to refuse.
    private const int MaxDepth = 100;

    /// <summary>The message with U+FFFD for what is not UTF-8 in its strings.</summary>
    /// <exception cref="InvalidProtocolBufferException">The bytes are no message.</exception>
    public static ByteString Repair(ByteString message, MessageDescriptor type) => Repair(message, type, 0);

    private static ByteString Repair(ByteString message, MessageDescriptor type, int depth)
    {
        using MemoryStream repaired = new(message.Length);
        using CodedOutputStream output = new(repaired);
        using CodedInputStream input = message.CreateCodedInput();
        for (uint tag = input.ReadTag(); tag != 0; tag = input.ReadTag())
        {
            FieldDescriptor? field = WireFormat.GetTagWireType(tag) == WireFormat.WireType.LengthDelimited
                ? type.FindFieldByNumber(WireFormat.GetTagFieldNumber(tag))
                : null;
            if (field?.FieldType == FieldType.String)
            {
                output.WriteTag(tag);
                output.WriteString(input.ReadBytes().ToStringUtf8());
            }
            else if (field?.FieldType == FieldType.Message && depth < MaxDepth)
            {
                output.WriteTag(tag);
                output.WriteBytes(Repair(input.ReadBytes(), field.MessageType, depth + 1));
            }
            else
            {
                Copy(message, tag, input, output, repaired);
            }
        }

        output.Flush();
        return ByteString.CopyFrom(repaired.GetBuffer(), 0, (int)repaired.Length);
    }

    private static void Copy(
        ByteString message, uint tag, CodedInputStream input, CodedOutputStream output, MemoryStream repaired)
    {
        int start = (int)input.Position;
        input.SkipLastField();
        output.WriteTag(tag);
        output.Flush();
        repaired.Write(message.Span[start..(int)input.Position]);
    }
}

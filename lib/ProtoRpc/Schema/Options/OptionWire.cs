using System.Text;
using System.Text.Unicode;
using Google.Protobuf;
using static Google.Protobuf.WireFormat;

namespace ProtoRpc.Schema.Options;

/// <summary>Reads single values of options from the wire.</summary>
internal static class OptionWire
{
    /// <summary>Reads a field's value, or all of a packed one; a message as its bytes.</summary>
    /// <returns>False, with nothing read, when the wire type is not one of the field.</returns>
    public static bool TryRead(
        CodedInputStream input, uint tag, RpcFieldInfo field, byte[] bytes, OptionFieldValues values)
    {
        WireType wire = GetTagWireType(tag);
        if (wire == FieldWireTypes.Of(field.Kind))
        {
            bool isGroup = field.Kind == RpcFieldKind.Group;
            values.Add(field, isGroup ? ReadGroup(input, tag, bytes) : ReadValue(input, field));
            return true;
        }

        if (wire == WireType.LengthDelimited && field.IsRepeated)
        {
            using CodedInputStream packed = input.ReadBytes().CreateCodedInput();
            while (!packed.IsAtEnd)
            {
                values.Add(field, ReadValue(packed, field));
            }

            return true;
        }

        return false;
    }

    /// <summary>Reads a value of which only the wire type is known: ulong, uint or byte[].</summary>
    public static object ReadRaw(CodedInputStream input, uint tag, byte[] bytes) => GetTagWireType(tag) switch
    {
        WireType.Varint => input.ReadUInt64(),
        WireType.Fixed64 => input.ReadFixed64(),
        WireType.Fixed32 => input.ReadFixed32(),
        WireType.LengthDelimited => input.ReadBytes().ToByteArray(),
        _ => ReadGroup(input, tag, bytes),
    };

    private static byte[] ReadGroup(CodedInputStream input, uint tag, byte[] bytes)
    {
        int start = (int)input.Position;
        // Skips up to and including the end tag, which is as long as the start tag.
        input.SkipLastField();
        return bytes[start..((int)input.Position - CodedOutputStream.ComputeRawVarint32Size(tag))];
    }

    private static object ReadValue(CodedInputStream input, RpcFieldInfo field) => field.Kind switch
    {
        RpcFieldKind.Double => input.ReadDouble(),
        RpcFieldKind.Float => input.ReadFloat(),
        RpcFieldKind.Int64 => input.ReadInt64(),
        RpcFieldKind.UInt64 => input.ReadUInt64(),
        RpcFieldKind.Int32 => input.ReadInt32(),
        RpcFieldKind.Fixed64 => input.ReadFixed64(),
        RpcFieldKind.Fixed32 => input.ReadFixed32(),
        RpcFieldKind.Bool => input.ReadBool(),
        RpcFieldKind.String => ReadText(input.ReadBytes().ToByteArray()),
        RpcFieldKind.UInt32 => input.ReadUInt32(),
        RpcFieldKind.Enum => input.ReadEnum(),
        RpcFieldKind.SFixed32 => input.ReadSFixed32(),
        RpcFieldKind.SFixed64 => input.ReadSFixed64(),
        RpcFieldKind.SInt32 => input.ReadSInt32(),
        RpcFieldKind.SInt64 => input.ReadSInt64(),
        _ => input.ReadBytes().ToByteArray(),
    };

    // proto2 lets strings hold any bytes; those that are no text stay bytes.
    private static object ReadText(byte[] bytes) =>
        Utf8.IsValid(bytes) ? Encoding.UTF8.GetString(bytes) : bytes;
}

namespace ProtoRpc.Fuzz.Inputs;

/// <summary>A field as it stands on the wire.</summary>
/// <param name="Number">Its number; 0 for bytes that are no field.</param>
/// <param name="Type">The wire type.</param>
/// <param name="Value">What follows the tag, without the length.</param>
internal sealed record WireField(int Number, int Type, byte[] Value)
{
    /// <summary>Bytes that are written as they are.</summary>
    public static WireField Raw(byte[] bytes) => new(0, 0, bytes);

    public WireField WithValue(byte[] value) => this with { Value = value };

    /// <summary>The fields of a message; what cannot be read is the last, as it is.</summary>
    public static List<WireField> Split(ReadOnlySpan<byte> message)
    {
        List<WireField> fields = [];
        while (!message.IsEmpty)
        {
            int tagLength = ReadVarint(message, out ulong tag);
            ReadOnlySpan<byte> rest = message[tagLength..];
            int type = (int)(tag & 7);
            int start = 0;
            int length = type switch
            {
                0 => ReadVarint(rest, out _),
                1 => 8,
                2 => LengthOf(rest, out start),
                5 => 4,
                3 or 4 => 0,
                _ => -1,
            };
            if (tagLength == 0 || tag >> 3 == 0 || tag > uint.MaxValue || length < 0
                || (type == 0 && length == 0) || length > rest.Length - start)
            {
                fields.Add(Raw(message.ToArray()));
                break;
            }

            fields.Add(new WireField((int)(tag >> 3), type, rest.Slice(start, length).ToArray()));
            message = rest[(start + length)..];
        }

        return fields;
    }

    /// <summary>The bytes of fields.</summary>
    public static byte[] Join(IEnumerable<WireField> fields)
    {
        List<byte> bytes = [];
        foreach (WireField field in fields)
        {
            if (field.Number != 0)
            {
                AddVarint(bytes, ((ulong)(uint)field.Number << 3) | (uint)field.Type);
                if (field.Type == 2)
                {
                    AddVarint(bytes, (ulong)field.Value.Length);
                }
            }

            bytes.AddRange(field.Value);
        }

        return [.. bytes];
    }

    /// <summary>A number as it stands on the wire.</summary>
    public static byte[] Varint(ulong value)
    {
        List<byte> bytes = [];
        AddVarint(bytes, value);
        return [.. bytes];
    }

    private static int LengthOf(ReadOnlySpan<byte> bytes, out int start)
    {
        start = ReadVarint(bytes, out ulong length);
        return start == 0 || length > int.MaxValue ? -1 : (int)length;
    }

    private static int ReadVarint(ReadOnlySpan<byte> bytes, out ulong value)
    {
        value = 0;
        for (int i = 0; i < Math.Min(10, bytes.Length); i++)
        {
            value |= (ulong)(bytes[i] & 0x7F) << (7 * i);
            if (bytes[i] < 0x80)
            {
                return i + 1;
            }
        }

        return 0;
    }

    private static void AddVarint(List<byte> bytes, ulong value)
    {
        for (; value >= 0x80; value >>= 7)
        {
            bytes.Add((byte)(value | 0x80));
        }

        bytes.Add((byte)value);
    }
}

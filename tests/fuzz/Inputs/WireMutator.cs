namespace ProtoRpc.Fuzz.Inputs;

/// <summary>Changes fields of Protocol Buffers' wire format: their order, numbers, wire types and lengths, at
/// any depth. Lengths around a change are written anew, so that the change is read.</summary>
/// <param name="prefix">Bytes before the message, which are changed rarely.</param>
internal sealed class WireMutator(int prefix = 0) : IMutator
{
    private const int MaxDepth = 12;

    public byte[] Change(Random random, byte[] input, IReadOnlyList<byte[]> others)
    {
        if (input.Length <= prefix || random.Next(4) == 0)
        {
            return ByteMutator.Instance.Change(random, input, others);
        }

        byte[] other = others.Count > 0 ? others[random.Next(others.Count)] : input;
        byte[] changed = ChangeMessage(
            random, input.AsSpan(prefix), other.AsSpan(Math.Min(prefix, other.Length)), 0);
        return [.. input.AsSpan(0, prefix), .. changed];
    }

    private static byte[] ChangeMessage(Random random, ReadOnlySpan<byte> message, ReadOnlySpan<byte> other,
        int depth)
    {
        List<WireField> fields = WireField.Split(message);
        if (fields.Count == 0)
        {
            return [.. message, .. FieldOf(random, other)];
        }

        int at = random.Next(fields.Count);
        WireField field = fields[at];
        if (field.Type == 2 && depth < MaxDepth && random.Next(2) == 0)
        {
            fields[at] = field.WithValue(ChangeMessage(random, field.Value, other, depth + 1));
            return WireField.Join(fields);
        }

        switch (random.Next(10))
        {
            case 0:
                fields.RemoveAt(at);
                break;
            case 1:
                fields.Insert(random.Next(fields.Count + 1), field);
                break;
            case 2:
                fields.Insert(at, WireField.Raw(FieldOf(random, other)));
                break;
            case 3:
                fields[at] = field with
                {
                    Number = random.Next(2) == 0 ? random.Next(1, 64) : field.Number
                    + 1
                };
                break;
            case 4:
                fields[at] = field with { Type = random.Next(8) };
                break;
            case 5:
                // A group around it, or half of one.
                fields.Insert(at, new WireField(random.Next(1, 32), 3, []));
                if (random.Next(4) > 0)
                {
                    fields.Insert(at + 2, fields[at] with { Type = 4 });
                }

                break;
            case 6:
                fields[at] = field.WithValue(Value(random));
                break;
            case 7:
                // The same message within itself, again and again.
                for (int i = random.Next(random.Next(8) == 0 ? 130 : 6); i >= 0
                    && fields[at].Value.Length < 2048; i--)
                {
                    fields[at] = new WireField(field.Number, 2, WireField.Join([fields[at]]));
                }

                break;
            case 8:
                (fields[at], fields[0]) = (fields[0], fields[at]);
                break;
            default:
                fields[at] = field.WithValue(ByteMutator.Instance.Change(random, field.Value, []));
                break;
        }

        return WireField.Join(fields);
    }

    private static byte[] FieldOf(Random random, ReadOnlySpan<byte> other)
    {
        List<WireField> fields = WireField.Split(other);
        return fields.Count == 0
            ? [(byte)random.Next(256), (byte)random.Next(256)]
            : WireField.Join([fields[random.Next(fields.Count)]]);
    }

    private static byte[] Value(Random random) => random.Next(5) switch
    {
        0 => [],
        1 => [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01],
        2 => [0xED, 0xA0, 0x80],
        3 => [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00],
        _ => [(byte)random.Next(256), 0, 0, 0, (byte)random.Next(256), 0, 0, 0x80],
    };
}

namespace ProtoRpc.Messages.Binary;

// Entries of maps.
internal static partial class MessageDecoder
{
    private static void ReadMapEntry(
        ref WireReader reader, DynamicMessage message, FieldLayout field, int start)
    {
        FieldLayout keyField = field.Key;
        FieldLayout valueField = field.Value;
        object? key = null;
        object? value = null;
        bool known = true;

        reader.CountEntry();
        int outerEnd = reader.EnterMessage();
        while (!reader.AtEnd)
        {
            uint tag = reader.ReadTag();
            if (tag == keyField.Tag)
            {
                key = ReadMapPart(ref reader, keyField, null);
            }
            else if (tag == valueField.Tag)
            {
                value = ReadMapPart(ref reader, valueField, value);
                known = valueField.ClosedNumbers is not { } numbers || numbers.Contains((int)value);
            }
            else
            {
                reader.Skip(tag);
            }
        }
        reader.LeaveMessage(outerEnd);

        if (known)
        {
            message.MapOf(field)[key ?? DefaultMapPart(ref reader, keyField)] =
                value ?? DefaultMapPart(ref reader, valueField);
        }
        else
        {
            message.AppendUnknown(reader.Since(start));
        }
    }

    private static object ReadMapPart(ref WireReader reader, FieldLayout part, object? before)
    {
        switch (part.Kind)
        {
            case RpcFieldKind.String:
                return ReadString(ref reader, part);
            case RpcFieldKind.Bytes:
                return reader.ReadBytes().ToArray();
            case RpcFieldKind.Message or RpcFieldKind.Group:
                DynamicMessage child = before as DynamicMessage ?? reader.NewMessage(part.Message);
                ReadMessage(ref reader, child, part);
                return child;
            default:
                return ScalarValue.Box(part.Kind, ReadScalar(ref reader, part.Kind));
        }
    }

    private static object DefaultMapPart(ref WireReader reader, FieldLayout part) => part.Kind switch
    {
        RpcFieldKind.Message or RpcFieldKind.Group => NewComplete(ref reader, part.Message),
        RpcFieldKind.String => "",
        RpcFieldKind.Bytes => Array.Empty<byte>(),
        RpcFieldKind.Enum => part.Enum!.Values[0].Value,
        _ => ScalarValue.Box(part.Kind, 0),
    };

    private static DynamicMessage NewComplete(ref WireReader reader, MessageLayout layout)
    {
        DynamicMessage message = reader.NewMessage(layout);
        reader.Require(layout, message.Scalars, message.References);
        return message;
    }
}


namespace ProtoRpc.Messages.Binary;

/// <summary>Gives a message back the unknown fields of the message that its object was made of.</summary>
internal static class UnknownFieldFilter
{
    public static void Restore(DynamicMessage message, DynamicMessage source)
    {
        if (source.Layout != message.Layout || source.UnknownFieldBytes.IsEmpty)
        {
            return;
        }
        WireReader reader = new(source.UnknownFieldBytes, source.Type);
        while (!reader.AtEnd)
        {
            int start = reader.Position;
            uint tag = reader.ReadTag();
            reader.Skip(tag);
            // A number that a closed enum did not have is unknown, too. Once its field is set again, that
            // wins: an older value behind it would win for a reader that knows the number.
            FieldLayout? field = message.Layout.Find((int)(tag >> WireType.TagBits));
            if (field is null || field.IsRepeated || !message.Has(field))
            {
                message.AppendUnknown(reader.Since(start));
            }
        }
    }
}

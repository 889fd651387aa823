namespace ProtoRpc.Messages.Binary;

/// <summary>The unknown fields of a message, as received bytes.</summary>
/// <param name="store">The message's store, whose place they take: few messages have unknown fields.</param>
internal sealed class UnknownFields(object? store)
{
    private byte[] _bytes = [];
    private int _length;

    public object? Store => store;

    public ReadOnlySpan<byte> Bytes => _bytes.AsSpan(0, _length);

    public void Append(ReadOnlySpan<byte> field)
    {
        int length = checked(_length + field.Length);
        if (length > _bytes.Length)
        {
            Array.Resize(ref _bytes, (int)Math.Min(Math.Max(length, 2L * _bytes.Length), Array.MaxLength));
        }

        field.CopyTo(_bytes.AsSpan(_length));
        _length = length;
    }
}

/// <summary>Restores the unknown fields of the message from which an object was created.</summary>
internal static class UnknownFieldFilter
{
    public static void Restore(DynamicMessage message, DynamicMessage source)
    {
        if (source.UnknownFieldBytes.IsEmpty || source.Type.FullName != message.Type.FullName)
        {
            return;
        }

        // The object contained these extensions by name, so their new values are already in the message.
        HashSet<int>? set = null;
        WireReader own = new(message.UnknownFieldBytes, message.Type);
        while (!own.AtEnd)
        {
            uint tag = own.ReadTag();
            own.Skip(tag);
            (set ??= []).Add((int)(tag >> WireType.TagBits));
        }

        bool isSameSchema = source.Layout == message.Layout;
        ArrayBufferWriter<byte>? known = null;
        WireReader reader = new(source.UnknownFieldBytes, source.Type);
        while (!reader.AtEnd)
        {
            int start = reader.Position;
            uint tag = reader.ReadTag();
            reader.Skip(tag);
            if (set?.Contains((int)(tag >> WireType.TagBits)) == true)
            {
                continue;
            }

            // A number that a closed enum does not declare is also an unknown field. If the field was set
            // again, the old number is dropped: it would come last, so a reader that declares it would use
            // it.
            FieldLayout? field = message.Layout.Find((int)(tag >> WireType.TagBits));
            if (field is null || (isSameSchema && (field.IsRepeated || !message.Has(field))))
            {
                message.AppendUnknown(reader.Since(start));
            }
            else if (!isSameSchema && !message.Has(field)
                && (field.CaseSlot < 0 || message.ChosenOf(field.CaseSlot) is null))
            {
                (known ??= new()).Write(reader.Since(start));
            }
        }

        if (known is not null)
        {
            // A newer copy of the schema may declare fields that were unknown in the source.
            message.MergeFrom(known.WrittenSpan);
        }
    }
}

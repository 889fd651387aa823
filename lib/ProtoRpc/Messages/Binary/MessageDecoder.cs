using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text.Unicode;

namespace ProtoRpc.Messages.Binary;

/// <summary>Reads the binary format of Protocol Buffers into a <see cref="DynamicMessage"/>, merging it with
/// the existing fields.</summary>
internal static class MessageDecoder
{
    /// <returns>Whether all messages that were read have their required fields. If not, fields may be
    /// missing, or in another part of the same message.</returns>
    public static bool Merge(DynamicMessage message, ReadOnlySpan<byte> bytes)
    {
        ElementBudget unlimited = ElementBudget.Unlimited;
        return Merge(message, bytes, ref unlimited);
    }

    /// <param name="message">The message to fill.</param>
    /// <param name="bytes">Its bytes.</param>
    /// <param name="budget">The remaining number of elements, which is reduced.</param>
    /// <returns>Whether all that was read has its required fields.</returns>
    public static bool Merge(DynamicMessage message, ReadOnlySpan<byte> bytes, ref ElementBudget budget)
    {
        WireReader reader = new(bytes, message.Type, budget);
        ReadFields(ref reader, message, 0);
        budget = reader.Budget;
        return reader.IsComplete;
    }

    /// <param name="reader">The reader of the bytes.</param>
    /// <param name="message">The message to fill.</param>
    /// <param name="endTag">The tag that ends a group; 0 where the length ends the message.</param>
    private static void ReadFields(ref WireReader reader, DynamicMessage message, uint endTag)
    {
        MessageLayout layout = message.Layout;
        ScalarSlots scalars = message.Scalars;
        Span<object?> references = message.References;
        while (!reader.AtEnd)
        {
            int start = reader.Position;
            uint tag = reader.ReadTag();
            FieldLayout? field = layout.Find((int)(tag >> WireType.TagBits));
            if (field is null || tag != field.Tag)
            {
                if (!ReadOther(ref reader, message, field, tag, start, endTag))
                {
                    reader.Require(layout, scalars, references);
                    return;
                }
                continue;
            }
            // Fast path for singular scalars.
            ulong value;
            switch (field.Way)
            {
                case FieldWay.Varint:
                    value = reader.ReadVarint();
                    break;
                case FieldWay.Int32:
                    value = ScalarValue.ToBits((int)reader.ReadVarint());
                    break;
                case FieldWay.Fixed64:
                    value = reader.ReadFixed64();
                    break;
                case FieldWay.Scalar:
                    value = ReadScalar(ref reader, field.Kind);
                    break;
                case FieldWay.String:
                    references[field.Slot] = Kept(field, ReadString(ref reader, field));
                    continue;
                case FieldWay.Bytes:
                    references[field.Slot] = Kept(field, reader.ReadBytes());
                    continue;
                case FieldWay.Message:
                    DynamicMessage child = Unsafe.As<DynamicMessage?>(references[field.Slot])
                        ?? reader.NewMessage(field.Message);
                    references[field.Slot] = child;
                    ReadNested(ref reader, child);
                    continue;
                case FieldWay.Messages:
                    ReadMessages(ref reader, ref references[field.Slot], field, tag);
                    continue;
                default:
                    if (field.IsRepeated)
                    {
                        ReadElement(ref reader, message, field, start);
                    }
                    else
                    {
                        ReadSingle(ref reader, message, field, start);
                    }
                    continue;
            }
            scalars[field.Slot] = value;
            scalars[field.PresenceWord] |= field.PresenceMask;
        }
        if (endTag != 0)
        {
            throw reader.Truncated("a group", reader.Position);
        }
        reader.Require(layout, scalars, references);
    }

    /// <summary>Reads tags that do not begin a single value of a field.</summary>
    /// <returns>Whether the message continues.</returns>
    private static bool ReadOther(
        ref WireReader reader, DynamicMessage message, FieldLayout? field, uint tag, int start, uint endTag)
    {
        if (field is not null && tag == field.PackedTag)
        {
            ReadPacked(ref reader, message, field);
        }
        else if (tag == endTag)
        {
            return false;
        }
        else if (tag == MessageSetItem.StartTag && message.Layout.IsMessageSet)
        {
            ReadItem(ref reader, message, start);
        }
        else
        {
            // Also a known field with another wire type: the sender's schema may declare another type.
            reader.Skip(tag);
            message.AppendUnknown(reader.Since(start));
        }
        return true;
    }

    /// <summary>Reads a message of a list, and the following ones with the same tag.</summary>
    private static void ReadMessages(ref WireReader reader, ref object? slot, FieldLayout field, uint tag)
    {
        MessageLayout layout = field.Message;
        if (slot is not List<DynamicMessage> list)
        {
            slot = list = new List<DynamicMessage>(reader.CountRun(tag));
        }
        do
        {
            DynamicMessage child = reader.NewMessage(layout);
            int count = list.Count;
            // List.Add would check the class of each element, because the list's array could hold a base
            // class.
            CollectionsMarshal.SetCount(list, count + 1);
            CollectionsMarshal.AsSpan(list)[count] = child;
            ReadNested(ref reader, child);
        }
        while (reader.TryReadTag(tag));
    }

    private static void ReadSingle(
        ref WireReader reader, DynamicMessage message, FieldLayout field, int start)
    {
        switch (field.Kind)
        {
            case RpcFieldKind.String:
                message.StoreReference(field, Kept(field, ReadString(ref reader, field)));
                break;
            case RpcFieldKind.Bytes:
                message.StoreReference(field, Kept(field, reader.ReadBytes()));
                break;
            case RpcFieldKind.Message or RpcFieldKind.Group:
                DynamicMessage child = message.References[field.Slot] as DynamicMessage
                    ?? reader.NewMessage(field.Message);
                message.StoreReference(field, child);
                ReadMessage(ref reader, child, field);
                break;
            default:
                ulong value = ReadScalar(ref reader, field.Kind);
                if (field.ClosedNumbers is { } known && !known.Contains((int)value))
                {
                    message.AppendUnknown(reader.Since(start));
                    break;
                }
                message.StoreScalar(field, value);
                break;
        }
    }

    private static void ReadElement(
        ref WireReader reader, DynamicMessage message, FieldLayout field, int start)
    {
        switch (field.Kind)
        {
            case RpcFieldKind.Message or RpcFieldKind.Group:
                if (field.IsMap)
                {
                    ReadMapEntry(ref reader, message, field, start);
                    break;
                }
                DynamicMessage child = reader.NewMessage(field.Message);
                message.ListOf<DynamicMessage>(field).Add(child);
                ReadMessage(ref reader, child, field);
                break;
            case RpcFieldKind.String:
                message.ListOf<string>(field).Add(ReadString(ref reader, field));
                break;
            case RpcFieldKind.Bytes:
                message.ListOf<byte[]>(field).Add(reader.ReadBytes().ToArray());
                break;
            default:
                AddScalar(message, field, ReadScalar(ref reader, field.Kind), reader.Since(start));
                break;
        }
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static ulong ReadScalar(ref WireReader reader, RpcFieldKind kind) => kind switch
    {
        RpcFieldKind.Int32 or RpcFieldKind.Enum => ScalarValue.ToBits((int)reader.ReadVarint()),
        RpcFieldKind.Int64 or RpcFieldKind.UInt64 => reader.ReadVarint(),
        RpcFieldKind.UInt32 => (uint)reader.ReadVarint(),
        RpcFieldKind.SInt32 => ScalarValue.ToBits(ScalarValue.FromZigZag32((uint)reader.ReadVarint())),
        RpcFieldKind.SInt64 => (ulong)ScalarValue.FromZigZag64(reader.ReadVarint()),
        RpcFieldKind.Bool => reader.ReadVarint() != 0 ? 1UL : 0,
        RpcFieldKind.Fixed32 or RpcFieldKind.Float => reader.ReadFixed32(),
        RpcFieldKind.SFixed32 => ScalarValue.ToBits((int)reader.ReadFixed32()),
        _ => reader.ReadFixed64(),
    };

    private static void AddScalar(
        DynamicMessage message, FieldLayout field, ulong value, ReadOnlySpan<byte> record)
    {
        if (field.ClosedNumbers is { } known && !known.Contains((int)value))
        {
            AppendUnknownEnum(message, field, value, record);
        }
        else
        {
            ScalarLists.Add(message, field, value);
        }
    }

    /// <summary>Keeps a number that a closed enum does not declare as an unknown field. A packed number gets
    /// a separate tag, as in every implementation, because it cannot stay in its array.</summary>
    private static void AppendUnknownEnum(
        DynamicMessage message, FieldLayout field, ulong value, ReadOnlySpan<byte> record)
    {
        if (!record.IsEmpty)
        {
            message.AppendUnknown(record);
            return;
        }
        using WireWriter writer = new(0);
        writer.WriteVarint(value);
        writer.WriteVarint(field.Tag);
        message.AppendUnknown(writer.Written);
    }

    private static void ReadPacked(ref WireReader reader, DynamicMessage message, FieldLayout field)
    {
        int outerEnd = reader.EnterPacked();
        while (!reader.AtEnd)
        {
            AddScalar(message, field, ReadScalar(ref reader, field.Kind), record: []);
        }
        reader.LeavePacked(outerEnd);
    }

    // Without presence, an empty value is the same as an absent field.

    private static string? Kept(FieldLayout field, string text) =>
        text.Length > 0 || field.HasPresence ? text : null;

    private static byte[]? Kept(FieldLayout field, ReadOnlySpan<byte> bytes) =>
        bytes.Length > 0 || field.HasPresence ? bytes.ToArray() : null;

    private static string ReadString(ref WireReader reader, FieldLayout field)
    {
        int start = reader.Position;
        ReadOnlySpan<byte> bytes = reader.ReadBytes();
        if (bytes.IsEmpty)
        {
            return "";
        }
        if (Ascii.IsValid(bytes))
        {
            // Fast path: most text is ASCII, whose length in characters is the number of bytes.
            return string.Create(
                bytes.Length, bytes, static (text, ascii) => Ascii.ToUtf16(ascii, text, out _));
        }
        if (field.ValidatesUtf8 && !Utf8.IsValid(bytes))
        {
            throw reader.Malformed($"the string {field.Info.FullName} is not valid UTF-8", start);
        }
        return Encoding.UTF8.GetString(bytes);
    }

    private static void ReadMessage(ref WireReader reader, DynamicMessage child, FieldLayout field)
    {
        if (field.Kind == RpcFieldKind.Group)
        {
            reader.EnterGroup();
            ReadFields(ref reader, child, field.EndTag);
            reader.LeaveGroup();
        }
        else
        {
            ReadNested(ref reader, child);
        }
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static void ReadNested(ref WireReader reader, DynamicMessage child)
    {
        int outerEnd = reader.EnterMessage();
        ReadFields(ref reader, child, 0);
        reader.LeaveMessage(outerEnd);
    }

    /// <summary>Reads an item of a MessageSet after its first tag; its parts may have any order.</summary>
    private static void ReadItem(ref WireReader reader, DynamicMessage message, int start)
    {
        if (MessageSetItem.Read(ref reader) is not { } item)
        {
            return;
        }
        if (message.Layout.Find(item.TypeId) is not { } field)
        {
            // The type is unknown, so the nested message is not parsed.
            message.AppendUnknown(reader.Since(start));
            return;
        }
        int end = reader.Position;
        reader.Seek(item.MessageStart);
        ReadSingle(ref reader, message, field, start);
        reader.Seek(end);
    }

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

using System.Runtime.CompilerServices;
using System.Text;
using System.Text.Unicode;

namespace ProtoRpc.Messages.Binary;

/// <summary>Reads protobuf's binary format into a <see cref="DynamicMessage"/>, merging with what it
/// holds.</summary>
internal static class MessageDecoder
{
    public static void Merge(DynamicMessage message, ReadOnlySpan<byte> bytes)
    {
        ElementBudget unlimited = ElementBudget.Unlimited;
        Merge(message, bytes, ref unlimited);
    }

    /// <param name="message">What is filled.</param>
    /// <param name="bytes">Its bytes.</param>
    /// <param name="budget">What it may be made of; less by what it was made of afterwards.</param>
    public static void Merge(DynamicMessage message, ReadOnlySpan<byte> bytes, ref ElementBudget budget)
    {
        WireReader reader = new(bytes, message.Type, budget);
        ReadFields(ref reader, message, 0);
        budget = reader.Budget;
    }

    /// <param name="reader">Where the bytes come from.</param>
    /// <param name="message">What is filled.</param>
    /// <param name="endTag">The tag that ends a group; 0 where the length ends the message.</param>
    private static void ReadFields(ref WireReader reader, DynamicMessage message, uint endTag)
    {
        MessageLayout layout = message.Layout;
        while (!reader.AtEnd)
        {
            int start = reader.Position;
            uint tag = reader.ReadTag();
            FieldLayout? field = layout.Find((int)(tag >> WireType.TagBits));
            if (field is not null && tag == field.Tag)
            {
                if (field.IsRepeated)
                {
                    ReadElement(ref reader, message, field, start);
                }
                else
                {
                    ReadSingle(ref reader, message, field, start);
                }
            }
            else if (field is not null && tag == field.PackedTag)
            {
                ReadPacked(ref reader, message, field);
            }
            else if (tag == endTag)
            {
                return;
            }
            else if (tag == MessageSetItem.StartTag && layout.IsMessageSet)
            {
                ReadItem(ref reader, message, start);
            }
            else
            {
                // Also a known field with the wire type of another: it may have had another type.
                reader.Skip(tag);
                message.Unknown.Append(reader.Since(start));
            }
        }
        if (endTag != 0)
        {
            throw reader.Truncated("a group", reader.Position);
        }
    }

    private static void ReadSingle(
        ref WireReader reader, DynamicMessage message, FieldLayout field, int start)
    {
        switch (field.Kind)
        {
            case RpcFieldKind.String:
                string text = ReadString(ref reader, field);
                message.StoreReference(field, text.Length > 0 || field.HasPresence ? text : null);
                break;
            case RpcFieldKind.Bytes:
                byte[] bytes = reader.ReadBytes().ToArray();
                message.StoreReference(field, bytes.Length > 0 || field.HasPresence ? bytes : null);
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
                    message.Unknown.Append(reader.Since(start));
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
    private static ulong ReadScalar(ref WireReader reader, RpcFieldKind kind)
    {
        switch (kind)
        {
            case RpcFieldKind.Int32 or RpcFieldKind.Enum:
                return ScalarValue.Of((int)reader.ReadVarint());
            case RpcFieldKind.Int64 or RpcFieldKind.UInt64:
                return reader.ReadVarint();
            case RpcFieldKind.UInt32:
                return (uint)reader.ReadVarint();
            case RpcFieldKind.SInt32:
                return ScalarValue.Of(ScalarValue.FromZigZag32((uint)reader.ReadVarint()));
            case RpcFieldKind.SInt64:
                return (ulong)ScalarValue.FromZigZag64(reader.ReadVarint());
            case RpcFieldKind.Bool:
                return reader.ReadVarint() != 0 ? 1UL : 0;
            case RpcFieldKind.Fixed32 or RpcFieldKind.Float:
                return reader.ReadFixed32();
            case RpcFieldKind.SFixed32:
                return ScalarValue.Of((int)reader.ReadFixed32());
            default:
                return reader.ReadFixed64();
        }
    }

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

    /// <summary>Keeps a number that a closed enum does not have. A packed one gets a tag of its own, as every
    /// implementation does: it cannot stay in its array.</summary>
    private static void AppendUnknownEnum(
        DynamicMessage message, FieldLayout field, ulong value, ReadOnlySpan<byte> record)
    {
        if (!record.IsEmpty)
        {
            message.Unknown.Append(record);
            return;
        }
        using WireWriter writer = new(0);
        writer.WriteVarint(value);
        writer.WriteVarint(field.Tag);
        message.Unknown.Append(writer.Written);
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
            // Most text, and the one whose length is known without looking.
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
            int outerEnd = reader.EnterMessage();
            ReadFields(ref reader, child, 0);
            reader.LeaveMessage(outerEnd);
        }
    }

    /// <summary>Reads an item of a MessageSet whose first tag was read;
    /// its parts come in any order.</summary>
    private static void ReadItem(ref WireReader reader, DynamicMessage message, int start)
    {
        if (MessageSetItem.Read(ref reader) is not { } item)
        {
            return;
        }
        if (message.Layout.Find(item.TypeId) is not { } field)
        {
            // Its message is not looked at, as it was not before there was such a type.
            message.Unknown.Append(reader.Since(start));
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
            message.Unknown.Append(reader.Since(start));
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
        RpcFieldKind.Message or RpcFieldKind.Group => reader.NewMessage(part.Message),
        RpcFieldKind.String => "",
        RpcFieldKind.Bytes => Array.Empty<byte>(),
        RpcFieldKind.Enum => part.Enum!.Values[0].Value,
        _ => ScalarValue.Box(part.Kind, 0),
    };
}

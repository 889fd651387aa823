using System.Collections;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Generated;

/// <summary>A map.</summary>
/// <param name="layout">Where it lies.</param>
/// <param name="field">What it is.</param>
/// <param name="enumType">The .NET type of its values where they are enums.</param>
/// <param name="wraps">Whether its values are messages that generated classes show as their value.</param>
internal sealed class GeneratedMap(FieldLayout layout, FieldDescriptor field, Type? enumType, bool wraps)
    : GeneratedField(layout)
{
    private readonly IFieldAccessor _accessor = field.Accessor;

    public override void Load(IMessage from, DynamicMessage to)
    {
        IDictionary entries = (IDictionary)_accessor.GetValue(from);
        if (entries.Count == 0)
        {
            return;
        }
        OrderedDictionary<object, object> map = MapKeys.NewMap(entries.Count);
        foreach (DictionaryEntry entry in entries)
        {
            if (Shown(entry.Value) is { } value)
            {
                map[entry.Key is string text ? TextOf(text) : entry.Key] = value;
            }
        }
        to.References[Layout.Slot] = map.Count == 0 ? null : map;
    }

    /// <summary>The number of entries.</summary>
    public int CountOf(IMessage message) => ((IDictionary)_accessor.GetValue(message)).Count;

    /// <summary>Sets an entry.</summary>
    /// <returns>False where the key is there already, and the entry is not to be replaced.</returns>
    public bool PutEntry(IMessage to, object key, object value, bool replaces)
    {
        IDictionary entries = (IDictionary)_accessor.GetValue(to);
        if (!replaces && entries.Contains(key))
        {
            return false;
        }
        entries[key] = value switch
        {
            DynamicMessage wrapper => GeneratedWrapper.Unwrap(wrapper),
            byte[] bytes => UnsafeByteOperations.UnsafeWrap(bytes),
            int number when enumType is not null => Enum.ToObject(enumType, number),
            _ => value,
        };
        return true;
    }

    // Null for a number that a closed enum does not have.
    private object? Shown(object? value)
    {
        if (wraps)
        {
            return GeneratedWrapper.Wrap(Layout.Value.Message, value);
        }
        if (enumType is not null)
        {
            int number = (int)value!;
            return Layout.Value.ClosedNumbers is { } known && !known.Contains(number) ? null : number;
        }
        return value switch
        {
            string text => TextOf(text),
            ByteString bytes => BytesOf(bytes),
            _ => value,
        };
    }
}

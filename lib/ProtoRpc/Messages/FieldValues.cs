using System.Collections;
using System.Collections.ObjectModel;
using ProtoRpc.Messages.Mapping;

namespace ProtoRpc.Messages;

/// <summary>Checks that a value has a field's type, and provides the values of absent fields.</summary>
internal static class FieldValues
{
    /// <summary>The value of an absent field that is stored by reference.</summary>
    public static object? AbsentValue(FieldLayout field)
    {
        if (field.IsMap)
        {
            return ReadOnlyDictionary<object, object>.Empty;
        }
        if (field.IsRepeated)
        {
            return EmptyArray(field.Kind);
        }
        return field.Kind == RpcFieldKind.Bytes ? BytesDefault(field) : field.Info.DefaultValue;
    }

    /// <summary>The default of a bytes field: a copy, because callers may write to it.</summary>
    public static byte[] BytesDefault(FieldLayout field) =>
        field.Info.DefaultValue is byte[] { Length: > 0 } bytes ? (byte[])bytes.Clone() : [];

    /// <summary>Returns the value to store: checked, and copied if it is a collection; null if the field is
    /// then empty.</summary>
    public static object? Checked(FieldLayout field, object value)
    {
        if (field.IsMap)
        {
            return CheckedMap(field, value);
        }
        if (field.IsRepeated)
        {
            return CheckedList(field, value);
        }
        object one = CheckedOne(field, value, field);
        return !field.HasPresence && one is ("" or byte[] { Length: 0 }) ? null : one;
    }

    public static void CheckClosedEnum(FieldLayout field, ulong bits)
    {
        if (field.ClosedNumbers is { } known && !known.Contains((int)bits))
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidFieldValue,
                $"{field.Info.FullName} cannot be {(int)bits}: the enum {field.Enum!.FullName} is " +
                "closed and has no such number.");
        }
    }

    public static RpcException WrongType(FieldLayout field, object? value) => new(
        RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidFieldValue,
        $"{field.Info.FullName} must be {Expected(field)}, not {value?.GetType().FullName ?? "null"}. " +
        $"{nameof(MessageMapper)} converts other types.");

    private static string Expected(FieldLayout field)
    {
        string one = field.IsMessage && !field.IsMap
            ? $"a {nameof(DynamicMessage)} of the type {field.Info.MessageType!.FullName} of the same schema"
            : ScalarValue.TypeOf(field.Kind).Name;
        return field switch
        {
            { IsMap: true } => $"a dictionary from {Expected(field.Key)} to {Expected(field.Value)}",
            { IsRepeated: true } => $"a sequence of {one}",
            _ => one,
        };
    }

    private static object CheckedOne(FieldLayout field, object? value, FieldLayout reported)
    {
        switch (value)
        {
            case DynamicMessage message when field.IsMessage && message.Layout == field.Message:
            case string when field.Kind == RpcFieldKind.String:
            case byte[] when field.Kind == RpcFieldKind.Bytes:
                return value;
            default:
                if (!field.IsReference && ScalarValue.TryUnbox(field.Kind, value, out ulong bits))
                {
                    CheckClosedEnum(field, bits);
                    return value!;
                }
                throw WrongType(reported, value);
        }
    }

    private static OrderedDictionary<object, object>? CheckedMap(FieldLayout field, object value)
    {
        if (value is not IDictionary source)
        {
            throw WrongType(field, value);
        }
        OrderedDictionary<object, object> map = MapKeys.NewMap(source.Count);
        foreach (DictionaryEntry entry in source)
        {
            map[CheckedOne(field.Key, entry.Key, field)] = CheckedOne(field.Value, entry.Value, field);
        }
        return map.Count == 0 ? null : map;
    }

    private static object? CheckedList(FieldLayout field, object value) => field.Kind switch
    {
        RpcFieldKind.Double => Copy<double>(field, value),
        RpcFieldKind.Float => Copy<float>(field, value),
        RpcFieldKind.Int64 or RpcFieldKind.SFixed64 or RpcFieldKind.SInt64 => Copy<long>(field, value),
        RpcFieldKind.UInt64 or RpcFieldKind.Fixed64 => Copy<ulong>(field, value),
        RpcFieldKind.UInt32 or RpcFieldKind.Fixed32 => Copy<uint>(field, value),
        RpcFieldKind.Bool => Copy<bool>(field, value),
        RpcFieldKind.String => Copy<string>(field, value),
        RpcFieldKind.Bytes => Copy<byte[]>(field, value),
        RpcFieldKind.Message or RpcFieldKind.Group => Copy<DynamicMessage>(field, value),
        _ => Copy<int>(field, value),
    };

    private static List<T>? Copy<T>(FieldLayout field, object value)
    {
        if (value is not IEnumerable<T> source)
        {
            throw WrongType(field, value);
        }
        List<T> list = [.. source];
        if (field.IsMessage || field.ClosedNumbers is not null || default(T) is null)
        {
            foreach (T item in list)
            {
                CheckElement(field, item);
            }
        }
        return list.Count == 0 ? null : list;
    }

    private static void CheckElement(FieldLayout field, object? item)
    {
        bool fits = item switch
        {
            null => false,
            DynamicMessage message => message.Layout == field.Message,
            _ => true,
        };
        if (!fits)
        {
            throw WrongType(field, item);
        }
        if (item is int number)
        {
            CheckClosedEnum(field, ScalarValue.ToBits(number));
        }
    }

    private static Array EmptyArray(RpcFieldKind kind) => kind switch
    {
        RpcFieldKind.Double => Array.Empty<double>(),
        RpcFieldKind.Float => Array.Empty<float>(),
        RpcFieldKind.Int64 or RpcFieldKind.SFixed64 or RpcFieldKind.SInt64 => Array.Empty<long>(),
        RpcFieldKind.UInt64 or RpcFieldKind.Fixed64 => Array.Empty<ulong>(),
        RpcFieldKind.UInt32 or RpcFieldKind.Fixed32 => Array.Empty<uint>(),
        RpcFieldKind.Bool => Array.Empty<bool>(),
        RpcFieldKind.String => Array.Empty<string>(),
        RpcFieldKind.Bytes => Array.Empty<byte[]>(),
        RpcFieldKind.Message or RpcFieldKind.Group => Array.Empty<DynamicMessage>(),
        _ => Array.Empty<int>(),
    };
}

/// <summary>The value of a field that is converted to an object on its first access. Thread-safe.</summary>
/// <remarks>Handlers read few of the received messages, and PowerShell objects need a hundred times the
/// memory and the time of the messages that they are created from.</remarks>
internal sealed class DeferredValue(ObjectWriter writer, DynamicMessage message, FieldLayout field, int depth)
{
    private readonly Lock _gate = new();
    private ObjectWriter? _writer = writer;

    // First the content of the message, then the object. Taken now, because other code may change the
    // message.
    private object? _value = message.References[field.Slot];

    /// <summary>The object, made once.</summary>
    public object? Make()
    {
        lock (_gate)
        {
            if (_writer is { } maker)
            {
                _value = maker.WriteReference(field, _value, depth);
                _writer = null;
            }

            return _value;
        }
    }

    /// <summary>The object if it was created. Otherwise a temporary one with a limited number of elements,
    /// because a view shows only a few.</summary>
    /// <param name="most">How many elements.</param>
    /// <param name="count">The number of elements; -1 for a value without elements, or one that was created
    /// before.</param>
    public object? Peek(int most, out int count)
    {
        lock (_gate)
        {
            count = -1;
            if (_writer is not { } maker)
            {
                return _value;
            }

            switch (_value)
            {
                case List<DynamicMessage> list:
                    count = list.Count;
                    return maker.WriteReference(field, list.GetRange(0, Math.Min(most, count)), depth);
                case List<int> list:
                    count = list.Count;
                    return maker.WriteReference(field, list.GetRange(0, Math.Min(most, count)), depth);
                case OrderedDictionary<object, object> map:
                    count = map.Count;
                    return maker.WriteReference(
                        field, new OrderedDictionary<object, object>(map.Take(most), MapKeys.Boxed), depth);
                default:
                    return maker.WriteReference(field, _value, depth);
            }
        }
    }
}

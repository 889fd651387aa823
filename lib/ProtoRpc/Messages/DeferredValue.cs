using ProtoRpc.Messages.Mapping;

namespace ProtoRpc.Messages;

/// <summary>The value of a message's field that is made an object when somebody looks at it. Safe for many
/// threads.</summary>
/// <remarks>Handlers look at few of the messages that come, and the objects of a shell take a hundred times
/// the memory and the time of what they are made of.</remarks>
internal sealed class DeferredValue(ObjectWriter writer, DynamicMessage message, FieldLayout field, int depth)
{
    private readonly Lock _gate = new();
    private ObjectWriter? _writer = writer;

    // What the message holds first, and then the object; the message may be changed by others meanwhile.
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

    /// <summary>The object, where it was made; else one that is not kept, of so many elements of a list or
    /// map at most: what is shown of a message is little.</summary>
    /// <param name="most">How many elements.</param>
    /// <param name="count">How many there are; -1 of what has none, or was made.</param>
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

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
}

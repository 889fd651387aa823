using System.Reflection;
using System.Runtime.CompilerServices;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Generated;

/// <summary>A field that is a property of its class, which is read and set without reflection.</summary>
internal abstract class GeneratedProperty<TMessage, TValue>(
    FieldLayout layout, FieldDescriptor field, PropertyInfo property)
    : GeneratedField(layout)
    where TMessage : class, IMessage
{
    private readonly Func<TMessage, TValue> _get =
        property.GetMethod!.CreateDelegate<Func<TMessage, TValue>>();

    private readonly Action<TMessage, TValue> _set =
        property.SetMethod!.CreateDelegate<Action<TMessage, TValue>>();

    private readonly Func<TMessage, bool>? _has = layout.HasPresence ? Presence.Of<TMessage>(field) : null;

    /// <summary>Whether the field may be set to its default.</summary>
    protected bool HasPresence => _has is not null;

    /// <summary>Reads the field.</summary>
    /// <returns>False for one with presence that is not set.</returns>
    protected bool TryGet(IMessage from, out TValue value)
    {
        TMessage message = Unsafe.As<TMessage>(from);
        bool isThere = _has is null || _has(message);
        value = isThere ? _get(message) : default!;
        return isThere;
    }

    protected void Set(IMessage to, TValue value) => _set(Unsafe.As<TMessage>(to), value);
}

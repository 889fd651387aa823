using System.Reflection;
using System.Runtime.CompilerServices;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Generated;

/// <summary>A string.</summary>
internal sealed class GeneratedText<TMessage>(
    FieldLayout layout, FieldDescriptor field, PropertyInfo property)
    : GeneratedField(layout)
    where TMessage : class, IMessage
{
    private readonly Func<TMessage, string> _get =
        property.GetMethod!.CreateDelegate<Func<TMessage, string>>();

    private readonly Action<TMessage, string> _set =
        property.SetMethod!.CreateDelegate<Action<TMessage, string>>();

    private readonly Func<TMessage, bool>? _has = layout.HasPresence ? Presence.Of<TMessage>(field) : null;

    public override void Load(IMessage from, DynamicMessage to)
    {
        TMessage message = Unsafe.As<TMessage>(from);
        if (_has is not null && !_has(message))
        {
            return;
        }
        string text = _get(message);
        if (_has is not null || text.Length > 0)
        {
            to.StoreReference(Layout, TextOf(text));
        }
    }

    public override void Store(DynamicMessage from, IMessage to)
    {
        if (from.References[Layout.Slot] is string text)
        {
            _set(Unsafe.As<TMessage>(to), text);
        }
    }
}

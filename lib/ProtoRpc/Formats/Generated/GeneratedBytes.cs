using System.Reflection;
using System.Runtime.CompilerServices;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Generated;

/// <summary>Bytes.</summary>
internal sealed class GeneratedBytes<TMessage>(
    FieldLayout layout, FieldDescriptor field, PropertyInfo property)
    : GeneratedField(layout)
    where TMessage : class, IMessage
{
    private readonly Func<TMessage, ByteString> _get =
        property.GetMethod!.CreateDelegate<Func<TMessage, ByteString>>();

    private readonly Action<TMessage, ByteString> _set =
        property.SetMethod!.CreateDelegate<Action<TMessage, ByteString>>();

    private readonly Func<TMessage, bool>? _has = layout.HasPresence ? Presence.Of<TMessage>(field) : null;

    public override void Load(IMessage from, DynamicMessage to)
    {
        TMessage message = Unsafe.As<TMessage>(from);
        if (_has is not null && !_has(message))
        {
            return;
        }
        ByteString bytes = _get(message);
        if (_has is not null || bytes.Length > 0)
        {
            to.StoreReference(Layout, BytesOf(bytes));
        }
    }

    public override void Store(DynamicMessage from, IMessage to)
    {
        // The array is the reader's own, which nobody else has.
        if (from.References[Layout.Slot] is byte[] bytes)
        {
            _set(Unsafe.As<TMessage>(to), UnsafeByteOperations.UnsafeWrap(bytes));
        }
    }
}

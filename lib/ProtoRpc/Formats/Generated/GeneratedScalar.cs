using System.Reflection;
using System.Runtime.CompilerServices;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Generated;

/// <summary>A number, bool or enum.</summary>
internal sealed class GeneratedScalar<TMessage, TValue> : GeneratedField
    where TMessage : class, IMessage
    where TValue : unmanaged
{
    private readonly Func<TMessage, TValue> _get;
    private readonly Action<TMessage, TValue> _set;
    private readonly Func<TMessage, bool>? _has;

    public GeneratedScalar(FieldLayout layout, FieldDescriptor field, PropertyInfo property)
        : base(layout)
    {
        _get = property.GetMethod!.CreateDelegate<Func<TMessage, TValue>>();
        _set = property.SetMethod!.CreateDelegate<Action<TMessage, TValue>>();
        _has = layout.HasPresence ? Presence.Of<TMessage>(field) : null;
    }

    public override void Load(IMessage from, DynamicMessage to)
    {
        TMessage message = Unsafe.As<TMessage>(from);
        if (_has is not null && !_has(message))
        {
            return;
        }
        TValue value = _get(message);
        ulong bits = ScalarBits.Of(value);
        bool isSent = _has is not null || !ScalarBits.IsZero(value);
        if (isSent && (Layout.ClosedNumbers is not { } known || known.Contains((int)bits)))
        {
            to.StoreScalar(Layout, bits);
        }
    }

    public override void Store(DynamicMessage from, IMessage to)
    {
        if (from.HasScalar(Layout))
        {
            _set(Unsafe.As<TMessage>(to), ScalarBits.To<TValue>(from.Scalars[Layout.Slot]));
        }
    }
}

using System.Reflection;
using System.Runtime.CompilerServices;
using Google.Protobuf;
using Google.Protobuf.Collections;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Generated;

/// <summary>A list of numbers, bools or enums.</summary>
/// <typeparam name="TMessage">The class.</typeparam>
/// <typeparam name="TItem">What the generated list has.</typeparam>
/// <typeparam name="TBits">What the list of a dynamic message has: of enums the numbers.</typeparam>
internal sealed class GeneratedList<TMessage, TItem, TBits>(FieldLayout layout, PropertyInfo property)
    : GeneratedField(layout)
    where TMessage : class, IMessage
    where TItem : unmanaged
    where TBits : unmanaged
{
    private readonly Func<TMessage, RepeatedField<TItem>> _get =
        property.GetMethod!.CreateDelegate<Func<TMessage, RepeatedField<TItem>>>();

    public override void Load(IMessage from, DynamicMessage to)
    {
        RepeatedField<TItem> items = _get(Unsafe.As<TMessage>(from));
        if (items.Count == 0)
        {
            return;
        }
        List<TBits> list = new(items.Count);
        for (int i = 0; i < items.Count; i++)
        {
            TBits value = Unsafe.BitCast<TItem, TBits>(items[i]);
            if (Layout.ClosedNumbers is not { } known || known.Contains(Unsafe.BitCast<TBits, int>(value)))
            {
                list.Add(value);
            }
        }
        to.References[Layout.Slot] = list.Count == 0 ? null : list;
    }

    public override void Put(IMessage to, ulong bits) =>
        _get(Unsafe.As<TMessage>(to)).Add(ScalarBits.To<TItem>(bits));
}

using System.Reflection;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Generated;

/// <summary>A number, bool or enum.</summary>
internal sealed class GeneratedScalar<TMessage, TValue>(
    FieldLayout layout, FieldDescriptor field, PropertyInfo property)
    : GeneratedProperty<TMessage, TValue>(layout, field, property)
    where TMessage : class, IMessage
    where TValue : unmanaged
{
    public override void Load(IMessage from, DynamicMessage to)
    {
        if (!TryGet(from, out TValue value) || (!HasPresence && ScalarBits.IsZero(value)))
        {
            return;
        }

        ulong bits = ScalarBits.Of(value);
        if (Layout.ClosedNumbers is not { } known || known.Contains((int)bits))
        {
            to.StoreScalar(Layout, bits);
        }
    }

    public override void Put(IMessage to, ulong bits) => Set(to, ScalarBits.To<TValue>(bits));
}

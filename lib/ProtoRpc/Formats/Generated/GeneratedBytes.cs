using System.Reflection;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Generated;

/// <summary>Bytes.</summary>
internal sealed class GeneratedBytes<TMessage>(
    FieldLayout layout, FieldDescriptor field, PropertyInfo property)
    : GeneratedProperty<TMessage, ByteString>(layout, field, property)
    where TMessage : class, IMessage
{
    public override void Load(IMessage from, DynamicMessage to)
    {
        if (TryGet(from, out ByteString bytes) && (HasPresence || bytes.Length > 0))
        {
            to.StoreReference(Layout, BytesOf(bytes));
        }
    }

    // The array is the reader's own, which nobody else has.
    public override void Put(IMessage to, object value) =>
        Set(to, UnsafeByteOperations.UnsafeWrap((byte[])value));
}

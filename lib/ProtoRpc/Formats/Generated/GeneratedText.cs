using System.Reflection;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Generated;

/// <summary>A string.</summary>
internal sealed class GeneratedText<TMessage>(
    FieldLayout layout, FieldDescriptor field, PropertyInfo property)
    : GeneratedProperty<TMessage, string>(layout, field, property)
    where TMessage : class, IMessage
{
    public override void Load(IMessage from, DynamicMessage to)
    {
        if (TryGet(from, out string text) && (HasPresence || text.Length > 0))
        {
            to.StoreReference(Layout, TextOf(text));
        }
    }

    public override void Put(IMessage to, object value) => Set(to, (string)value);
}

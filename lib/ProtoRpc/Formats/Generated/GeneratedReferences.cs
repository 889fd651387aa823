using System.Collections;
using Google.Protobuf;
using Google.Protobuf.Collections;
using Google.Protobuf.Reflection;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Generated;

/// <summary>A list of strings, bytes or messages.</summary>
internal sealed class GeneratedReferences(FieldLayout layout, FieldDescriptor field, bool wraps)
    : GeneratedField(layout)
{
    private readonly IFieldAccessor _accessor = field.Accessor;

    public override void Load(IMessage from, DynamicMessage to)
    {
        IList items = (IList)_accessor.GetValue(from);
        if (items.Count > 0)
        {
            to.References[Layout.Slot] = items switch
            {
                _ when wraps => Wrapped(items),
                RepeatedField<string> texts => texts.Select(TextOf).ToList(),
                RepeatedField<ByteString> values => values.Select(BytesOf).ToList(),
                _ => items,
            };
        }
    }

    public override void Put(IMessage to, object value) => ((IList)_accessor.GetValue(to)).Add(value switch
    {
        DynamicMessage wrapper => GeneratedWrapper.Unwrap(wrapper),
        byte[] bytes => UnsafeByteOperations.UnsafeWrap(bytes),
        _ => value,
    });

    private List<DynamicMessage> Wrapped(IList values)
    {
        List<DynamicMessage> messages = new(values.Count);
        foreach (object value in values)
        {
            messages.Add(GeneratedWrapper.Wrap(Layout.Message, value));
        }
        return messages;
    }
}

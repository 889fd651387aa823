using Google.Protobuf;
using Google.Protobuf.Reflection;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Generated;

/// <summary>A message or a group.</summary>
internal sealed class GeneratedChild(FieldLayout layout, FieldDescriptor field) : GeneratedField(layout)
{
    private readonly IFieldAccessor _accessor = field.Accessor;

    public override void Load(IMessage from, DynamicMessage to)
    {
        if (_accessor.GetValue(from) is { } child)
        {
            to.StoreReference(Layout, child);
        }
    }

    public override void Put(IMessage to, object value) => _accessor.SetValue(to, value);
}

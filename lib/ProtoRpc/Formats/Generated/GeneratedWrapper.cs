using Google.Protobuf;
using Google.Protobuf.Reflection;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Generated;

/// <summary>A message such as google.protobuf.Int32Value, which generated classes show as its
/// value.</summary>
internal sealed class GeneratedWrapper(FieldLayout layout, FieldDescriptor field) : GeneratedField(layout)
{
    private readonly IFieldAccessor _accessor = field.Accessor;

    /// <summary>The message of a value.</summary>
    public static DynamicMessage Wrap(MessageLayout layout, object? value)
    {
        DynamicMessage message = new(layout);
        FieldLayout inner = layout.Fields[0];
        switch (value)
        {
            case null or "":
                break;
            case string text:
                message.References[inner.Slot] = TextOf(text);
                break;
            case ByteString bytes:
                message.References[inner.Slot] = bytes.Length == 0 ? null : BytesOf(bytes);
                break;
            default:
                ScalarValue.TryUnbox(inner.Kind, value, out message.Scalars[inner.Slot]);
                break;
        }
        return message;
    }

    /// <summary>The value of a message.</summary>
    public static object Unwrap(DynamicMessage message)
    {
        object value = message.Get(message.Layout.Fields[0].Info)!;
        return value is byte[] bytes ? UnsafeByteOperations.UnsafeWrap(bytes) : value;
    }

    public override void Load(IMessage from, DynamicMessage to)
    {
        if (_accessor.GetValue(from) is { } value)
        {
            to.StoreReference(Layout, Wrap(Layout.Message, value));
        }
    }

    public override void Put(IMessage to, object value) =>
        _accessor.SetValue(to, Unwrap((DynamicMessage)value));
}

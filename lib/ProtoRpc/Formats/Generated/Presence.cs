using System.Diagnostics.CodeAnalysis;
using System.Reflection;
using Google.Protobuf;
using Google.Protobuf.Reflection;

namespace ProtoRpc.Formats.Generated;

/// <summary>Whether a field of a generated message is set.</summary>
internal static class Presence
{
    [UnconditionalSuppressMessage(
        "Trimming", "IL2075", Justification = "Without the property the accessor is asked.")]
    public static Func<TMessage, bool> Of<TMessage>(FieldDescriptor field)
        where TMessage : class, IMessage
    {
        PropertyInfo? has = field.ContainingType.ClrType.GetProperty($"Has{field.PropertyName}");
        IFieldAccessor accessor = field.Accessor;
        return has?.PropertyType == typeof(bool) && has.GetMethod is { IsStatic: false } get
            && field.FieldType != FieldType.Message
            ? get.CreateDelegate<Func<TMessage, bool>>()
            : message => accessor.HasValue(message);
    }
}

using System.Diagnostics.CodeAnalysis;
using System.Reflection;
using Google.Protobuf;
using Google.Protobuf.Collections;
using Google.Protobuf.Reflection;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Generated;

/// <summary>Finds how the fields of a generated class are read and written.</summary>
internal static class GeneratedFields
{
    private const string WrapperFile = "google/protobuf/wrappers.proto";

    /// <summary>Whether generated classes show the messages of a field as the value in them.</summary>
    public static bool IsWrapped(FieldDescriptor field) =>
        field.FieldType == FieldType.Message && field.MessageType.File.Name == WrapperFile;

    /// <returns>Null where the class does not have the field, or another one of that number.</returns>
    public static GeneratedField? Find(FieldLayout layout, FieldDescriptor? field)
    {
        if (field is null || field.IsExtension || !IsSame(layout, field))
        {
            return null;
        }
        if (layout.IsMap)
        {
            FieldDescriptor value = field.MessageType.FindFieldByNumber(2);
            return IsSame(layout.Key, field.MessageType.FindFieldByNumber(1))
                && IsSame(layout.Value, value) && (!IsWrapped(value) || IsWrapper(layout.Value))
                ? new GeneratedMap(
                    layout, field, value.FieldType == FieldType.Enum ? value.EnumType.ClrType : null,
                    IsWrapped(value))
                : null;
        }
        bool wraps = IsWrapped(field);
        if (wraps && !IsWrapper(layout))
        {
            return null;
        }
        if (layout.IsRepeated && IsReference(layout.Kind))
        {
            return new GeneratedReferences(layout, field, wraps);
        }
        if (layout.IsMessage)
        {
            return wraps ? new GeneratedWrapper(layout, field) : new GeneratedChild(layout, field);
        }
        return FindTyped(layout, field);
    }

    [UnconditionalSuppressMessage(
        "AOT", "IL3050", Justification = "Not called where types cannot be made at run time.")]
    [UnconditionalSuppressMessage(
        "Trimming", "IL2076", Justification = "Numbers, bools and enums are made without a constructor.")]
    [UnconditionalSuppressMessage(
        "Trimming", "IL2055", Justification = "The types made have no members that are found by name.")]
    [UnconditionalSuppressMessage(
        "Trimming", "IL2075", Justification = "Without its property a class goes by its binary form.")]
    private static GeneratedField? FindTyped(FieldLayout layout, FieldDescriptor field)
    {
        Type message = field.ContainingType.ClrType;
        PropertyInfo? property = message.GetProperty(field.PropertyName ?? "");
        Type type = layout.Kind switch
        {
            RpcFieldKind.Bytes => typeof(ByteString),
            RpcFieldKind.Enum => field.EnumType.ClrType,
            _ => ScalarValue.TypeOf(layout.Kind),
        };
        if (layout.IsRepeated)
        {
            return property?.PropertyType == typeof(RepeatedField<>).MakeGenericType(type)
                ? Create(
                    typeof(GeneratedList<,,>)
                        .MakeGenericType(message, type, ScalarValue.TypeOf(layout.Kind)), layout, property)
                : null;
        }
        if (property is not { SetMethod.IsPublic: true } || property.PropertyType != type)
        {
            return null;
        }
        return layout.Kind switch
        {
            RpcFieldKind.String =>
                Create(typeof(GeneratedText<>).MakeGenericType(message), layout, field, property),
            RpcFieldKind.Bytes =>
                Create(typeof(GeneratedBytes<>).MakeGenericType(message), layout, field, property),
            _ => Create(
                typeof(GeneratedScalar<,>).MakeGenericType(message, type), layout, field, property),
        };
    }

    private static GeneratedField Create(
        [DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicConstructors)] Type type,
        params object[] arguments) =>
        (GeneratedField)Activator.CreateInstance(type, arguments)!;

    private static bool IsSame(FieldLayout layout, FieldDescriptor field) =>
        layout.Info.Number == field.FieldNumber
        && layout.Info.IsRequired == field.IsRequired
        && (layout.CaseSlot >= 0) == (field.RealContainingOneof is not null)
        && (layout.IsMessage
            ? field.FieldType is FieldType.Message or FieldType.Group
            : layout.Kind.ToString() == field.FieldType.ToString())
        && layout.IsRepeated == field.IsRepeated
        && layout.IsMap == field.IsMap
        && (layout.IsRepeated || layout.HasPresence == field.HasPresence)
        && (!layout.IsMessage || layout.Info.MessageType!.FullName == field.MessageType.FullName);

    // A schema may have another type of the name of a wrapper.
    private static bool IsWrapper(FieldLayout layout) => layout.Message.WellKnown == WellKnownType.Wrapper;

    private static bool IsReference(RpcFieldKind kind) =>
        kind is RpcFieldKind.String or RpcFieldKind.Bytes or RpcFieldKind.Message or RpcFieldKind.Group;
}

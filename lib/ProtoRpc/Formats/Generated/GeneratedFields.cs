using System.Collections;
using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Reflection;
using System.Runtime.CompilerServices;
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

    // Not compared by name: a schema may declare another type with the name of a wrapper.
    private static bool IsWrapper(FieldLayout layout) => layout.Message.WellKnown == WellKnownType.Wrapper;

    private static bool IsReference(RpcFieldKind kind) =>
        kind is RpcFieldKind.String or RpcFieldKind.Bytes or RpcFieldKind.Message or RpcFieldKind.Group;
}

/// <summary>A field of a generated class, and its slot in a dynamic message of the same type.</summary>
/// <remarks>Has no state; safe for many threads.</remarks>
internal abstract class GeneratedField(FieldLayout layout)
{
    public FieldLayout Layout { get; } = layout;

    /// <summary>Copies the field to an empty dynamic message. Nested messages are not converted; other values
    /// get the form of a dynamic message.</summary>
    public abstract void Load(IMessage from, DynamicMessage to);

    /// <summary>Sets the field to a scalar, or adds it to the list.</summary>
    public virtual void Put(IMessage to, ulong bits) => throw new UnreachableException();

    /// <summary>Sets the field to a text, bytes or a message, or adds it to the list.</summary>
    public virtual void Put(IMessage to, object value) => throw new UnreachableException();

    /// <summary>The bytes of a field for reading; its own array if possible.</summary>
    protected static byte[] BytesOf(ByteString bytes) =>
        System.Runtime.InteropServices.MemoryMarshal.TryGetArray(bytes.Memory, out ArraySegment<byte> own)
        && own.Array is { } array && array.Length == bytes.Length
            ? array
            : bytes.ToByteArray();

    /// <summary>The text as its binary form has it, where half of a surrogate pair is U+FFFD.</summary>
    protected static string TextOf(string text) =>
        text.AsSpan().ContainsAnyInRange('\uD800', '\uDFFF') ? Whole(text) : text;

    private static string Whole(string text)
    {
        System.Text.Encoding utf8 = System.Text.Encoding.UTF8;
        return utf8.GetString(utf8.GetBytes(text));
    }
}

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

/// <summary>A list of numbers, bools or enums.</summary>
/// <typeparam name="TMessage">The class.</typeparam>
/// <typeparam name="TItem">The element type of the generated list.</typeparam>
/// <typeparam name="TBits">The element type of the list of a dynamic message; for enums, their
/// numbers.</typeparam>
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

/// <summary>A map.</summary>
/// <param name="layout">The place of the map in the message.</param>
/// <param name="field">The field.</param>
/// <param name="enumType">The .NET type of the values, if they are enums.</param>
/// <param name="wraps">Whether its values are messages that generated classes show as their value.</param>
internal sealed class GeneratedMap(FieldLayout layout, FieldDescriptor field, Type? enumType, bool wraps)
    : GeneratedField(layout)
{
    private readonly IFieldAccessor _accessor = field.Accessor;

    public override void Load(IMessage from, DynamicMessage to)
    {
        IDictionary entries = (IDictionary)_accessor.GetValue(from);
        if (entries.Count == 0)
        {
            return;
        }
        OrderedDictionary<object, object> map = MapKeys.NewMap(entries.Count);
        foreach (DictionaryEntry entry in entries)
        {
            if (Shown(entry.Value) is { } value)
            {
                map[entry.Key is string text ? TextOf(text) : entry.Key] = value;
            }
        }
        to.References[Layout.Slot] = map.Count == 0 ? null : map;
    }

    /// <summary>The number of entries.</summary>
    public int CountOf(IMessage message) => ((IDictionary)_accessor.GetValue(message)).Count;

    /// <summary>Sets an entry.</summary>
    /// <returns>False where the key is there already, and the entry is not to be replaced.</returns>
    public bool PutEntry(IMessage to, object key, object value, bool replaces)
    {
        IDictionary entries = (IDictionary)_accessor.GetValue(to);
        if (!replaces && entries.Contains(key))
        {
            return false;
        }
        entries[key] = value switch
        {
            DynamicMessage wrapper => GeneratedWrapper.Unwrap(wrapper),
            byte[] bytes => UnsafeByteOperations.UnsafeWrap(bytes),
            int number when enumType is not null => Enum.ToObject(enumType, number),
            _ => value,
        };
        return true;
    }

    // Returns null for a number that a closed enum does not declare.
    private object? Shown(object? value)
    {
        if (wraps)
        {
            return GeneratedWrapper.Wrap(Layout.Value.Message, value);
        }
        if (enumType is not null)
        {
            int number = (int)value!;
            return Layout.Value.ClosedNumbers is { } known && !known.Contains(number) ? null : number;
        }
        return value switch
        {
            string text => TextOf(text),
            ByteString bytes => BytesOf(bytes),
            _ => value,
        };
    }
}

/// <summary>A message such as google.protobuf.Int32Value, which generated classes show as its
/// value.</summary>
internal sealed class GeneratedWrapper(FieldLayout layout, FieldDescriptor field) : GeneratedField(layout)
{
    private readonly IFieldAccessor _accessor = field.Accessor;

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

/// <summary>Scalars of generated classes as the 64 bits that <see cref="ScalarValue"/> keeps.</summary>
internal static class ScalarBits
{
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static ulong Get<T>(T value)
        where T : unmanaged
    {
        if (Unsafe.SizeOf<T>() == sizeof(ulong))
        {
            return Unsafe.BitCast<T, ulong>(value);
        }
        if (typeof(T) == typeof(bool))
        {
            return Unsafe.BitCast<T, bool>(value) ? 1UL : 0;
        }
        return typeof(T) == typeof(uint) || typeof(T) == typeof(float)
            ? Unsafe.BitCast<T, uint>(value)
            : ScalarValue.ToBits(Unsafe.BitCast<T, int>(value));
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static T To<T>(ulong bits)
        where T : unmanaged
    {
        if (Unsafe.SizeOf<T>() == sizeof(ulong))
        {
            return Unsafe.BitCast<ulong, T>(bits);
        }
        return typeof(T) == typeof(bool)
            ? Unsafe.BitCast<bool, T>(bits != 0)
            : Unsafe.BitCast<int, T>((int)bits);
    }

    /// <summary>Whether a field without presence is left out: generated classes do so with minus zero as
    /// well.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static bool IsZero<T>(T value)
        where T : unmanaged
    {
        if (typeof(T) == typeof(double))
        {
            return Unsafe.BitCast<T, double>(value) == 0;
        }
        return typeof(T) == typeof(float) ? Unsafe.BitCast<T, float>(value) == 0 : Get(value) == 0;
    }
}

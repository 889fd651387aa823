using System.Diagnostics.CodeAnalysis;
using System.Reflection;
using System.Runtime.CompilerServices;
using Google.Protobuf.Reflection;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Generated;

/// <summary>The properties of a generated class that a reader uses, or those of a map entry, which has no
/// class.</summary>
/// <remarks>Found when a message of the class is first read; safe for many threads.</remarks>
internal sealed class GeneratedProperties
{
    private readonly GeneratedField?[] _fields;
    private readonly GeneratedType?[] _held;
    private readonly OneofDescriptor?[] _oneofs;

    /// <param name="type">The class.</param>
    /// <param name="fields">Its fields by their index; null of an entry.</param>
    public GeneratedProperties(GeneratedType type, GeneratedField?[]? fields)
    {
        Layout = type.Layout;
        FieldDescriptor?[] known = Array.ConvertAll(
            Layout.Fields, field => type.Descriptor.FindFieldByNumber(field.Info.Number));
        _held = Array.ConvertAll(Layout.Fields, field => HeldBy(field, known[field.Index]));
        _oneofs = Array.ConvertAll(
            known, field => field is { IsExtension: false } ? field.RealContainingOneof : null);
        _fields = Array.ConvertAll(
            Layout.Fields, field => CanFill(field, known[field.Index]) ? fields?[field.Index] : null);
        AreAll = Array.TrueForAll(_fields, field => field is not null);
    }

    public MessageLayout Layout { get; }

    /// <summary>Whether all fields have a property.</summary>
    public bool AreAll { get; }

    /// <summary>How a field is set; null where the class has no property for it.</summary>
    public GeneratedField? Of(FieldLayout field) => _fields[field.Index];

    /// <summary>The class of the messages in a field; for a map, the properties of its entries. Null if they
    /// are dynamic messages.</summary>
    public GeneratedType? Held(FieldLayout field) => _held[field.Index];

    /// <summary>The member of a field's oneof that is set.</summary>
    public FieldLayout? ChosenOf(IMessage message, FieldLayout field) =>
        _oneofs[field.Index]?.Accessor.GetCaseFieldDescriptor(message) is { } chosen
            ? Layout.Find(chosen.FieldNumber)
            : null;

    private static GeneratedType? HeldBy(FieldLayout field, FieldDescriptor? known)
    {
        if (!field.IsMessage || known is not { IsExtension: false }
            || known.FieldType is not (FieldType.Message or FieldType.Group)
            || field.IsMap != known.IsMap || GeneratedFields.IsWrapped(known))
        {
            return null;
        }
        GeneratedType held = GeneratedType.At(field.Message, known.MessageType);
        return ReferenceEquals(held.Descriptor, known.MessageType) && (field.IsMap || held.CanMake)
            ? held
            : null;
    }

    // A property only accepts messages of its own class. Messages of other classes are read as dynamic
    // messages.
    private bool CanFill(FieldLayout field, FieldDescriptor? known)
    {
        if (known is null || !field.IsMessage)
        {
            return true;
        }
        if (!field.IsMap)
        {
            return GeneratedFields.IsWrapped(known) || _held[field.Index] is not null;
        }
        return !field.Value.IsMessage || (_held[field.Index] is { } entry
            && (entry.Properties.Held(field.Value) is not null
                || GeneratedFields.IsWrapped(known.MessageType.FindFieldByNumber(2))));
    }
}

/// <summary>A field that is a property of its class, which is read and set without reflection.</summary>
internal abstract class GeneratedProperty<TMessage, TValue>(
    FieldLayout layout, FieldDescriptor field, PropertyInfo property)
    : GeneratedField(layout)
    where TMessage : class, IMessage
{
    private readonly Func<TMessage, TValue> _get =
        property.GetMethod!.CreateDelegate<Func<TMessage, TValue>>();

    private readonly Action<TMessage, TValue> _set =
        property.SetMethod!.CreateDelegate<Action<TMessage, TValue>>();

    private readonly Func<TMessage, bool>? _has = layout.HasPresence ? Presence.Get<TMessage>(field) : null;

    // If the field has a default, the property of an unset field does not return zero.
    private readonly bool _hasDefault = field.FieldType == FieldType.Enum
        ? field.ToProto().HasDefaultValue || field.EnumType.Values[0].Number != 0
        : field.ToProto().HasDefaultValue;

    /// <summary>Reads the field; its default if it is not set.</summary>
    protected TValue Get(IMessage from) => _get(Unsafe.As<TMessage>(from));

    /// <summary>Whether the field is set.</summary>
    /// <param name="from">The message.</param>
    /// <param name="isEmpty">Whether the value is zero or empty. If it is not, the class is usually not
    /// asked.</param>
    protected bool IsSet(IMessage from, bool isEmpty) =>
        (!isEmpty && !_hasDefault) || (_has is null ? !isEmpty : _has(Unsafe.As<TMessage>(from)));

    protected void Set(IMessage to, TValue value) => _set(Unsafe.As<TMessage>(to), value);
}

/// <summary>A number, bool or enum.</summary>
internal sealed class GeneratedScalar<TMessage, TValue>(
    FieldLayout layout, FieldDescriptor field, PropertyInfo property)
    : GeneratedProperty<TMessage, TValue>(layout, field, property)
    where TMessage : class, IMessage
    where TValue : unmanaged
{
    public override void Load(IMessage from, DynamicMessage to)
    {
        TValue value = Get(from);
        if (!IsSet(from, ScalarBits.IsZero(value)))
        {
            return;
        }

        ulong bits = ScalarBits.Get(value);
        if (Layout.ClosedNumbers is not { } known || known.Contains((int)bits))
        {
            to.StoreScalar(Layout, bits);
        }
    }

    public override void Put(IMessage to, ulong bits) => Set(to, ScalarBits.To<TValue>(bits));
}

/// <summary>A string.</summary>
internal sealed class GeneratedText<TMessage>(
    FieldLayout layout, FieldDescriptor field, PropertyInfo property)
    : GeneratedProperty<TMessage, string>(layout, field, property)
    where TMessage : class, IMessage
{
    public override void Load(IMessage from, DynamicMessage to)
    {
        string text = Get(from);
        if (IsSet(from, text.Length == 0))
        {
            to.StoreReference(Layout, TextOf(text));
        }
    }

    public override void Put(IMessage to, object value) => Set(to, (string)value);
}

/// <summary>Bytes.</summary>
internal sealed class GeneratedBytes<TMessage>(
    FieldLayout layout, FieldDescriptor field, PropertyInfo property)
    : GeneratedProperty<TMessage, ByteString>(layout, field, property)
    where TMessage : class, IMessage
{
    public override void Load(IMessage from, DynamicMessage to)
    {
        ByteString bytes = Get(from);
        if (IsSet(from, bytes.Length == 0))
        {
            to.StoreReference(Layout, BytesOf(bytes));
        }
    }

    // The array belongs to the reader and is not shared.
    public override void Put(IMessage to, object value) =>
        Set(to, UnsafeByteOperations.UnsafeWrap((byte[])value));
}

/// <summary>Whether a field of a generated message is set.</summary>
internal static class Presence
{
    [UnconditionalSuppressMessage(
        "Trimming", "IL2075", Justification = "Without the property the accessor is asked.")]
    public static Func<TMessage, bool> Get<TMessage>(FieldDescriptor field)
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

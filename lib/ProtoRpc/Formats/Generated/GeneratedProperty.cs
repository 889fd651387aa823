using System.Diagnostics.CodeAnalysis;
using System.Reflection;
using System.Runtime.CompilerServices;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Generated;

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

    private readonly Func<TMessage, bool>? _has = layout.HasPresence ? Presence.Of<TMessage>(field) : null;

    /// <summary>Whether the field may be set to its default.</summary>
    protected bool HasPresence => _has is not null;

    /// <summary>Reads the field.</summary>
    /// <returns>False for one with presence that is not set.</returns>
    protected bool TryGet(IMessage from, out TValue value)
    {
        TMessage message = Unsafe.As<TMessage>(from);
        bool isThere = _has is null || _has(message);
        value = isThere ? _get(message) : default!;
        return isThere;
    }

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

    // The array belongs to the reader and is not shared.
    public override void Put(IMessage to, object value) =>
        Set(to, UnsafeByteOperations.UnsafeWrap((byte[])value));
}

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

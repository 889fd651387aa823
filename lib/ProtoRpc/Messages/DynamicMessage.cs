using System.Buffers;
using System.Runtime.CompilerServices;
using Google.Protobuf.Reflection;
using ProtoRpc.Messages;
using ProtoRpc.Messages.Binary;

namespace ProtoRpc;

/// <summary>A message of any type, without generated code.</summary>
/// <remarks>Many threads may read it while none changes it. Its lists, dictionaries, byte arrays and messages
/// belong to it: <see cref="Get"/> does not copy them, and <see cref="Set"/> stores byte arrays and messages
/// without copying.</remarks>
public sealed partial class DynamicMessage
{
    /// <summary>Creates an empty message.</summary>
    public DynamicMessage(RpcMessageInfo type)
        : this(MessageLayout.For(type))
    {
    }

    /// <summary>The message's type.</summary>
    public RpcMessageInfo Type => Layout.Type;

    /// <inheritdoc/>
    public MessageDescriptor Descriptor => Type.Descriptor;

    /// <summary>Unknown fields, and unknown numbers of closed enums, as they were received. They are written
    /// again.</summary>
    public ReadOnlySpan<byte> UnknownFieldBytes =>
        _more is UnknownFields unknown ? unknown.Bytes : [];

    /// <summary>Reads a message and checks its required fields.</summary>
    /// <exception cref="RpcException">InvalidArgument: the bytes are not a message of this type, and
    /// why.</exception>
    public static DynamicMessage Parse(RpcMessageInfo type, ReadOnlySequence<byte> bytes) =>
        Parse(type, bytes, int.MaxValue);

    /// <summary>Reads a message and checks its required fields.</summary>
    /// <exception cref="RpcException">InvalidArgument: the bytes are not a message of this type, and
    /// why.</exception>
    public static DynamicMessage Parse(RpcMessageInfo type, ReadOnlySpan<byte> bytes) =>
        Parse(type, bytes, int.MaxValue);

    /// <summary>Reads a message of a peer.</summary>
    /// <exception cref="RpcException">ResourceExhausted: the message has more elements than the
    /// limit.</exception>
    internal static DynamicMessage Parse(
        RpcMessageInfo type, ReadOnlySequence<byte> bytes, int maxElements, Action? look = null)
    {
        if (bytes.IsSingleSegment)
        {
            return Parse(type, bytes.FirstSpan, maxElements, look);
        }
        if (bytes.Length > Array.MaxLength)
        {
            throw new RpcException(
                RpcStatusCode.ResourceExhausted,
                $"A {type.FullName} of {bytes.Length} bytes cannot be read; {Array.MaxLength} are possible.");
        }
        byte[] whole = ArrayPool<byte>.Shared.Rent((int)bytes.Length);
        try
        {
            bytes.CopyTo(whole);
            return Parse(type, whole.AsSpan(0, (int)bytes.Length), maxElements, look);
        }
        finally
        {
            ArrayPool<byte>.Shared.Return(whole);
        }
    }

    /// <summary>Reads a message of a peer.</summary>
    /// <param name="type">The message's type.</param>
    /// <param name="bytes">The message.</param>
    /// <param name="maxElements">The maximum number of elements.</param>
    /// <param name="look">Called again and again while a long message is read; throws to end that.</param>
    /// <exception cref="RpcException">ResourceExhausted: the message has more elements than the
    /// limit.</exception>
    internal static DynamicMessage Parse(
        RpcMessageInfo type, ReadOnlySpan<byte> bytes, int maxElements, Action? look = null)
    {
        DynamicMessage message = new(type);
        if (message.MergeFrom(bytes, maxElements, look))
        {
            message.Layout.Watch?.Invoke(MessagePass.CheckRequired);
        }
        else
        {
            message.CheckRequired();
        }
        return message;
    }

    /// <summary>Merges serialized bytes into this message by the rules of Protocol Buffers: the last scalar
    /// is kept, messages are merged, and lists grow. Required fields are not checked.</summary>
    /// <exception cref="RpcException">InvalidArgument: the bytes are not a message of this type, and
    /// why.</exception>
    public void MergeFrom(ReadOnlySpan<byte> bytes) => MessageDecoder.Merge(this, bytes);

    /// <summary>Merges a peer's bytes into this message.</summary>
    /// <returns>Whether all messages that were read have their required fields. If false, check
    /// them.</returns>
    internal bool MergeFrom(ReadOnlySpan<byte> bytes, int maxElements, Action? look = null)
    {
        ElementBudget budget = new(Type, maxElements, look);
        budget.AddBytes(bytes.Length);
        return MessageDecoder.Merge(this, bytes, ref budget);
    }

    /// <summary>Serializes the message.</summary>
    /// <exception cref="RpcException">InvalidArgument: a required field is missing, or the message is nested
    /// too deeply.</exception>
    public byte[] ToByteArray()
    {
        using WireWriter writer = EncodeComplete();
        return writer.Written.ToArray();
    }

    /// <summary>Serializes the message to a buffer.</summary>
    /// <returns>The number of bytes.</returns>
    /// <exception cref="RpcException">InvalidArgument: a required field is missing, or the message is nested
    /// too deeply.</exception>
    public int WriteTo(IBufferWriter<byte> output)
    {
        using WireWriter writer = EncodeComplete();
        output.Write(writer.Written);
        return writer.Length;
    }

    /// <summary>Throws if a required field is missing in this message or a nested one.</summary>
    /// <exception cref="RpcException">InvalidArgument with the paths of the missing fields.</exception>
    public void CheckRequired() => RequiredFields.Check(this);

    /// <summary>A field's value: a boxed scalar, string, byte[], enum number (int), DynamicMessage, a list,
    /// or a dictionary for maps. An absent field is its default.</summary>
    /// <remarks>A repeated field that is set is a <see cref="List{T}"/> that may be changed; an absent one is
    /// an empty array. A map that is set is an <see cref="OrderedDictionary{TKey, TValue}"/> of objects; an
    /// absent one is empty and read-only. An absent message is null.</remarks>
    public object? Get(RpcFieldInfo field) => ValueOf(LayoutOf(field));

    private object? ValueOf(FieldLayout layout)
    {
        if (!layout.IsReference)
        {
            return HasScalar(layout) || !layout.HasPresence
                ? ScalarValue.Box(layout.Kind, Scalars[layout.Slot])
                : layout.Info.DefaultValue;
        }
        return References[layout.Slot] ?? FieldValues.AbsentValue(layout);
    }

    /// <summary>Whether a field with presence is set, or another field is not empty.</summary>
    public bool Has(RpcFieldInfo field) => Has(LayoutOf(field));

    /// <summary>Sets a field to a number or bool of its exact type, clearing others of its oneof.</summary>
    /// <remarks>The value is not boxed.</remarks>
    /// <exception cref="RpcException">InvalidArgument: the value has another type;
    /// <see cref="MessageMapper"/> converts.</exception>
    public void Set<T>(RpcFieldInfo field, T value)
        where T : struct
    {
        FieldLayout layout = LayoutOf(field);
        if (layout.SingleType != typeof(T))
        {
            Set(field, (object)value);
            return;
        }
        ulong bits = ScalarValue.Of<T>(value);
        if (layout.ClosedNumbers is not null)
        {
            FieldValues.CheckClosedEnum(layout, bits);
        }
        StoreScalar(layout, bits);
    }

    /// <summary>Sets a field to a value of its exact type, clearing others of its oneof.</summary>
    /// <remarks>A repeated field accepts any sequence of the exact element type, and a map any dictionary.
    /// Both are copied.</remarks>
    /// <exception cref="RpcException">InvalidArgument: the value has another type;
    /// <see cref="MessageMapper"/> converts.</exception>
    public void Set(RpcFieldInfo field, object value)
    {
        FieldLayout layout = LayoutOf(field);
        if (layout.IsReference)
        {
            StoreReference(layout, FieldValues.Checked(layout, value));
        }
        else if (ScalarValue.TryUnbox(layout.Kind, value, out ulong bits))
        {
            FieldValues.CheckClosedEnum(layout, bits);
            StoreScalar(layout, bits);
        }
        else
        {
            throw FieldValues.WrongType(layout, value);
        }
    }

    /// <summary>Removes a field.</summary>
    public void Clear(RpcFieldInfo field) => Clear(LayoutOf(field));

    /// <summary>Removes the unknown fields.</summary>
    public void ClearUnknownFields()
    {
        if (_more is UnknownFields unknown)
        {
            _more = unknown.Store;
        }
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal bool HasScalar(FieldLayout field) => field.PresenceMask != 0
        ? (Scalars[field.PresenceWord] & field.PresenceMask) != 0
        : Scalars[field.Slot] != 0;

    internal bool Has(FieldLayout field)
    {
        if (!field.IsReference)
        {
            return HasScalar(field);
        }
        return References[field.Slot] is { } value
            && !(field.IsRepeated && value is System.Collections.ICollection { Count: 0 });
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal void StoreScalar(FieldLayout field, ulong value)
    {
        if (field.CaseSlot >= 0)
        {
            Choose(field);
        }
        ScalarSlots scalars = Scalars;
        scalars[field.Slot] = value;
        scalars[field.PresenceWord] |= field.PresenceMask;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal void StoreReference(FieldLayout field, object? value)
    {
        if (field.CaseSlot >= 0)
        {
            Choose(field);
        }
        References[field.Slot] = value;
    }

    // A slot always holds the type of its field: Set checks values, and no other code stores objects from
    // callers.

    /// <summary>The list of a repeated field. The first access creates it.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal List<T> ListOf<T>(FieldLayout field) =>
        Unsafe.As<List<T>>(References[field.Slot] ??= new List<T>());

    internal OrderedDictionary<object, object> MapOf(FieldLayout field) =>
        Unsafe.As<OrderedDictionary<object, object>>(
            References[field.Slot] ??= MapKeys.NewMap());

    /// <summary>The member that is set of the oneof with a case slot.</summary>
    internal FieldLayout? ChosenOf(int caseSlot) =>
        Scalars[caseSlot] is > 0 and ulong chosen ? Layout.Fields[(int)chosen - 1] : null;

    private void Choose(FieldLayout field)
    {
        if (ChosenOf(field.CaseSlot) is { } chosen && chosen != field)
        {
            Clear(chosen);
        }
        Scalars[field.CaseSlot] = (ulong)field.Index + 1;
    }

    private void Clear(FieldLayout field)
    {
        if (field.CaseSlot >= 0 && ChosenOf(field.CaseSlot) == field)
        {
            Scalars[field.CaseSlot] = 0;
        }
        if (field.IsReference)
        {
            References[field.Slot] = null;
        }
        else
        {
            Scalars[field.Slot] = 0;
            Scalars[field.PresenceWord] &= ~field.PresenceMask;
        }
    }

    private FieldLayout LayoutOf(RpcFieldInfo field)
    {
        FieldLayout? layout = Layout.Find(field.Number);
        return layout is not null && ReferenceEquals(layout.Info, field)
            ? layout
            : throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"{field.FullName} is not a field of {Type.FullName} in this schema. " +
                "Take fields from the message's Type.")
            {
                ErrorId = RpcErrorIds.UnknownField,
            };
    }

    /// <summary>Serializes the message to pooled memory. Required fields are not checked.</summary>
    internal WireWriter Encode() => Encode(Array.MaxLength, "message");

    /// <summary>Serializes the message to pooled memory, and checks its required fields.</summary>
    internal WireWriter EncodeComplete()
    {
        WireWriter writer = Encode();
        if (!writer.IsIncomplete)
        {
            Layout.Watch?.Invoke(MessagePass.CheckRequired);
            return writer;
        }
        writer.Dispose();
        CheckRequired();
        // Another thread has set the missing fields meanwhile.
        return Encode();
    }

    /// <summary>Serializes a message to send.</summary>
    /// <param name="maxBytes">The maximum size.</param>
    /// <param name="what">The kind of message for the error: request or reply.</param>
    /// <exception cref="RpcException">ResourceExhausted: the message is larger.</exception>
    internal WireWriter Encode(int maxBytes, string what)
    {
        Layout.Watch?.Invoke(MessagePass.Encode);
        WireWriter writer = new(Layout.SizeHint, maxBytes, what);
        try
        {
            MessageEncoder.Write(ref writer, this);
            writer.RequireLimit();
        }
        catch
        {
            writer.Dispose();
            throw;
        }
        Layout.SizeHint = writer.Length;
        return writer;
    }
}

using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Google.Protobuf.Reflection;
using ProtoRpc.Messages;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Messages.Mapping;

namespace ProtoRpc;

/// <summary>A message of any type, without generated code.</summary>
/// <remarks>Many threads may read it while none changes it. Its lists, dictionaries, byte arrays and messages
/// belong to it: <see cref="Get"/> does not copy them, and <see cref="Set"/> stores byte arrays and messages
/// without copying.</remarks>
/// <example><code>
/// DynamicMessage request = new(schema.GetMessage("shop.PlaceRequest"));
/// request["order"] = new { id = "o1", items = new[] { "tea", "cups" } };
/// DynamicMessage order = (DynamicMessage)request["order"]!;
/// </code></example>
public sealed class DynamicMessage : IMessage<DynamicMessage>, IBufferMessage, ICustomDiagnosticMessage
{
    /// <summary>The number of scalars in the message object itself, so that a Timestamp needs no separate
    /// store.</summary>
    internal const int OwnScalars = 2;

    // Up to this many names, comparing them is faster than a dictionary.
    private const int MaxKnownNames = 12;

    // A host's texts may come from users and peers, so texts are never parsed as JSON lists.
    private static readonly MessageMapper Setting = new() { TakesRows = false };

    internal readonly MessageLayout Layout;

    // The store; null if the type needs none; or the unknown fields, which then contain the store.
    private object? _more;
    private Scalars2 _scalars;

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
    public ReadOnlySpan<byte> UnknownFieldBytes => _more is UnknownFields unknown ? unknown.Bytes : [];

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
        using WholeBytes whole = new(type, bytes);
        return Parse(type, whole.Span, maxElements, look);
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
        ulong bits = ScalarValue.ToBits<T>(value);
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
                RpcStatusCode.InvalidArgument, RpcErrorIds.UnknownField,
                $"{field.FullName} is not a field of {Type.FullName} in this schema. " +
                "Take fields from the message's Type.");
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
        // Another thread set the missing fields after the check.
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

    internal DynamicMessage(MessageLayout layout)
    {
        Layout = layout;
        _more = layout.Shape?.New(layout);
    }

    /// <summary>The scalars, in the order of the layout.</summary>
    internal ScalarSlots Scalars
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => new(
            ref Unsafe.As<Scalars2, ulong>(ref _scalars),
            Layout.ScalarCount <= OwnScalars ? default : StoredScalars);
    }

    /// <summary>The values that are references, in the order of the layout.</summary>
    internal Span<object?> References
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get
        {
            MessageLayout layout = Layout;
            if (layout.ReferenceCount == 0)
            {
                return default;
            }
            return layout.IsWide
                ? Unsafe.As<MessageStore.Wide>(Store).References
                : MemoryMarshal.CreateSpan(
                    ref Store.At<object?>(layout.ReferenceOffset), layout.ReferenceCount);
        }
    }

    private Span<ulong> StoredScalars
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => Layout.IsWide
            ? Unsafe.As<MessageStore.Wide>(Store).Scalars
            : MemoryMarshal.CreateSpan(
                ref Store.At<ulong>(Layout.ScalarOffset), Layout.ScalarCount - OwnScalars);
    }

    private MessageStore Store
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => Unsafe.As<MessageStore>(_more is UnknownFields unknown ? unknown.Store : _more)!;
    }

    internal void AppendUnknown(ReadOnlySpan<byte> field)
    {
        if (field.IsEmpty)
        {
            return;
        }
        if (_more is not UnknownFields unknown)
        {
            _more = unknown = new UnknownFields(_more);
        }
        unknown.Append(field);
    }

    /// <summary>A field by its name or its JSON name, also case-insensitive, or an extension by
    /// <c>[full.name]</c>.</summary>
    /// <value>
    /// <para>Returns the value of <see cref="Get"/>: a boxed scalar, string, byte[], enum number (int),
    /// DynamicMessage, a list, or a dictionary for maps. An absent field is its default, an absent message is
    /// null.</para>
    /// <para>Accepts the values that <see cref="MessageMapper"/> accepts for the field: numbers and texts in
    /// range, names of enums, and dictionaries and objects for messages. Null removes the field. A value that
    /// does not fit leaves the message unchanged.</para>
    /// </value>
    /// <exception cref="RpcException">InvalidArgument: the message has no such field, with the nearest name;
    /// or the value does not fit, with its path.</exception>
    public object? this[string name]
    {
        get => ValueOf(FieldOf(name));
        set
        {
            FieldLayout field = FieldOf(name);
            if (value is null)
            {
                Clear(field);
                return;
            }

            if (TryStore(field, value))
            {
                return;
            }

            DynamicMessage holder = new ObjectReader(Setting, Type).ReadMembers(
                Layout, this, [new KeyValuePair<string, object?>(name, value)], 0);
            if (!holder.Has(field))
            {
                Clear(field);
            }
            else if (field.IsReference)
            {
                StoreReference(field, holder.References[field.Slot]);
            }
            else
            {
                StoreScalar(field, holder.Scalars[field.Slot]);
            }
        }
    }

    /// <summary>The name of the value of an enum field; for a number that the enum does not declare, the
    /// number as text.</summary>
    /// <param name="name">The field, as the indexer finds it. It must not be repeated or a map.</param>
    /// <exception cref="RpcException">InvalidArgument: the message has no such field, with the nearest name;
    /// or the field is not an enum with one value.</exception>
    public string GetEnumName(string name)
    {
        FieldLayout field = FieldOf(name);
        if (field.Enum is not { } type || field.IsRepeated)
        {
            throw MessageErrors.NoEnum(field.Info);
        }

        int number = (int)ValueOf(field)!;
        return type.FindName(number) ?? number.ToString(CultureInfo.InvariantCulture);
    }

    // Stores a value that needs no conversion by the mapper.
    private bool TryStore(FieldLayout field, object value)
    {
        if (value.GetType() != field.SingleType)
        {
            return field.Way == FieldWay.Messages && TryStoreMessages(field, value as List<DynamicMessage>);
        }
        switch (field.Kind)
        {
            // An empty text selects a oneof's member or removes the field; an unpaired surrogate is an error.
            case RpcFieldKind.String
                when Unsafe.As<string>(value) is { Length: > 0 } text && Ascii.IsValid(text):
            case RpcFieldKind.Bytes when Unsafe.As<byte[]>(value).Length > 0:
            case RpcFieldKind.Message or RpcFieldKind.Group
                when Unsafe.As<DynamicMessage>(value).Layout == field.Message:
                StoreReference(field, value);
                return true;
            case RpcFieldKind.String or RpcFieldKind.Bytes or RpcFieldKind.Message or RpcFieldKind.Group:
            case RpcFieldKind.Enum when field.ClosedNumbers is not null:
            // The mapper stores every NaN with the same bits.
            case RpcFieldKind.Double when double.IsNaN((double)value):
            case RpcFieldKind.Float when float.IsNaN((float)value):
                return false;
            default:
                ScalarValue.TryUnbox(field.Kind, value, out ulong bits);
                StoreScalar(field, bits);
                return true;
        }
    }

    private bool TryStoreMessages(FieldLayout field, List<DynamicMessage>? messages)
    {
        foreach (DynamicMessage? message in messages ?? [null!])
        {
            if (message?.Layout != field.Message)
            {
                return false;
            }
        }
        StoreReference(field, messages!.Count == 0 ? null : new List<DynamicMessage>(messages));
        return true;
    }

    private FieldLayout FieldOf(string name)
    {
        ArgumentNullException.ThrowIfNull(name);
        FieldLayout[] fields = Layout.Fields;
        for (int i = 0; i < fields.Length && i < MaxKnownNames; i++)
        {
            if (ReferenceEquals(fields[i].KnownName, name))
            {
                return fields[i];
            }
        }
        FieldLayout found = Layout.Find(name) ?? throw MessageErrors.UnknownField(Type, name);
        found.KnownName ??= name;
        return found;
    }

    /// <inheritdoc/>
    public int CalculateSize() => MessageSizer.SizeOf(this);

    /// <inheritdoc/>
    public DynamicMessage Clone()
    {
        DynamicMessage copy = new(Layout);
        copy.MergeFrom(this);
        return copy;
    }

    /// <inheritdoc/>
    public bool Equals(DynamicMessage? other) => MessageComparer.AreEqual(this, other);

    /// <inheritdoc/>
    public override bool Equals(object? obj) => Equals(obj as DynamicMessage);

    /// <inheritdoc/>
    public override int GetHashCode() => MessageComparer.HashOf(this);

    /// <summary>The message as one line of text for people. The format may change.</summary>
    public override string ToString() => MessageText.Format(this);

    /// <inheritdoc/>
    public string ToDiagnosticString() => ToString();

    /// <inheritdoc/>
    /// <remarks>The message must be of the same type of the same schema.</remarks>
    public void MergeFrom(DynamicMessage message) => MessageMerger.Merge(this, message);

    /// <inheritdoc/>
    public void MergeFrom(CodedInputStream input) => input.ReadRawMessage(this);

    /// <inheritdoc/>
    public void WriteTo(CodedOutputStream output) => output.WriteRawMessage(this);

    /// <inheritdoc/>
    public void InternalMergeFrom(ref ParseContext ctx) => MergeFrom(ProtobufContexts.ReadAll(ref ctx));

    /// <inheritdoc/>
    public void InternalWriteTo(ref WriteContext ctx)
    {
        using WireWriter writer = EncodeComplete();
        ProtobufContexts.WriteAll(ref ctx, writer.Written);
    }
}

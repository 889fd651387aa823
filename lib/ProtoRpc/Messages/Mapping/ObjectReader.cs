using System.Collections;
using System.Diagnostics.CodeAnalysis;
using Google.Protobuf;

namespace ProtoRpc.Messages.Mapping;

/// <summary>One run of making a message of an object.</summary>
internal sealed partial class ObjectReader
{
    private const int SmallMessage = 64;

    private readonly MessageMapper _mapper;
    private readonly IObjectModel _objects;
    private readonly RpcMessageInfo _type;
    private readonly WellKnownReader _wellKnown;

    // Whether the members may be cells of a table: a script's dictionary is none, and the texts in it may
    // come from callers, who are not to make several of one.
    private bool _isRow;

    // Whether the value is a part of JSON text, in which bytes are base64.
    private bool _isJson;

    public ObjectReader(MessageMapper mapper, RpcMessageInfo type)
    {
        _mapper = mapper;
        _objects = mapper.Objects;
        _type = type;
        Path = new(type.Name);
        _wellKnown = new(this);
    }

    public ObjectPath Path { get; }

    public DynamicMessage ReadRoot(object? value)
    {
        MessageLayout layout = MessageLayout.For(_type);
        value = Unwrap(value);
        return value is null && layout.WellKnown != WellKnownType.Value
            ? new DynamicMessage(layout)
            : ReadMessage(layout, value, 0);
    }

    /// <param name="layout">The type to make.</param>
    /// <param name="value">The value, unwrapped; null only for a google.protobuf.Value.</param>
    /// <param name="depth">How many messages there are around it.</param>
    public DynamicMessage ReadMessage(MessageLayout layout, object? value, int depth)
    {
        if (depth > _mapper.MaxDepth)
        {
            throw Error(
                RpcErrorIds.TooDeep,
                $"the object is nested more than {_mapper.MaxDepth} deep, or contains itself.");
        }
        if (layout.WellKnown == WellKnownType.None && _objects.DictionaryOf(value!) is { } dictionary)
        {
            return ReadEntries(layout, dictionary, depth);
        }
        if (value is IMessage message && TryTakeMessage(layout, message, out DynamicMessage? taken))
        {
            return taken;
        }
        if (value is not null && _objects.EncodedOf(value) is var (fullName, bytes))
        {
            return ReadEncoded(layout, fullName, bytes);
        }
        return _wellKnown.TryRead(layout, value, depth)
            ?? ReadMembers(layout, value!, MembersOf(layout, value!), depth);
    }

    /// <summary>Creates a message from its members, ignoring the special shape of well-known types.</summary>
    public DynamicMessage ReadMembers(
        MessageLayout layout, object value, IEnumerable<KeyValuePair<string, object?>> members, int depth)
    {
        DynamicMessage result = new(layout);
        int count = layout.Fields.Length;
        Span<bool> seen = count <= SmallMessage ? stackalloc bool[SmallMessage] : new bool[count];
        DottedMembers? dotted = null;
        List<FieldLayout>? emptyChoices = null;
        bool outerIsRow = _isRow;
        _isRow = (_mapper.TakesRows && value is not IDictionary) || value is DottedMembers.Row;
        foreach ((string name, object? wrapped) in members)
        {
            object? fieldValue = Unwrap(wrapped);
            if (layout.Find(name) is { } field)
            {
                if (fieldValue is not null)
                {
                    ReadMember(result, field, name, fieldValue, seen, ref emptyChoices, depth);
                }
            }
            else
            {
                ReadUnknown(layout, name, fieldValue, ref dotted);
            }
        }
        ReadRest(result, value, dotted, seen, emptyChoices, depth);
        _isRow = outerIsRow;
        return result;
    }

    private void ReadMember(
        DynamicMessage message, FieldLayout field, string name, object value, Span<bool> seen,
        ref List<FieldLayout>? emptyChoices, int depth)
    {
        bool isEmpty = value is string { Length: 0 };
        if (isEmpty && field.CaseSlot >= 0)
        {
            (emptyChoices ??= []).Add(field);
            return;
        }
        if (isEmpty && CellText.IsAbsent(field, value))
        {
            return;
        }
        Path.PushField(field.Info.Name);
        if (seen[field.Index])
        {
            throw Error(
                RpcErrorIds.InvalidFieldValue,
                $"two keys name this field, one of them '{name}'. Remove one of them.");
        }
        seen[field.Index] = true;
        CheckOneof(message, field);
        ReadField(message, field, value, depth);
        Path.Pop();
    }

    // A table has a column for each field of a oneof, and all but one cell are empty. One empty text alone is
    // the choice of that field.
    private void ChooseEmptyText(DynamicMessage message, List<FieldLayout>? emptyChoices, int depth)
    {
        foreach (FieldLayout field in emptyChoices ?? [])
        {
            if (CellText.IsText(field) && message.ChosenOf(field.CaseSlot) is null
                && emptyChoices!.TrueForAll(other => other == field || other.CaseSlot != field.CaseSlot))
            {
                ReadField(message, field, "", depth);
            }
        }
    }

    public object? Unwrap(object? value) => _objects.Unwrap(value) is { } inner and not DBNull ? inner : null;

    public bool TryGetMembers(
        object value, [NotNullWhen(true)] out IEnumerable<KeyValuePair<string, object?>>? members) =>
        _objects.TryGetMembers(value, out members);

    /// <summary>Reads a value that is kept by reference: text, bytes or a message.</summary>
    public object ReadReference(FieldLayout field, object? value, int depth)
    {
        string? problem;
        switch (field.Kind)
        {
            case RpcFieldKind.String:
                problem = ScalarReader.ReadText(value!, out string text);
                return problem is null ? text : throw Invalid(value, problem);
            case RpcFieldKind.Bytes:
                byte[] bytes;
                problem = _isJson && value is string json
                    ? BytesReader.ReadBase64(json, out bytes)
                    : BytesReader.Read(value!, _objects, out bytes);
                return problem is null ? bytes : throw Invalid(value, problem);
            default:
                object? unpacked = CellText.Unpack(field.Message, value);
                bool outerIsJson = _isJson;
                _isJson |= !ReferenceEquals(unpacked, value);
                DynamicMessage message = ReadMessage(field.Message, unpacked, depth + 1);
                _isJson = outerIsJson;
                return message;
        }
    }

    /// <summary>Reads a scalar as <see cref="ScalarValue"/> keeps it.</summary>
    public ulong ReadScalar(FieldLayout field, object value) =>
        ScalarReader.ReadScalar(field, value, out ulong bits) is { } problem
            ? throw Invalid(value, problem)
            : bits;

    /// <summary>Whether a value stands for many where many may be.</summary>
    public static bool IsList(object value, [NotNullWhen(true)] out IEnumerable? list)
    {
        list = value is IEnumerable items and
            not (string or IDictionary or IEnumerable<KeyValuePair<string, object?>> or IMessage)
            ? items
            : null;
        return list is not null;
    }

    public RpcException Invalid(object? value, string problem) =>
        Error(RpcErrorIds.InvalidFieldValue, $"{ValueText.Of(value)} {problem}");

    public RpcException Error(string errorId, string message)
    {
        string path = Path.ToString();
        return new(RpcStatusCode.InvalidArgument, $"{path}: {message}")
        {
            ErrorId = errorId,
            FieldPath = path,
        };
    }

    private IEnumerable<KeyValuePair<string, object?>> MembersOf(MessageLayout layout, object value) =>
        _objects.TryGetMembers(value, out IEnumerable<KeyValuePair<string, object?>>? members)
            ? members
            : throw Invalid(
                value,
                $"is not a message {layout.Type.FullName}; give a dictionary or an object with " +
                ValueText.OfNames(NamesOf(layout), "its fields, which are", "no fields") + ".");

    private void CheckOneof(DynamicMessage message, FieldLayout field)
    {
        if (field.CaseSlot >= 0 && message.ChosenOf(field.CaseSlot) is { } other)
        {
            throw Error(
                RpcErrorIds.OneofConflict,
                $"only one field of the oneof '{field.Info.Oneof!.Name}' can be set, and " +
                $"'{other.Info.Name}' is also set. Remove one of them, or set it to null.");
        }
    }

    private static IEnumerable<string> NamesOf(MessageLayout layout) =>
        layout.Type.Fields.Select(field => field.Name);

    private RpcException UnknownField(MessageLayout layout, string name)
    {
        Path.PushField(name);
        return Error(RpcErrorIds.UnknownField, MessageErrors.NoField(layout.Type, name));
    }

    private void ReadField(DynamicMessage message, FieldLayout field, object value, int depth)
    {
        if (field.IsMap)
        {
            ReadMap(message, field, value, depth);
        }
        else if (field.IsRepeated)
        {
            ReadRepeated(message, field, value, depth);
        }
        else if (!field.IsReference)
        {
            message.StoreScalar(field, ReadScalar(field, value));
        }
        else
        {
            object kept = ReadReference(field, value, depth);
            bool absent = !field.HasPresence && kept is ("" or byte[] { Length: 0 });
            message.StoreReference(field, absent ? null : kept);
        }
    }

    private void ReadRepeated(DynamicMessage message, FieldLayout field, object value, int depth)
    {
        bool outerIsJson = _isJson;
        if ((_isRow || !CellText.IsText(field)) && CellText.TryReadList(field, value, out object[]? cell))
        {
            value = cell;
            _isJson = true;
        }
        ReadElements(message, field, value, depth);
        _isJson = outerIsJson;
    }

    private void ReadElements(DynamicMessage message, FieldLayout field, object value, int depth)
    {
        if (!IsList(value, out IEnumerable? list) ||
            (field.Kind == RpcFieldKind.Bytes && BytesReader.IsBytes(value)))
        {
            Add(message, field, value, depth);
            return;
        }
        int index = 0;
        if (value is object?[] array)
        {
            // What scripts and rows give: no enumerator, and a list that does not grow.
            if (field.IsMessage)
            {
                message.ListOf<DynamicMessage>(field).EnsureCapacity(array.Length);
            }
            foreach (object? wrapped in array)
            {
                AddElement(message, field, wrapped, index++, depth);
            }
            return;
        }
        foreach (object? wrapped in list)
        {
            AddElement(message, field, wrapped, index++, depth);
        }
    }

    private void AddElement(DynamicMessage message, FieldLayout field, object? wrapped, int index, int depth)
    {
        Path.PushIndex(index);
        Add(message, field, Unwrap(wrapped), depth);
        Path.Pop();
    }

    private void Add(DynamicMessage message, FieldLayout field, object? value, int depth)
    {
        CheckElement(field, value);
        switch (field.Kind)
        {
            case RpcFieldKind.String:
                message.ListOf<string>(field).Add((string)ReadReference(field, value, depth));
                break;
            case RpcFieldKind.Bytes:
                message.ListOf<byte[]>(field).Add((byte[])ReadReference(field, value, depth));
                break;
            case RpcFieldKind.Message or RpcFieldKind.Group:
                message.ListOf<DynamicMessage>(field).Add((DynamicMessage)ReadReference(field, value, depth));
                break;
            default:
                ScalarLists.Add(message, field, ReadScalar(field, value!));
                break;
        }
    }

    private void ReadMap(DynamicMessage message, FieldLayout field, object value, int depth)
    {
        bool outerIsJson = _isJson;
        if (CellText.TryReadObject(value, out object? cell))
        {
            value = cell;
            _isJson = true;
        }
        if (value is IDictionary dictionary)
        {
            foreach (DictionaryEntry entry in dictionary)
            {
                AddEntry(message, field, entry.Key, entry.Value, depth);
            }
        }
        else if (_objects.TryGetMembers(value, out IEnumerable<KeyValuePair<string, object?>>? members))
        {
            foreach ((string name, object? member) in members)
            {
                AddEntry(message, field, name, member, depth);
            }
        }
        else
        {
            throw Invalid(value, $"is not a {field.Info.TypeName}; give a dictionary.");
        }
        _isJson = outerIsJson;
    }

    private void AddEntry(
        DynamicMessage message, FieldLayout field, object wrappedKey, object? wrapped, int depth)
    {
        object given = Unwrap(wrappedKey) ?? "";
        Path.PushKey(given);
        object key = field.Key.IsReference
            ? ReadReference(field.Key, given, depth)
            : ScalarValue.Box(field.Key.Kind, ReadScalar(field.Key, given));
        object? value = Unwrap(wrapped);
        CheckElement(field.Value, value);
        // On the wire, each map entry is a separate message.
        object kept = field.Value.IsReference
            ? ReadReference(field.Value, value, depth + 1)
            : ScalarValue.Box(field.Value.Kind, ReadScalar(field.Value, value!));
        if (!message.MapOf(field).TryAdd(key, kept))
        {
            throw Error(RpcErrorIds.InvalidFieldValue, "the key occurs twice. Remove one of them.");
        }
        Path.Pop();
    }

    private void CheckElement(FieldLayout field, object? value)
    {
        if (value is null && !(field.IsMessage && field.Message.WellKnown == WellKnownType.Value))
        {
            throw Invalid(value, "cannot be an element of a list or map; leave it out.");
        }
    }
}

using System.Collections;
using System.Diagnostics.CodeAnalysis;
using ProtoRpc.Messages.Binary;

namespace ProtoRpc.Messages.Mapping;

/// <summary>One run of making a message of an object.</summary>
internal sealed class ObjectReader
{
    private const int SmallMessage = 64;

    private readonly MessageMapper _mapper;
    private readonly IObjectModel _objects;
    private readonly RpcMessageInfo _type;
    private readonly WellKnownReader _wellKnown;

    // Whether texts may be parsed as table cells. Not in a dictionary of a script: its texts may come from
    // callers, who could then set several fields with one text.
    private bool _isRow;

    // Whether the value is part of a JSON text, in which bytes are base64.
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
    /// <param name="depth">The number of messages around it.</param>
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
            return fullName == layout.Type.FullName ? DynamicMessage.Parse(layout.Type, bytes)
                : layout.WellKnown == WellKnownType.Any
                    ? WellKnownReader.Pack(layout, WellKnownReader.TypePrefix + fullName, bytes)
                    : throw WrongMessage(layout, bytes, fullName);
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
            else if (!ReadExtension(result, name, fieldValue, depth))
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
        if (value is BlankMessage blank && blank.IsBlank(_objects))
        {
            return;
        }
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

    // A table has a column for each field of a oneof, of which all but one are empty. A single empty text
    // selects its field.
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

    /// <summary>Reads a value that is stored by reference: text, bytes or a message.</summary>
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
    public ulong ReadScalar(FieldLayout field, object value)
    {
        string? problem = ScalarReader.ReadScalar(field, value, out ulong bits);
        if (problem is not null && _isRow && value is string text
            && CellText.TryReadNumber(text, _objects.CellCulture, out string? number)
            && ScalarReader.ReadScalar(field, number, out ulong local) is null)
        {
            return local;
        }
        return problem is null ? bits : throw Invalid(value, problem);
    }

    /// <summary>Whether a value is a list for a field that accepts several values.</summary>
    public static bool IsList(object value, [NotNullWhen(true)] out IEnumerable? list)
    {
        list = value is IEnumerable items and
            not (string or IDictionary or IEnumerable<KeyValuePair<string, object?>> or IMessage)
            ? items
            : null;
        return list is not null;
    }

    public RpcException Invalid(object? value, string problem) =>
        Error(RpcErrorIds.InvalidFieldValue, $"{ValueText.Format(value)} {problem}");

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
            // Fast path for the arrays of scripts and rows: no enumerator, and a list that does not grow.
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
        object? element = Unwrap(wrapped);
        if (element is BlankMessage blank && blank.IsBlank(_objects))
        {
            return;
        }
        Path.PushIndex(index);
        Add(message, field, element, depth);
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
        // In the binary form, a map entry is a message, so the value is one level deeper.
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

    private DynamicMessage ReadEntries(MessageLayout layout, IDictionary dictionary, int depth)
    {
        DynamicMessage result = new(layout);
        int count = layout.Fields.Length;
        Span<bool> seen = count <= SmallMessage ? stackalloc bool[SmallMessage] : new bool[count];
        DottedMembers? dotted = null;
        List<FieldLayout>? emptyChoices = null;
        bool outerIsRow = _isRow;
        _isRow = dictionary is DottedMembers.Row;
        IDictionaryEnumerator entries = dictionary.GetEnumerator();
        try
        {
            while (entries.MoveNext())
            {
                string name = entries.Key as string ?? _objects.NameOf(entries.Key);
                object? value = Unwrap(entries.Value);
                if (layout.Find(name) is not { } field)
                {
                    if (!ReadExtension(result, name, value, depth))
                    {
                        ReadUnknown(layout, name, value, ref dotted);
                    }
                }
                else if (value is not null && !(IsSingle(field) && TryReadSingle(result, field, value, seen)))
                {
                    ReadMember(result, field, name, value, seen, ref emptyChoices, depth);
                }
            }
        }
        finally
        {
            (entries as IDisposable)?.Dispose();
        }

        ReadRest(result, dictionary, dotted, seen, emptyChoices, depth);
        _isRow = outerIsRow;
        return result;
    }

    private static bool IsSingle(FieldLayout field) =>
        !field.IsRepeated && !field.IsMessage && field.CaseSlot < 0;

    // Fast path. Returns false for anything unusual, so that the slow path reports the error and its
    // position.
    private static bool TryReadSingle(
        DynamicMessage message, FieldLayout field, object value, Span<bool> seen)
    {
        if (seen[field.Index])
        {
            return false;
        }

        if (!field.IsReference)
        {
            if (value is string || ScalarReader.ReadScalar(field, value, out ulong bits) is not null)
            {
                return false;
            }

            message.StoreScalar(field, bits);
        }
        else if (field.Kind == RpcFieldKind.Bytes ? value is byte[] { Length: > 0 } : IsText(value))
        {
            message.StoreReference(field, value);
        }
        else
        {
            return false;
        }

        seen[field.Index] = true;
        return true;
    }

    private static bool IsText(object value) =>
        value is string { Length: > 0 } text && !ScalarReader.HasLoneSurrogate(text);

    // Reads an extension that only the server's schema declares.
    private bool ReadExtension(DynamicMessage message, string name, object? value, int depth)
    {
        RpcMessageInfo? extended = ServerExtension.FindExtended(message.Type, name);
        message.AppendUnknown(extended is null || value is null ? [] : ReadMembers(
            MessageLayout.For(extended), new Hashtable(), [new(name, value)], depth).ToByteArray());
        return extended is not null;
    }

    // A name that is not a field: a part of a field in a table row, such as user.name, or an error.
    private void ReadUnknown(MessageLayout layout, string name, object? value, ref DottedMembers? dotted)
    {
        if (DottedMembers.Split(layout, name) is var (start, rest))
        {
            dotted ??= new();
            if (!dotted.TryAdd(start, rest, value))
            {
                Path.PushField(name);
                throw Error(RpcErrorIds.InvalidFieldValue, "two keys name this field. Remove one of them.");
            }
        }
        else if (!_mapper.AllowUnknownFields || layout.WellKnown != WellKnownType.None)
        {
            // Well-known types reject unknown names: an unrelated object would otherwise become an empty
            // Timestamp, 1970.
            throw UnknownField(layout, name);
        }
    }

    // Reads the members that depend on all others.
    private void ReadRest(
        DynamicMessage result, object value, DottedMembers? dotted, Span<bool> seen,
        List<FieldLayout>? emptyChoices, int depth)
    {
        foreach (DottedMembers.Group group in dotted?.Groups ?? [])
        {
            ReadMember(
                result, group.Field, group.Field.Info.Name, group.IsEmpty ? "" : group.Members, seen,
                ref emptyChoices, depth);
        }

        ChooseEmptyText(result, emptyChoices, depth);
        if (_objects.TryGetSource(value) is { } source)
        {
            UnknownFieldFilter.Restore(result, source);
        }
    }

    private bool TryTakeMessage(
        MessageLayout layout, IMessage message, [NotNullWhen(true)] out DynamicMessage? taken)
    {
        taken = null;
        if (message is DynamicMessage dynamic && dynamic.Layout == layout)
        {
            taken = dynamic;
            return true;
        }
        if (message.Descriptor.FullName == layout.Type.FullName)
        {
            // The message belongs to another schema or a generated class.
            taken = DynamicMessage.Parse(layout.Type, message.ToByteArray());
            return true;
        }
        return layout.WellKnown is WellKnownType.Any or WellKnownType.Value
            ? false
            : throw WrongMessage(layout, message, message.Descriptor.FullName);
    }

    private RpcException WrongMessage(MessageLayout layout, object message, string fullName) =>
        Invalid(message, $"is a message {fullName}, where {layout.Type.FullName} is needed.");
}

/// <summary>Where in an object the mapper is: <c>SearchRequest.results[3].url</c>,
/// <c>Foo.map["key"]</c>.</summary>
/// <remarks>Only pushed and popped while reading. The text is created for an error.</remarks>
internal sealed class ObjectPath(string root)
{
    // The path of an object that contains itself has hundreds of parts. An error shows the first ones and the
    // last ones.
    private const int ShownFirst = 8;
    private const int ShownLast = 2;

    private const int IsName = -1;
    private const int IsKey = -2;

    private (object? NameOrKey, int Index)[] _parts = new (object?, int)[8];
    private int _count;

    public void PushField(string name) => Push(name, IsName);

    public void PushKey(object key) => Push(key, IsKey);

    public void PushIndex(int index) => Push(null, index);

    public void Pop() => _count--;

    public override string ToString()
    {
        StringBuilder text = new(root);
        int left = _count > 2 * (ShownFirst + ShownLast) ? _count - ShownFirst - ShownLast : 0;
        for (int i = 0; i < _count; i++)
        {
            if (left > 0 && i == ShownFirst)
            {
                text.Append(CultureInfo.InvariantCulture, $"...({left} more)");
                i += left;
            }

            (object? part, int index) = _parts[i];
            _ = index == IsName ? text.Append('.').Append(ValueText.OfName((string)part!))
                : index == IsKey ? text.Append(
                    '[').Append(ValueText.OfName(MessageText.OfKey(part!))).Append(']')
                : text.Append(CultureInfo.InvariantCulture, $"[{index}]");
        }
        return text.ToString();
    }

    private void Push(object? nameOrKey, int index)
    {
        if (_count == _parts.Length)
        {
            Array.Resize(ref _parts, 2 * _count);
        }
        _parts[_count++] = (nameOrKey, index);
    }
}

using ProtoRpc.Messages.Binary;

namespace ProtoRpc.Messages.Mapping;

/// <summary>One run of making an object of a message.</summary>
internal sealed class ObjectWriter(MessageMapper mapper, RpcMessageInfo root)
{
    private static readonly int MaxAnyElements = RpcLimits.Default.MaxMessageElements;

    private const string TypeKey = "@type";
    private const string ValueKey = "value";

    // The number of objects between two checks whether the caller still waits for them.
    private const int ObjectsPerCheck = 256;

    private readonly IObjectModel _objects = mapper.Objects;
    private readonly bool _defers = mapper.Objects.Defers;

    // The content of an Any was not decoded with the message, so its elements are counted here.
    private ElementBudget _inAny = new(root, MaxAnyElements);
    private int _made;

    /// <summary>Converts a message to an object; null only for a Value with null.</summary>
    /// <param name="message">The message.</param>
    /// <param name="depth">The number of messages around it.</param>
    public object? WriteMessage(DynamicMessage message, int depth)
    {
        if (depth > mapper.MaxDepth)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.TooDeep,
                $"{root.FullName} cannot be shown: messages are nested more than {mapper.MaxDepth} deep.");
        }
        FieldLayout[] fields = message.Layout.Fields;
        switch (message.Layout.WellKnown)
        {
            case WellKnownType.Timestamp:
                return ExactTime.ToDate(
                    (long)message.Scalars[fields[0].Slot], (int)message.Scalars[fields[1].Slot])
                    ?? WriteFields(message, depth);
            case WellKnownType.Duration:
                return ExactTime.ToTimeSpan(
                    (long)message.Scalars[fields[0].Slot], (int)message.Scalars[fields[1].Slot])
                    ?? WriteFields(message, depth);
            case WellKnownType.Wrapper:
                return WriteField(message, fields[0], depth);
            case WellKnownType.Struct:
                return WriteField(message, fields[0], depth);
            case WellKnownType.ListValue:
                return WriteField(message, fields[0], depth);
            case WellKnownType.Value:
                FieldLayout? chosen = message.ChosenOf(fields[0].CaseSlot);
                return chosen is null || chosen == fields[0] ? null : WriteField(message, chosen, depth);
            case WellKnownType.FieldMask:
                return string.Join(',', message.References[fields[0].Slot] as List<string> ?? []);
            case WellKnownType.Any:
                return WriteAny(message, depth);
            default:
                return WriteFields(message, depth);
        }
    }

    private object WriteFields(DynamicMessage message, int depth)
    {
        (IReadOnlyList<RpcFieldInfo> fields, object?[] values) = MembersOf(message, depth);
        return _objects.CreateObject(message, fields, values);
    }

    // Adds the extensions that only the server's schema declares.
    private (IReadOnlyList<RpcFieldInfo> Fields, object?[] Values) WithExtensions(
        DynamicMessage message, IReadOnlyList<RpcFieldInfo> fields, object?[] values, int depth)
    {
        IReadOnlyList<ServerExtension> extensions = ServerExtension.ReadAll(message, ref _inAny);
        return extensions.Count == 0
            ? (fields, values)
            : ([.. fields, .. extensions.Select(extension => extension.Field.Info)],
                [.. values, .. extensions.Select(
                    extension => WriteField(extension.Message, extension.Field, depth))]);
    }

    private (IReadOnlyList<RpcFieldInfo> Fields, object?[] Values) MembersOf(
        DynamicMessage message, int depth)
    {
        MessageLayout layout = message.Layout;
        FieldLayout[] shown = layout.Shown;
        IReadOnlyList<RpcFieldInfo> fields = layout.Type.Fields;
        if (layout.Extensions.Length > 0 && Array.Exists(layout.Extensions, message.Has))
        {
            shown = [.. shown, .. layout.Extensions.Where(message.Has)];
            fields = Array.ConvertAll(shown, field => field.Info);
        }
        if (++_made % ObjectsPerCheck == 0 && mapper.IsGivenUp?.Invoke() == true)
        {
            throw new OperationCanceledException(
                $"The caller left while the objects of the message {root.FullName} were made.");
        }
        object?[] values = new object?[shown.Length];
        for (int i = 0; i < values.Length; i++)
        {
            FieldLayout field = shown[i];
            values[i] = _defers && field.IsReference && IsDeferred(message, field)
                ? new DeferredValue(this, message, field, depth)
                : WriteField(message, field, depth);
        }
        return message.UnknownFieldBytes.IsEmpty
            ? (fields, values)
            : WithExtensions(message, fields, values, depth);
    }

    // Whether a field may contain many objects. Most well-known types are small values.
    private static bool IsDeferred(DynamicMessage message, FieldLayout field) =>
        message.References[field.Slot] switch
        {
            DynamicMessage child => child.Layout.WellKnown is WellKnownType.None or WellKnownType.Any
                or WellKnownType.Struct or WellKnownType.ListValue,
            List<DynamicMessage> { Count: > 0 } => true,

            // Each enum number without a name becomes an object, although it has only one byte in the binary
            // form.
            List<int> { Count: > 0 } => field.Kind == RpcFieldKind.Enum,
            OrderedDictionary<object, object> { Count: > 0 } => true,
            _ => false,
        };

    /// <summary>The value of a field; null if it is absent.</summary>
    public object? WriteField(DynamicMessage message, FieldLayout field, int depth)
    {
        if (!field.IsReference)
        {
            return !field.HasPresence || message.HasScalar(field)
                ? ScalarObject(field, message.Scalars[field.Slot])
                : null;
        }
        return WriteReference(field, message.References[field.Slot], depth);
    }

    /// <summary>The object of a value that lies in a message's references.</summary>
    public object? WriteReference(FieldLayout field, object? value, int depth)
    {
        if (field.IsMap)
        {
            return WriteMap(field, value as OrderedDictionary<object, object> ?? [], depth);
        }
        if (field.IsRepeated)
        {
            return WriteList(field, value, depth);
        }
        return value switch
        {
            DynamicMessage child => WriteMessage(child, depth + 1),
            null when !field.HasPresence => field.Kind == RpcFieldKind.String ? "" : Array.Empty<byte>(),
            _ => value,
        };
    }

    private static object ScalarObject(FieldLayout field, ulong bits) =>
        field.Kind == RpcFieldKind.Enum && field.Enum!.FindName((int)bits) is { } name
            ? name
            : ScalarValue.Box(field.Kind, bits);

    private object WriteList(FieldLayout field, object? list, int depth) => list switch
    {
        List<DynamicMessage> messages => WriteMessages(messages, depth),
        List<int> numbers when field.Kind == RpcFieldKind.Enum =>
            numbers.ConvertAll(number => ScalarObject(field, ScalarValue.ToBits(number))).ToArray(),
        List<int> items => items.ToArray(),
        List<uint> items => items.ToArray(),
        List<long> items => items.ToArray(),
        List<ulong> items => items.ToArray(),
        List<bool> items => items.ToArray(),
        List<float> items => items.ToArray(),
        List<double> items => items.ToArray(),
        List<string> items => items.ToArray(),
        List<byte[]> items => items.ToArray(),
        _ => field.IsMessage || field.Kind == RpcFieldKind.Enum
            ? Array.Empty<object?>()
            : FieldValues.AbsentValue(field)!,
    };

    private object?[] WriteMessages(List<DynamicMessage> messages, int depth)
    {
        object?[] items = new object?[messages.Count];
        for (int i = 0; i < items.Length; i++)
        {
            items[i] = WriteMessage(messages[i], depth + 1);
        }
        return items;
    }

    /// <summary>A dictionary with typed keys, so that PowerShell converts keys in look-ups.</summary>
    private object WriteMap(FieldLayout field, OrderedDictionary<object, object> map, int depth) =>
        field.Key.Kind switch
        {
            RpcFieldKind.String => WriteMap<string>(field, map, depth),
            RpcFieldKind.Bool => WriteMap<bool>(field, map, depth),
            RpcFieldKind.Int64 or RpcFieldKind.SInt64 or RpcFieldKind.SFixed64 =>
                WriteMap<long>(field, map, depth),
            RpcFieldKind.UInt64 or RpcFieldKind.Fixed64 => WriteMap<ulong>(field, map, depth),
            RpcFieldKind.UInt32 or RpcFieldKind.Fixed32 => WriteMap<uint>(field, map, depth),
            _ => WriteMap<int>(field, map, depth),
        };

    private OrderedDictionary<TKey, object?> WriteMap<TKey>(
        FieldLayout field, OrderedDictionary<object, object> map, int depth)
        where TKey : notnull
    {
        OrderedDictionary<TKey, object?> written = new(map.Count, MapKeys.GetComparer<TKey>());
        foreach ((object key, object value) in map)
        {
            written.Add((TKey)key, value switch
            {
                DynamicMessage message => WriteMessage(message, depth + 2),
                int number when field.Value.Kind == RpcFieldKind.Enum =>
                    ScalarObject(field.Value, ScalarValue.ToBits(number)),
                _ => value,
            });
        }
        return written;
    }

    private object WriteAny(DynamicMessage any, int depth)
    {
        string typeUrl = any.References[any.Layout.Fields[0].Slot] as string ?? "";
        byte[] bytes = any.References[any.Layout.Fields[1].Slot] as byte[] ?? [];
        if (typeUrl.Length == 0 && bytes.Length == 0)
        {
            return WriteFields(any, depth);
        }
        if (TryUnpack(any.Type.Schema, typeUrl, bytes) is not { } message)
        {
            return _objects.CreateAny(any, [TypeKey, ValueKey], [typeUrl, bytes]);
        }
        return WriteTyped(message, typeUrl, depth + 1);
    }

    /// <summary>The object of a message in an Any: its type is the first member.</summary>
    /// <param name="message">The message.</param>
    /// <param name="type">The name of its type, or a URL that ends with it.</param>
    /// <param name="depth">The number of messages around it.</param>
    public object WriteTyped(DynamicMessage message, string type, int depth)
    {
        if (message.Layout.WellKnown != WellKnownType.None)
        {
            return _objects.CreateAny(message, [TypeKey, ValueKey], [type, WriteMessage(message, depth)]);
        }
        (IReadOnlyList<RpcFieldInfo> fields, object?[] values) = MembersOf(message, depth);
        return _objects.CreateAny(
            message, [TypeKey, .. fields.Select(field => field.Name)], [type, .. values]);
    }

    private DynamicMessage? TryUnpack(RpcSchema schema, string typeUrl, byte[] bytes)
    {
        if (schema.FindInAny(typeUrl[(typeUrl.LastIndexOf('/') + 1)..]) is not { } type)
        {
            return null;
        }
        try
        {
            DynamicMessage message = new(type);
            _inAny.AddBytes(bytes.Length);
            MessageDecoder.Merge(message, bytes, ref _inAny);
            message.CheckRequired();
            return message;
        }
        catch (RpcException e) when (e.ErrorId != RpcErrorIds.TooManyElements)
        {
            // The bytes of the Any are invalid, but the message around it is not, so the Any is shown with
            // its bytes.
            return null;
        }
    }
}

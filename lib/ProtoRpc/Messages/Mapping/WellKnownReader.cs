using System.Collections;

namespace ProtoRpc.Messages.Mapping;

/// <summary>Creates well-known messages from the values that represent them.</summary>
internal sealed class WellKnownReader(ObjectReader reader)
{
    private const string TypeKey = "@type";
    private const string ValueKey = "value";
    public const string TypePrefix = "type.googleapis.com/";

    private static readonly string NoDuration =
        $"is not a Duration within {WellKnownTime.MaxDurationSeconds} seconds; give a TimeSpan, "
        + $"{DurationText.Forms}, or seconds and nanos of the same sign.";

    /// <summary>Reads a value in the special shape of a well-known type. Null if the type has no special
    /// shape, or if the value has the shape of its fields.</summary>
    public DynamicMessage? TryRead(MessageLayout layout, object? value, int depth) => layout.WellKnown switch
    {
        WellKnownType.Timestamp => ReadTimestamp(layout, value!, depth),
        WellKnownType.Duration => ReadDuration(layout, value!, depth),
        WellKnownType.Wrapper => ReadWrapper(layout, value!, depth),
        WellKnownType.Struct => ReadStruct(layout, value!, depth),
        WellKnownType.Value => ReadValue(layout, value, depth),
        WellKnownType.ListValue => ReadListValue(layout, value!, depth),
        WellKnownType.Any => ReadAny(layout, value!, depth),
        WellKnownType.FieldMask => ReadFieldMask(layout, value!),
        _ => null,
    };

    private DynamicMessage ReadTimestamp(MessageLayout layout, object value, int depth)
    {
        const string problem =
            "is not a Timestamp between the years 1 and 9999; give a DateTime, a DateTimeOffset, " +
            "RFC 3339 text such as '2024-02-29T12:30:00Z', a date such as '2024-02-29' (in UTC), or "
            + "seconds " +
            "and nanos (0 to 999999999).";
        (long Seconds, int Nanos) time = default;
        bool read = true;
        switch (value)
        {
            case DateTimeOffset:
                time = ExactTime.OfDate(value);
                break;
            case DateTime local:
                // A DateTime without a kind is local time, as in .NET and PowerShell.
                time = WellKnownTime.OfDate(new DateTimeOffset(local.ToUniversalTime()));
                break;
            case DateOnly date:
                time = WellKnownTime.OfDate(new DateTimeOffset(date, TimeOnly.MinValue, TimeSpan.Zero));
                break;
            case string text:
                string trimmed = text.Trim();
                read = WellKnownTime.TryParseTimestamp(trimmed, out time.Seconds, out time.Nanos)
                    || WellKnownTime.TryParsePlainDate(trimmed, out time.Seconds, out time.Nanos);
                break;
            default:
                return ReadParts(layout, value, depth, WellKnownTime.IsTimestamp, problem);
        }
        return read ? OfParts(layout, time.Seconds, time.Nanos) : throw reader.Invalid(value, problem);
    }

    private DynamicMessage ReadDuration(MessageLayout layout, object value, int depth)
    {
        (long Seconds, int Nanos) span = default;
        bool read;
        switch (value)
        {
            case TimeSpan:
                span = ExactTime.OfTimeSpan(value);
                read = WellKnownTime.IsDuration(span.Seconds, span.Nanos);
                break;
            case string text:
                read = DurationText.TryParse(text, out span.Seconds, out span.Nanos);
                break;
            case var _ when ScalarReader.IsScalar(value):
                read = DurationText.TryReadSeconds(value, out span.Seconds, out span.Nanos);
                break;
            default:
                return ReadParts(layout, value, depth, WellKnownTime.IsDuration, NoDuration);
        }
        return read ? OfParts(layout, span.Seconds, span.Nanos) : throw reader.Invalid(value, NoDuration);
    }

    private DynamicMessage ReadParts(
        MessageLayout layout, object value, int depth, Func<long, int, bool> isValid, string problem)
    {
        if (!reader.TryGetMembers(value, out IEnumerable<KeyValuePair<string, object?>>? members))
        {
            throw reader.Invalid(value, problem);
        }
        DynamicMessage message = reader.ReadMembers(layout, value, members, depth);
        long seconds = (long)message.Scalars[layout.Fields[0].Slot];
        int nanos = (int)message.Scalars[layout.Fields[1].Slot];
        return isValid(seconds, nanos) ? message : throw reader.Invalid($"{seconds} s, {nanos} ns", problem);
    }

    private static DynamicMessage OfParts(MessageLayout layout, long seconds, int nanos)
    {
        DynamicMessage message = new(layout);
        message.StoreScalar(layout.Fields[0], (ulong)seconds);
        message.StoreScalar(layout.Fields[1], ScalarValue.ToBits(nanos));
        return message;
    }

    private DynamicMessage? ReadWrapper(MessageLayout layout, object value, int depth)
    {
        FieldLayout field = layout.Fields[0];
        // An object or dictionary becomes a Struct. Scalars, bytes and lists have no members.
        bool isScalar = ScalarReader.IsScalar(value) ||
            value is Stream or ReadOnlyMemory<byte> or Memory<byte> or (IEnumerable and not IDictionary);
        if (!isScalar)
        {
            return null;
        }
        DynamicMessage message = new(layout);
        if (field.IsReference)
        {
            object kept = reader.ReadReference(field, value, depth);
            message.StoreReference(field, kept is "" or byte[] { Length: 0 } ? null : kept);
        }
        else
        {
            message.StoreScalar(field, reader.ReadScalar(field, value));
        }
        return message;
    }

    private DynamicMessage ReadStruct(MessageLayout layout, object value, int depth)
    {
        if (!reader.TryGetMembers(value, out IEnumerable<KeyValuePair<string, object?>>? members))
        {
            throw reader.Invalid(value, "is not a Struct; give a dictionary or an object.");
        }
        DynamicMessage message = new(layout);
        FieldLayout fields = layout.Fields[0];
        foreach ((string name, object? member) in members)
        {
            reader.Path.PushField(name);
            // Two levels deeper: in the binary form, an entry is a message that contains the value.
            DynamicMessage item = reader.ReadMessage(fields.Value.Message, reader.Unwrap(member), depth + 2);
            string key = (string)reader.ReadReference(fields.Key, name, depth);
            if (!message.MapOf(fields).TryAdd(key, item))
            {
                throw reader.Error(
                    RpcErrorIds.InvalidFieldValue, "the name occurs twice. Remove one of them.");
            }
            reader.Path.Pop();
        }
        return message;
    }

    private DynamicMessage ReadListValue(MessageLayout layout, object value, int depth)
    {
        if (!ObjectReader.IsList(value, out IEnumerable? list))
        {
            throw reader.Invalid(value, "is not a list; give an array.");
        }
        DynamicMessage message = new(layout);
        FieldLayout values = layout.Fields[0];
        int index = 0;
        foreach (object? item in list)
        {
            reader.Path.PushIndex(index++);
            message.ListOf<DynamicMessage>(values)
                .Add(reader.ReadMessage(values.Message, reader.Unwrap(item), depth + 1));
            reader.Path.Pop();
        }
        return message;
    }

    private DynamicMessage ReadValue(MessageLayout layout, object? value, int depth)
    {
        DynamicMessage message = new(layout);
        FieldLayout[] fields = layout.Fields;
        if (value is null)
        {
            message.StoreScalar(fields[0], 0);
        }
        else if (value is bool flag)
        {
            message.StoreScalar(fields[3], flag ? 1UL : 0);
        }
        else if (value is not string && ScalarReader.TryGetDouble(value, out double number))
        {
            message.StoreScalar(fields[1], double.IsFinite(number)
                ? ScalarValue.ToBits(number)
                : throw reader.Invalid(
                    value, "cannot be in a Value, whose numbers are finite; give it as text."));
        }
        else if (ScalarReader.IsScalar(value))
        {
            message.StoreReference(fields[2], reader.ReadReference(fields[2], value, depth));
        }
        else if (ObjectReader.IsList(value, out _))
        {
            message.StoreReference(fields[5], reader.ReadMessage(fields[5].Message, value, depth + 1));
        }
        else if (value is IMessage || reader.TryGetMembers(value, out _))
        {
            message.StoreReference(fields[4], reader.ReadMessage(fields[4].Message, value, depth + 1));
        }
        else
        {
            throw reader.Invalid(
                value, "cannot be a Value; give null, a bool, a number, text, an array or a dictionary.");
        }
        return message;
    }

    private DynamicMessage ReadFieldMask(MessageLayout layout, object value)
    {
        FieldLayout paths = layout.Fields[0];
        object? given = value;
        if (reader.TryGetMembers(value, out IEnumerable<KeyValuePair<string, object?>>? members))
        {
            return reader.ReadMembers(layout, value, members, 0);
        }
        IEnumerable items = given is string text
            ? PathsOf(text)
            : ObjectReader.IsList(given, out IEnumerable? list)
                ? list
                : throw reader.Invalid(
                    value, "is not a FieldMask; give the paths in a list, or in one text with commas.");
        DynamicMessage message = new(layout);
        foreach (object? item in items)
        {
            // ProtoJSON cannot express an empty path: it would be read as a mask without paths.
            string path = reader.Unwrap(item) is string { Length: > 0 } name
                ? name
                : throw reader.Invalid(item, "is not a path of fields; give text such as 'user.name'.");
            message.ListOf<string>(paths).Add((string)reader.ReadReference(paths, path, 0));
        }
        return message;
    }

    private string[] PathsOf(string text)
    {
        string[] paths = text.Split(
            ',', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries);
        return paths.Length > 0 || text.Length == 0
            ? paths
            : throw reader.Invalid(text, "names no path of fields; give text such as 'user.name,photo'.");
    }

    private DynamicMessage? ReadAny(MessageLayout layout, object value, int depth)
    {
        if (value is IMessage packed)
        {
            return Pack(layout, TypePrefix + packed.Descriptor.FullName, packed.ToByteArray());
        }
        if (!reader.TryGetMembers(value, out IEnumerable<KeyValuePair<string, object?>>? members))
        {
            throw reader.Invalid(
                value, "is not an Any; give a dictionary with '@type' and the fields of that type.");
        }
        List<KeyValuePair<string, object?>> others = [];
        string? typeUrl = null;
        foreach (KeyValuePair<string, object?> member in members)
        {
            if (member.Key == TypeKey)
            {
                string url = reader.Unwrap(member.Value) as string ??
                    throw reader.Invalid(
                        member.Value, "is not a type; '@type' is the full name of a message.");
                typeUrl = (string)reader.ReadReference(layout.Fields[0], url, depth);
            }
            else
            {
                others.Add(member);
            }
        }
        return typeUrl is null ? null : ReadTyped(layout, value, typeUrl, others, depth);
    }

    private DynamicMessage ReadTyped(
        MessageLayout layout, object source, string typeUrl, List<KeyValuePair<string, object?>> members,
        int depth)
    {
        string url = typeUrl.Contains('/') ? typeUrl : TypePrefix + typeUrl;
        string fullName = url[(url.LastIndexOf('/') + 1)..];
        bool hasValue = members is [{ Key: ValueKey }];
        if (layout.Type.Schema.FindInAny(fullName) is not { } type)
        {
            // The schema lacks the type, so the value must be bytes.
            return hasValue && reader.Unwrap(members[0].Value) is { } raw
                ? Pack(layout, url, (byte[])reader.ReadReference(layout.Fields[1], raw, depth))
                : throw reader.Error(
                    RpcErrorIds.InvalidFieldValue,
                    $"the schema has no message '{fullName}', which '@type' names. Import the .proto that " +
                    "declares it, or give its bytes as 'value'.");
        }
        MessageLayout inner = MessageLayout.For(type);
        if (hasValue && inner.Find(ValueKey) is null && reader.Unwrap(members[0].Value) is byte[] bytes)
        {
            return Pack(layout, url, bytes);
        }
        DynamicMessage message;
        if (inner.WellKnown == WellKnownType.None || (inner.WellKnown == WellKnownType.Any && !hasValue))
        {
            message = reader.ReadMembers(inner, source, members, depth + 1);
        }
        else if (!hasValue)
        {
            throw reader.Error(
                RpcErrorIds.InvalidFieldValue,
                $"{fullName} in an Any needs the key 'value' beside '@type'.");
        }
        else
        {
            reader.Path.PushField(ValueKey);
            object? value = reader.Unwrap(members[0].Value);
            message = value is null && inner.WellKnown != WellKnownType.Value
                ? new DynamicMessage(inner)
                : reader.ReadMessage(inner, value, depth + 1);
            reader.Path.Pop();
        }
        return Pack(layout, url, message.ToByteArray());
    }

    /// <summary>An Any with a message.</summary>
    public static DynamicMessage Pack(MessageLayout layout, string typeUrl, byte[] bytes)
    {
        DynamicMessage any = new(layout);
        any.StoreReference(layout.Fields[0], typeUrl);
        any.StoreReference(layout.Fields[1], bytes.Length == 0 ? null : bytes);
        return any;
    }
}

using System.Text.Unicode;
using Google.Protobuf.Reflection;
using static Google.Protobuf.WireFormat;

namespace ProtoRpc.Schema;

/// <summary>Reads options by the schema's own extensions,
/// which generated option classes do not know.</summary>
internal static class OptionReader
{
    // The nesting limit of parsers.
    private const int MaxDepth = 100;

    private static readonly IReadOnlyDictionary<string, object?> NoOptions =
        new Dictionary<string, object?>();

    // A schema that does not import descriptor.proto has no custom options, so the built-in descriptor
    // suffices.
    private static readonly Lazy<RpcSchema> BuiltIn =
        new(() => RpcSchema.FromDescriptors(FileDescriptorProto.Descriptor.File));

    /// <summary>The options as names and values, with nested messages as dictionaries; empty if there are
    /// none. For display, so without control characters.</summary>
    /// <param name="schema">Where the extensions are.</param>
    /// <param name="typeName">The options' type without package: <c>FieldOptions</c>.</param>
    /// <param name="options">The options, or null.</param>
    public static IReadOnlyDictionary<string, object?> Read(
        RpcSchema schema, string typeName, IMessage? options) =>
        options is null ? NoOptions : ToDictionary(Decode(schema, typeName, options));

    /// <summary>Options as fields and values.</summary>
    /// <exception cref="RpcException">InvalidArgument when the bytes are no message of that type.</exception>
    public static OptionMessage Decode(RpcSchema schema, string typeName, IMessage options)
    {
        string fullName = $"google.protobuf.{typeName}";
        RpcMessageInfo type = schema.FindMessage(fullName) ?? BuiltIn.Value.GetMessage(fullName);
        return Decode(type, options.ToByteArray());
    }

    /// <summary>A serialized message as fields and values.</summary>
    /// <exception cref="RpcException">InvalidArgument when the bytes are no message of that type.</exception>
    public static OptionMessage Decode(RpcMessageInfo type, byte[] bytes)
    {
        try
        {
            return Decode(type, bytes, 0);
        }
        catch (InvalidProtocolBufferException e)
        {
            throw SchemaError.Invalid($"Options of type '{type.FullName}' cannot be read: {e.Message}", e);
        }
    }

    private static OptionMessage Decode(RpcMessageInfo type, byte[] bytes, int depth)
    {
        if (depth > MaxDepth)
        {
            throw SchemaError.Invalid($"Options of type '{type.FullName}' nest deeper than {MaxDepth}.");
        }

        OptionFieldValues values = new();
        using CodedInputStream input = new(bytes);
        for (uint tag = input.ReadTag(); tag != 0; tag = input.ReadTag())
        {
            int number = WireFormat.GetTagFieldNumber(tag);
            RpcFieldInfo? field = type.FindField(number);
            if (field is null || !OptionWire.TryRead(input, tag, field, bytes, values))
            {
                values.AddUnknown(number, OptionWire.ReadRaw(input, tag, bytes));
            }
        }

        IReadOnlyList<OptionField> fields = values.Finish((message, raw) => Decode(message, raw, depth + 1));
        return new OptionMessage(type, fields, values.Unknown);
    }

    private static Dictionary<string, object?> ToDictionary(OptionMessage message)
    {
        Dictionary<string, object?> members = new(StringComparer.Ordinal);
        foreach (OptionField field in message.Fields)
        {
            members[field.Field.Name] = field.Field switch
            {
                { IsMap: true } => ToMap(field),
                { IsRepeated: true } => field.Values.Select(v => ToPlain(field.Field, v)).ToArray(),
                _ => ToPlain(field.Field, field.Values[^1]),
            };
        }

        foreach ((int number, object value) in message.Unknown)
        {
            members[number.ToString(CultureInfo.InvariantCulture)] = value;
        }

        return members;
    }

    private static Dictionary<string, object?> ToMap(OptionField map)
    {
        Dictionary<string, object?> entries = new(StringComparer.Ordinal);
        foreach (OptionMessage entry in map.Values.Cast<OptionMessage>())
        {
            Dictionary<string, object?> members = ToDictionary(entry);
            RpcFieldInfo key = entry.Type.Fields[0];
            object? name = members.GetValueOrDefault(key.Name) ?? key.DefaultValue;
            entries[Convert.ToString(name, CultureInfo.InvariantCulture)!] =
                members.GetValueOrDefault(entry.Type.Fields[1].Name) ?? entry.Type.Fields[1].DefaultValue;
        }

        return entries;
    }

    private static object ToPlain(RpcFieldInfo field, object value) => value switch
    {
        OptionMessage message => ToDictionary(message),
        int number when field.Kind == RpcFieldKind.Enum =>
            (object?)field.EnumType!.FindName(number) ?? number,
        string text => TerminalText.Neutralize(text),
        byte[] bytes when field.Kind == RpcFieldKind.String =>
            TerminalText.Neutralize(Encoding.UTF8.GetString(bytes)),
        _ => value,
    };
}

/// <summary>The fields that are set in an options message, or in a message that is part of one.</summary>
/// <param name="Type">Its type.</param>
/// <param name="Fields">Its fields in the order in which they were first met.</param>
/// <param name="Unknown">Raw values of numbers that the type does not have: ulong, uint or byte[].</param>
internal sealed record OptionMessage(
    RpcMessageInfo Type,
    IReadOnlyList<OptionField> Fields,
    IReadOnlyList<KeyValuePair<int, object>> Unknown);

/// <summary>A field that is set in an options message.</summary>
/// <param name="Field">The field or extension.</param>
/// <param name="Values">
/// One value, or all of a repeated field: boxed scalars, string (byte[] where it is no UTF-8), byte[],
/// an enum's number (int), or an <see cref="OptionMessage"/>.
/// </param>
internal sealed record OptionField(RpcFieldInfo Field, IReadOnlyList<object> Values);

/// <summary>Collects the values of an options message while it is read.</summary>
internal sealed class OptionFieldValues
{
    private readonly List<RpcFieldInfo> _order = [];
    private readonly Dictionary<RpcFieldInfo, List<object>> _values = [];
    private readonly List<KeyValuePair<int, object>> _unknown = [];

    public IReadOnlyList<KeyValuePair<int, object>> Unknown => _unknown;

    public void AddUnknown(int number, object value) => _unknown.Add(KeyValuePair.Create(number, value));

    /// <summary>Adds a value; a message is given as its bytes.</summary>
    public void Add(RpcFieldInfo field, object value)
    {
        if (!_values.TryGetValue(field, out List<object>? values))
        {
            _values.Add(field, values = []);
            _order.Add(field);
        }

        // The parts of a message are concatenated at the end: concatenating after each part would need
        // quadratic time.
        if (field.IsRepeated || values.Count == 0 || field.MessageType is not null)
        {
            values.Add(value);
        }
        else
        {
            values[0] = value;
        }
    }

    /// <summary>The fields with their values, messages decoded.</summary>
    public IReadOnlyList<OptionField> Finish(Func<RpcMessageInfo, byte[], OptionMessage> decode) =>
    [
        .. _order.Select(field => new OptionField(
            field,
            field.MessageType is { } type
                ? [.. MessagesOf(field).Select(message => decode(type, message))]
                : _values[field])),
    ];

    // protoc writes (foo).a and (foo).b as two messages, which are concatenated to merge them.
    private IEnumerable<byte[]> MessagesOf(RpcFieldInfo field)
    {
        IEnumerable<byte[]> messages = _values[field].Cast<byte[]>();
        return field.IsRepeated ? messages : [[.. messages.SelectMany(part => part)]];
    }
}

/// <summary>Reads single values of options from the wire.</summary>
internal static class OptionWire
{
    /// <summary>Reads a field's value, or all of a packed one; a message as its bytes.</summary>
    /// <returns>False, with nothing read, when the wire type is not one of the field.</returns>
    public static bool TryRead(
        CodedInputStream input, uint tag, RpcFieldInfo field, byte[] bytes, OptionFieldValues values)
    {
        WireType wire = GetTagWireType(tag);
        if (wire == FieldWireTypes.Get(field.Kind))
        {
            bool isGroup = field.Kind == RpcFieldKind.Group;
            values.Add(field, isGroup ? ReadGroup(input, tag, bytes) : ReadValue(input, field));
            return true;
        }

        if (wire == WireType.LengthDelimited && field.IsRepeated)
        {
            using CodedInputStream packed = input.ReadBytes().CreateCodedInput();
            while (!packed.IsAtEnd)
            {
                values.Add(field, ReadValue(packed, field));
            }

            return true;
        }

        return false;
    }

    /// <summary>Reads a value of which only the wire type is known: ulong, uint or byte[].</summary>
    public static object ReadRaw(CodedInputStream input, uint tag, byte[] bytes) => GetTagWireType(tag) switch
    {
        WireType.Varint => input.ReadUInt64(),
        WireType.Fixed64 => input.ReadFixed64(),
        WireType.Fixed32 => input.ReadFixed32(),
        WireType.LengthDelimited => input.ReadBytes().ToByteArray(),
        _ => ReadGroup(input, tag, bytes),
    };

    private static byte[] ReadGroup(CodedInputStream input, uint tag, byte[] bytes)
    {
        int start = (int)input.Position;
        // Skips up to and including the end tag, which is as long as the start tag.
        input.SkipLastField();
        return bytes[start..((int)input.Position - CodedOutputStream.ComputeRawVarint32Size(tag))];
    }

    private static object ReadValue(CodedInputStream input, RpcFieldInfo field) => field.Kind switch
    {
        RpcFieldKind.Double => input.ReadDouble(),
        RpcFieldKind.Float => input.ReadFloat(),
        RpcFieldKind.Int64 => input.ReadInt64(),
        RpcFieldKind.UInt64 => input.ReadUInt64(),
        RpcFieldKind.Int32 => input.ReadInt32(),
        RpcFieldKind.Fixed64 => input.ReadFixed64(),
        RpcFieldKind.Fixed32 => input.ReadFixed32(),
        RpcFieldKind.Bool => input.ReadBool(),
        RpcFieldKind.String => ReadText(input.ReadBytes().ToByteArray()),
        RpcFieldKind.UInt32 => input.ReadUInt32(),
        RpcFieldKind.Enum => input.ReadEnum(),
        RpcFieldKind.SFixed32 => input.ReadSFixed32(),
        RpcFieldKind.SFixed64 => input.ReadSFixed64(),
        RpcFieldKind.SInt32 => input.ReadSInt32(),
        RpcFieldKind.SInt64 => input.ReadSInt64(),
        _ => input.ReadBytes().ToByteArray(),
    };

    // proto2 allows any bytes in strings. A value that is not UTF-8 is returned as bytes.
    private static object ReadText(byte[] bytes) =>
        Utf8.IsValid(bytes) ? Encoding.UTF8.GetString(bytes) : bytes;
}

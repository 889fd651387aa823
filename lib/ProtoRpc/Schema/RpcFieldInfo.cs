using Google.Protobuf.Reflection;
using ProtoRpc.Schema;
using static Google.Protobuf.Reflection.FeatureSet.Types;
using static Google.Protobuf.WireFormat;

namespace ProtoRpc;

/// <summary>One field of a message, or an extension, with its features resolved for every syntax and edition.
/// </summary>
public sealed class RpcFieldInfo
{
    private readonly SchemaFile _file;
    private readonly FieldDescriptorProto _proto;
    private readonly string _path;
    private readonly RpcSchema _schema;

    // Resolved on first access, because messages refer to each other. Parallel threads resolve the same
    // objects.
    private RpcMessageInfo? _containingType;
    private RpcMessageInfo? _messageType;
    private RpcEnumInfo? _enumType;
    private string? _typeName;

    internal RpcFieldInfo(
        RpcSchema schema, SchemaFile file, FieldDescriptor descriptor, FieldDescriptorProto proto,
        FieldFeatures parentFeatures, string path)
    {
        _schema = schema;
        _file = file;
        _proto = proto;
        _path = path;
        Descriptor = descriptor;

        FullName = descriptor.FullName;
        Number = proto.Number;
        IsExtension = descriptor.IsExtension;
        Name = IsExtension ? $"[{FullName}]" : proto.Name;
        JsonKey = IsExtension ? Name : descriptor.JsonName;
        IsMessageSetItem = IsExtension && IsMessageSet(descriptor.ExtendeeType);
        IsMap = descriptor.IsMap;
        IsRepeated = proto.Label == FieldDescriptorProto.Types.Label.Repeated;
        Kind = KindOf(descriptor);
        IsRequired = descriptor.IsRequired && !IsRepeated && !IsExtension && !proto.HasOneofIndex;
        HasPresence = !IsRepeated && (IsExtension || descriptor.HasPresence);
        IsPacked = IsRepeated && IsPackable(Kind) && descriptor.IsPacked;
        ValidatesUtf8 = Kind == RpcFieldKind.String
            && parentFeatures.With(proto.Options?.Features).Utf8 == Utf8Validation.Verify;
    }

    /// <summary>The name in the .proto; for an extension, the full name in brackets.</summary>
    public string Name { get; }

    /// <summary>The name in ProtoJSON, without control characters, for showing it.</summary>
    public string JsonName => TerminalText.Neutralize(JsonKey);

    /// <summary>The full name, with package and message.</summary>
    public string FullName { get; }

    /// <summary>The field number.</summary>
    public int Number { get; }

    /// <summary>The type on the wire; <see cref="RpcFieldKind.Group"/> for every delimited message, also in
    /// editions.</summary>
    public RpcFieldKind Kind { get; }

    /// <summary>Whether the field is repeated; true for maps.</summary>
    public bool IsRepeated { get; }

    /// <summary>Whether the field is a map. <see cref="MessageType"/> is then the entry, with fields 1 and
    /// 2.</summary>
    public bool IsMap { get; }

    /// <summary>Whether a repeated scalar is written packed.</summary>
    public bool IsPacked { get; }

    /// <summary>Whether the field must be set (proto2 required, LEGACY_REQUIRED).</summary>
    public bool IsRequired { get; }

    /// <summary>Whether an absent field differs from a field with the default value.</summary>
    public bool HasPresence { get; }

    /// <summary>Whether a string must be valid UTF-8 (utf8_validation = VERIFY).</summary>
    public bool ValidatesUtf8 { get; }

    /// <summary>Whether the field is an extension of <see cref="ContainingType"/>.</summary>
    public bool IsExtension { get; }

    /// <summary>The message that contains or is extended by the field.</summary>
    public RpcMessageInfo ContainingType => _containingType ??=
        _schema.MessageOf(IsExtension ? Descriptor.ExtendeeType : Descriptor.ContainingType);

    /// <summary>The type of a message or group field, and the entry of a map.</summary>
    public RpcMessageInfo? MessageType => Kind is RpcFieldKind.Message or RpcFieldKind.Group
        ? _messageType ??= _schema.MessageOf(Descriptor.MessageType)
        : null;

    /// <summary>The type of an enum field.</summary>
    public RpcEnumInfo? EnumType => Kind == RpcFieldKind.Enum
        ? _enumType ??= _schema.EnumOf(Descriptor.EnumType)
        : null;

    /// <summary>The oneof that contains the field; null for the synthetic oneof of a proto3 optional
    /// field.</summary>
    public RpcOneofInfo? Oneof => IsExtension || !_proto.HasOneofIndex || _proto.Proto3Optional
        ? null
        : ContainingType.OneofAt(_proto.OneofIndex);

    /// <summary>The default: a boxed scalar, string, byte[] or the enum's number; null for messages and
    /// repeated fields.</summary>
    public object? DefaultValue => IsRepeated || Kind is RpcFieldKind.Message or RpcFieldKind.Group
        ? null
        : FieldDefault.Get(Kind, _proto, Kind == RpcFieldKind.Enum ? Descriptor.EnumType : null);

    /// <summary>Whether the .proto declares the default.</summary>
    public bool HasExplicitDefault => _proto.HasDefaultValue;

    /// <summary>The default as the .proto declares it, or null.</summary>
    internal string? DefaultText => _proto.HasDefaultValue ? _proto.DefaultValue : null;

    /// <summary>The label: <c>required</c>, <c>repeated</c>, <c>map</c>, <c>optional</c> for fields with
    /// presence, or empty.</summary>
    public string Label => this switch
    {
        { IsMap: true } => "map",
        { IsRepeated: true } => "repeated",
        { IsRequired: true } => "required",
        { HasPresence: true } => "optional",
        _ => "",
    };

    /// <summary>The type as a .proto would write it: <c>int32</c>, <c>map&lt;string, Foo&gt;</c>, a message's
    /// full name.</summary>
    public string TypeName => _typeName ??= Kind switch
    {
        RpcFieldKind.Message when IsMap =>
            $"map<{MessageType!.Fields[0].TypeName}, {MessageType.Fields[1].TypeName}>",
        RpcFieldKind.Message or RpcFieldKind.Group => Descriptor.MessageType.FullName,
        RpcFieldKind.Enum => Descriptor.EnumType.FullName,
        _ => Kind.ToString().ToLowerInvariant(),
    };

    /// <summary>The options that are set, custom ones as <c>[full.name]</c>; enum values by name.</summary>
    public IReadOnlyDictionary<string, object?> Options =>
        OptionReader.Read(_schema, "FieldOptions", _proto.Options);

    /// <summary>The comment before the field, otherwise the one after it; or empty.</summary>
    public string Comment => _file.Comments.Of(_path);

    /// <summary>The name in ProtoJSON, without changes for display.</summary>
    internal string JsonKey { get; }

    internal FieldDescriptor Descriptor { get; }

    internal FieldDescriptorProto Proto => _proto;

    /// <summary>The file that declares it: of an extension, not that of the message.</summary>
    internal SchemaFile File => _file;

    internal string Path => _path;

    internal bool IsMessageSetItem { get; }

    /// <summary>The name of its message in brackets, by which the text format writes an item of a MessageSet
    /// whose message declares the extension; null for all other fields.</summary>
    internal string? MessageSetName =>
        IsMessageSetItem && Descriptor.ContainingType is { } scope && scope == Descriptor.MessageType
            ? $"[{scope.FullName}]"
            : null;

    /// <summary>Whether the .proto declares it with <c>group</c>, which only proto2 supports.</summary>
    internal bool IsDeclaredGroup => _proto.Type == FieldDescriptorProto.Types.Type.Group;

    /// <summary>The name, type and number as a .proto shows them.</summary>
    public override string ToString() => $"{(IsMap ? "" : Label)} {TypeName} {Name} = {Number}".TrimStart();

    internal static RpcFieldKind KindOf(FieldDescriptor field) =>
        field.FieldType switch
        {
            FieldType.Double => RpcFieldKind.Double,
            FieldType.Float => RpcFieldKind.Float,
            FieldType.Int64 => RpcFieldKind.Int64,
            FieldType.UInt64 => RpcFieldKind.UInt64,
            FieldType.Int32 => RpcFieldKind.Int32,
            FieldType.Fixed64 => RpcFieldKind.Fixed64,
            FieldType.Fixed32 => RpcFieldKind.Fixed32,
            FieldType.Bool => RpcFieldKind.Bool,
            FieldType.String => RpcFieldKind.String,
            FieldType.Bytes => RpcFieldKind.Bytes,
            FieldType.UInt32 => RpcFieldKind.UInt32,
            FieldType.SFixed32 => RpcFieldKind.SFixed32,
            FieldType.SFixed64 => RpcFieldKind.SFixed64,
            FieldType.SInt32 => RpcFieldKind.SInt32,
            FieldType.SInt64 => RpcFieldKind.SInt64,
            FieldType.Enum => RpcFieldKind.Enum,
            // Items of a MessageSet are never delimited, even if the file's features say so.
            FieldType.Group when !(field.IsExtension && IsMessageSet(field.ExtendeeType)) =>
                RpcFieldKind.Group,
            _ => RpcFieldKind.Message,
        };

    internal static bool IsMessageSet(MessageDescriptor? type) =>
        type?.GetOptions()?.MessageSetWireFormat == true;

    private static bool IsPackable(RpcFieldKind kind) =>
        kind is not (RpcFieldKind.String or RpcFieldKind.Bytes or RpcFieldKind.Message or RpcFieldKind.Group);
}

/// <summary>The eighteen field types of Protocol Buffers, numbered as in descriptor.proto.</summary>
public enum RpcFieldKind
{
#pragma warning disable CS1591 // The members have the names of the language's keywords.
    Double = 1,
    Float = 2,
    Int64 = 3,
    UInt64 = 4,
    Int32 = 5,
    Fixed64 = 6,
    Fixed32 = 7,
    Bool = 8,
    String = 9,
    Group = 10,
    Message = 11,
    Bytes = 12,
    UInt32 = 13,
    Enum = 14,
    SFixed32 = 15,
    SFixed64 = 16,
    SInt32 = 17,
    SInt64 = 18,
#pragma warning restore CS1591
}

/// <summary>The default values of fields, which descriptors keep as text.</summary>
internal static class FieldDefault
{
    /// <summary>The default of a singular field that is not a message.</summary>
    public static object Get(RpcFieldKind kind, FieldDescriptorProto field, EnumDescriptor? enumType) =>
        field.HasDefaultValue ? Parse(kind, field.DefaultValue, enumType) : Zero(kind, enumType);

    /// <summary>Whether the default that a descriptor has as text is a value of the type.</summary>
    public static bool IsValid(RpcFieldKind kind, FieldDescriptorProto field, EnumDescriptor? enumType)
    {
        try
        {
            _ = Get(kind, field, enumType);
            return true;
        }
        catch (Exception e) when (e is FormatException or OverflowException)
        {
            return false;
        }
    }

    private static object Zero(RpcFieldKind kind, EnumDescriptor? enumType) => kind switch
    {
        RpcFieldKind.Double => 0d,
        RpcFieldKind.Float => 0f,
        RpcFieldKind.Int64 or RpcFieldKind.SInt64 or RpcFieldKind.SFixed64 => 0L,
        RpcFieldKind.UInt64 or RpcFieldKind.Fixed64 => 0UL,
        RpcFieldKind.Int32 or RpcFieldKind.SInt32 or RpcFieldKind.SFixed32 => 0,
        RpcFieldKind.UInt32 or RpcFieldKind.Fixed32 => 0U,
        RpcFieldKind.Bool => false,
        RpcFieldKind.String => "",
        RpcFieldKind.Bytes => Array.Empty<byte>(),
        RpcFieldKind.Enum => enumType!.Values[0].Number,
        _ => throw new ArgumentOutOfRangeException(nameof(kind), kind, "Messages have no default."),
    };

    private static object Parse(RpcFieldKind kind, string text, EnumDescriptor? enumType)
    {
        CultureInfo culture = CultureInfo.InvariantCulture;
        return kind switch
        {
            RpcFieldKind.Double => ParseDouble(text),
            RpcFieldKind.Float => (float)ParseDouble(text),
            RpcFieldKind.Int64 or RpcFieldKind.SInt64 or RpcFieldKind.SFixed64 => long.Parse(text, culture),
            RpcFieldKind.UInt64 or RpcFieldKind.Fixed64 => ulong.Parse(text, culture),
            RpcFieldKind.Int32 or RpcFieldKind.SInt32 or RpcFieldKind.SFixed32 => int.Parse(text, culture),
            RpcFieldKind.UInt32 or RpcFieldKind.Fixed32 => uint.Parse(text, culture),
            RpcFieldKind.Bool => text switch
            {
                "true" => true,
                "false" => false,
                _ => throw new FormatException(),
            },
            RpcFieldKind.String => text,
            RpcFieldKind.Bytes => Unescape(text),
            RpcFieldKind.Enum => enumType!.FindValueByName(text)?.Number
                ?? throw new FormatException(),
            _ => throw new FormatException(),
        };
    }

    private static double ParseDouble(string text) => text switch
    {
        "inf" => double.PositiveInfinity,
        "-inf" => double.NegativeInfinity,
        "nan" or "-nan" => double.NaN,
        _ => double.Parse(text, NumberStyles.Float, CultureInfo.InvariantCulture),
    };

    /// <summary>Reads C escapes, as protoc writes the defaults of bytes fields.</summary>
    /// <exception cref="FormatException">An escape is invalid.</exception>
    public static byte[] Unescape(string text)
    {
        using MemoryStream bytes = new();
        for (int i = 0; i < text.Length; i++)
        {
            if (text[i] != '\\')
            {
                int length = char.IsHighSurrogate(text[i]) && i + 1 < text.Length ? 2 : 1;
                bytes.Write(Encoding.UTF8.GetBytes(text.Substring(i, length)));
                i += length - 1;
                continue;
            }

            if (++i == text.Length)
            {
                throw new FormatException();
            }

            bytes.WriteByte(ReadEscape(text, ref i));
        }

        return bytes.ToArray();
    }

    private static byte ReadEscape(string text, ref int i) => text[i] switch
    {
        'n' => (byte)'\n',
        'r' => (byte)'\r',
        't' => (byte)'\t',
        'a' => 7,
        'b' => 8,
        'f' => 12,
        'v' => 11,
        '\\' or '\'' or '"' or '?' => (byte)text[i],
        'x' or 'X' => ReadDigits(text, ref i, i + 1, 2, 16),
        >= '0' and <= '7' => ReadDigits(text, ref i, i, 3, 8),
        _ => throw new FormatException(),
    };

    private static byte ReadDigits(string text, ref int i, int start, int most, int radix)
    {
        int value = 0;
        int end = start;
        while (end < text.Length && end < start + most && DigitOf(text[end]) < radix)
        {
            value = (value * radix) + DigitOf(text[end]);
            end++;
        }

        i = end - 1;
        return end == start ? throw new FormatException() : checked((byte)value);
    }

    private static int DigitOf(char c) =>
        char.IsAsciiHexDigit(c) ? Convert.ToInt32(c.ToString(), 16) : int.MaxValue;
}

/// <summary>The features of an element that descriptors do not expose, for every syntax and
/// edition.</summary>
/// <remarks>
/// Google.Protobuf 3.36.2 resolves features and does not publish them. Its descriptors show presence, packing
/// and groups, but not these two: its own messages have open enums and check all strings.
/// </remarks>
internal sealed record FieldFeatures(EnumType EnumType, Utf8Validation Utf8)
{
    private static readonly FieldFeatures Proto2 = new(EnumType.Closed, Utf8Validation.None);

    // The defaults of proto3 and of the editions.
    private static readonly FieldFeatures Newer = new(EnumType.Open, Utf8Validation.Verify);

    public static FieldFeatures OfFile(FileDescriptorProto file) =>
        (file.Syntax is "" or "proto2" ? Proto2 : Newer).With(file.Options?.Features);

    /// <summary>The name of an edition in a .proto; null for an unsupported one.</summary>
    public static string? EditionName(Edition edition) => edition switch
    {
        Edition._2023 => "2023",
        Edition._2024 => "2024",
        Edition._2026 => "2026",
        _ => null,
    };

    /// <summary>These features, overridden by those that an element sets.</summary>
    public FieldFeatures With(FeatureSet? own) => own is null ? this : new FieldFeatures(
        own.HasEnumType ? own.EnumType : EnumType,
        own.HasUtf8Validation ? own.Utf8Validation : Utf8);
}

/// <summary>The wire types of the kinds of fields.</summary>
internal static class FieldWireTypes
{
    /// <summary>The wire type of one value that is not packed.</summary>
    public static WireType Get(RpcFieldKind kind) => kind switch
    {
        RpcFieldKind.Double or RpcFieldKind.Fixed64 or RpcFieldKind.SFixed64 => WireType.Fixed64,
        RpcFieldKind.Float or RpcFieldKind.Fixed32 or RpcFieldKind.SFixed32 => WireType.Fixed32,
        RpcFieldKind.String or RpcFieldKind.Bytes or RpcFieldKind.Message => WireType.LengthDelimited,
        RpcFieldKind.Group => WireType.StartGroup,
        _ => WireType.Varint,
    };
}

using Google.Protobuf.Reflection;
using ProtoRpc.Schema;
using ProtoRpc.Schema.Options;
using static Google.Protobuf.Reflection.FeatureSet.Types;

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
        : FieldDefault.Of(Kind, _proto, Kind == RpcFieldKind.Enum ? Descriptor.EnumType : null);

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

    /// <summary>The name in ProtoJSON as it is on the wire.</summary>
    internal string JsonKey { get; }

    internal FieldDescriptor Descriptor { get; }

    /// <summary>Whether it extends a MessageSet.</summary>
    internal bool IsMessageSetItem { get; }

    /// <summary>The name of its message in brackets, which the text format has for what a MessageSet holds,
    /// where the message itself declares the extension; null for all others.</summary>
    internal string? MessageSetName =>
        IsMessageSetItem && Descriptor.ContainingType is { } scope && scope == Descriptor.MessageType
            ? $"[{scope.FullName}]"
            : null;

    /// <summary>Whether it is written with the word <c>group</c>, as only proto2 can.</summary>
    internal bool IsDeclaredGroup => _proto.Type == FieldDescriptorProto.Types.Type.Group;

    /// <summary>The name, type and number as a .proto shows them.</summary>
    public override string ToString() => $"{(IsMap ? "" : Label)} {TypeName} {Name} = {Number}".TrimStart();

    /// <summary>The kind of a field.</summary>
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

using System.Collections.Frozen;

namespace ProtoRpc.Messages;

/// <summary>Recognizes well-known types by name and fields, because each schema has its own descriptor
/// objects.</summary>
internal static class WellKnownTypes
{
    private const string Prefix = "google.protobuf.";

    private static readonly FrozenDictionary<string, (WellKnownType Type, RpcFieldKind[] Kinds)> ByName =
        new Dictionary<string, (WellKnownType, RpcFieldKind[])>
        {
            ["Timestamp"] = (WellKnownType.Timestamp, [RpcFieldKind.Int64, RpcFieldKind.Int32]),
            ["Duration"] = (WellKnownType.Duration, [RpcFieldKind.Int64, RpcFieldKind.Int32]),
            ["DoubleValue"] = (WellKnownType.Wrapper, [RpcFieldKind.Double]),
            ["FloatValue"] = (WellKnownType.Wrapper, [RpcFieldKind.Float]),
            ["Int64Value"] = (WellKnownType.Wrapper, [RpcFieldKind.Int64]),
            ["UInt64Value"] = (WellKnownType.Wrapper, [RpcFieldKind.UInt64]),
            ["Int32Value"] = (WellKnownType.Wrapper, [RpcFieldKind.Int32]),
            ["UInt32Value"] = (WellKnownType.Wrapper, [RpcFieldKind.UInt32]),
            ["BoolValue"] = (WellKnownType.Wrapper, [RpcFieldKind.Bool]),
            ["StringValue"] = (WellKnownType.Wrapper, [RpcFieldKind.String]),
            ["BytesValue"] = (WellKnownType.Wrapper, [RpcFieldKind.Bytes]),
            ["Struct"] = (WellKnownType.Struct, [RpcFieldKind.Message]),
            ["Value"] = (
                WellKnownType.Value,
                [
                    RpcFieldKind.Enum, RpcFieldKind.Double, RpcFieldKind.String, RpcFieldKind.Bool,
                    RpcFieldKind.Message, RpcFieldKind.Message,
                ]),
            ["ListValue"] = (WellKnownType.ListValue, [RpcFieldKind.Message]),
            ["Any"] = (WellKnownType.Any, [RpcFieldKind.String, RpcFieldKind.Bytes]),
            ["FieldMask"] = (WellKnownType.FieldMask, [RpcFieldKind.String]),
        }.ToFrozenDictionary(StringComparer.Ordinal);

    /// <summary>The kind of a well-known type. Another type with that name but other fields is
    /// none.</summary>
    public static WellKnownType Get(RpcMessageInfo type) =>
        type.FullName.Length == Prefix.Length + type.Name.Length &&
        type.FullName.StartsWith(Prefix, StringComparison.Ordinal) &&
        ByName.TryGetValue(type.Name, out (WellKnownType Type, RpcFieldKind[] Kinds) known) &&
        type.Fields.OrderBy(field => field.Number).Select(field => (field.Number, field.Kind))
            .SequenceEqual(known.Kinds.Select((kind, index) => (index + 1, kind))) &&
        (known.Type != WellKnownType.Value || type.Fields.All(
            field => field.Oneof is { } oneof && oneof == type.Fields[0].Oneof))
            ? known.Type
            : WellKnownType.None;
}

/// <summary>The well-known types that objects show in a shape of their own.</summary>
internal enum WellKnownType
{
    None,
    Timestamp,
    Duration,
    Wrapper,
    Struct,
    Value,
    ListValue,
    Any,
    FieldMask,
}

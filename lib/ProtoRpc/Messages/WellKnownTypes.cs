using System.Collections.Frozen;
using ProtoRpc.Schema;

namespace ProtoRpc.Messages;

/// <summary>Tells well-known types by their names: descriptors of another schema are other objects.</summary>
internal static class WellKnownTypes
{
    private const string Prefix = "google.protobuf.";

    private static readonly FrozenDictionary<string, WellKnownType> ByName = new Dictionary<string, WellKnownType>
    {
        ["Timestamp"] = WellKnownType.Timestamp,
        ["Duration"] = WellKnownType.Duration,
        ["DoubleValue"] = WellKnownType.Wrapper,
        ["FloatValue"] = WellKnownType.Wrapper,
        ["Int64Value"] = WellKnownType.Wrapper,
        ["UInt64Value"] = WellKnownType.Wrapper,
        ["Int32Value"] = WellKnownType.Wrapper,
        ["UInt32Value"] = WellKnownType.Wrapper,
        ["BoolValue"] = WellKnownType.Wrapper,
        ["StringValue"] = WellKnownType.Wrapper,
        ["BytesValue"] = WellKnownType.Wrapper,
        ["Struct"] = WellKnownType.Struct,
        ["Value"] = WellKnownType.Value,
        ["ListValue"] = WellKnownType.ListValue,
        ["Any"] = WellKnownType.Any,
        ["FieldMask"] = WellKnownType.FieldMask,
    }.ToFrozenDictionary(StringComparer.Ordinal);

    public static WellKnownType Of(RpcMessageInfo type) =>
        type.FullName.Length == Prefix.Length + type.Name.Length &&
        type.FullName.StartsWith(Prefix, StringComparison.Ordinal)
            ? ByName.GetValueOrDefault(type.Name)
            : WellKnownType.None;
}

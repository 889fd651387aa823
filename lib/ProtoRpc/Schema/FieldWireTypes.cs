using static Google.Protobuf.WireFormat;

namespace ProtoRpc.Schema;

/// <summary>The wire types of the kinds of fields.</summary>
internal static class FieldWireTypes
{
    /// <summary>How one value stands on the wire, where it is not packed.</summary>
    public static WireType Of(RpcFieldKind kind) => kind switch
    {
        RpcFieldKind.Double or RpcFieldKind.Fixed64 or RpcFieldKind.SFixed64 => WireType.Fixed64,
        RpcFieldKind.Float or RpcFieldKind.Fixed32 or RpcFieldKind.SFixed32 => WireType.Fixed32,
        RpcFieldKind.String or RpcFieldKind.Bytes or RpcFieldKind.Message => WireType.LengthDelimited,
        RpcFieldKind.Group => WireType.StartGroup,
        _ => WireType.Varint,
    };
}

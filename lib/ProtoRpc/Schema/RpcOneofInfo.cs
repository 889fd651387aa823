using Google.Protobuf.Reflection;
using ProtoRpc.Schema.Options;

namespace ProtoRpc;

/// <summary>A oneof: fields of which at most one is set.</summary>
public sealed class RpcOneofInfo
{
    private readonly OneofDescriptorProto _proto;

    internal RpcOneofInfo(RpcMessageInfo containingType, OneofDescriptorProto proto, int index)
    {
        ContainingType = containingType;
        Index = index;
        _proto = proto;
    }

    /// <summary>The oneof's name.</summary>
    public string Name => _proto.Name;

    /// <summary>The message that contains the oneof.</summary>
    public RpcMessageInfo ContainingType { get; }

    /// <summary>The fields, in declared order.</summary>
    public IReadOnlyList<RpcFieldInfo> Fields { get; internal set; } = [];

    /// <summary>The options that are set, custom ones as <c>[full.name]</c>; enum values by name.</summary>
    public IReadOnlyDictionary<string, object?> Options =>
        OptionReader.Read(ContainingType.Schema, "OneofOptions", _proto.Options);

    /// <summary>The comment before the oneof, otherwise the one after its brace; or empty.</summary>
    public string Comment =>
        ContainingType.File.Comments.Of(
            $"{ContainingType.Path},{DescriptorProto.OneofDeclFieldNumber},{Index}");

    /// <summary>The place among the oneofs of the descriptor, synthetic ones counted.</summary>
    internal int Index { get; }
}

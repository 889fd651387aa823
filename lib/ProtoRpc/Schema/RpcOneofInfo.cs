namespace ProtoRpc.Schema;

/// <summary>Fields of which one at most is set.</summary>
public sealed class RpcOneofInfo
{
    /// <summary>The oneof's name.</summary>
    public string Name => throw new NotImplementedException();

    /// <summary>The fields, in declared order.</summary>
    public IReadOnlyList<RpcFieldInfo> Fields => throw new NotImplementedException();
}

using Google.Protobuf.Reflection;

namespace ProtoRpc.Schema;

/// <summary>A message type.</summary>
public sealed class RpcMessageInfo
{
    internal RpcMessageInfo(RpcSchema schema, MessageDescriptor descriptor)
    {
        Schema = schema;
        Descriptor = descriptor;
    }

    /// <summary>The name without package.</summary>
    public string Name => throw new NotImplementedException();

    /// <summary>The full name.</summary>
    public string FullName => throw new NotImplementedException();

    /// <summary>The schema that it is part of.</summary>
    public RpcSchema Schema { get; }

    /// <summary>The fields in declared order, without extensions.</summary>
    public IReadOnlyList<RpcFieldInfo> Fields => throw new NotImplementedException();

    /// <summary>The extensions of this message that the schema declares, by number.</summary>
    public IReadOnlyList<RpcFieldInfo> Extensions => throw new NotImplementedException();

    /// <summary>The real oneofs.</summary>
    public IReadOnlyList<RpcOneofInfo> Oneofs => throw new NotImplementedException();

    /// <summary>Whether it is the entry of a map field.</summary>
    public bool IsMapEntry => throw new NotImplementedException();

    /// <summary>The comment before the message, or empty.</summary>
    public string Comment => throw new NotImplementedException();

    /// <summary>A field or extension by number, or null.</summary>
    public RpcFieldInfo? FindField(int number) => throw new NotImplementedException();

    /// <summary>A field by proto name, then JSON name, then either without regard to case; an extension by
    /// <c>[full.name]</c>; or null.</summary>
    public RpcFieldInfo? FindField(string name) => throw new NotImplementedException();

    internal MessageDescriptor Descriptor { get; }
}

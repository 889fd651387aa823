using System.Buffers;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using ProtoRpc.Schema;

namespace ProtoRpc.Messages;

/// <summary>A message of any type, without generated code.</summary>
public sealed class DynamicMessage : IMessage<DynamicMessage>, IBufferMessage
{
    /// <summary>An empty message.</summary>
    public DynamicMessage(RpcMessageInfo type) => Type = type;

    /// <summary>The message's type.</summary>
    public RpcMessageInfo Type { get; }

    /// <inheritdoc/>
    public MessageDescriptor Descriptor => Type.Descriptor;

    /// <summary>Reads a message and checks its required fields.</summary>
    /// <exception cref="RpcException">InvalidArgument: not a message of this type, and why.</exception>
    public static DynamicMessage Parse(RpcMessageInfo type, ReadOnlySequence<byte> bytes) => throw new NotImplementedException();

    /// <summary>Reads a message and checks its required fields.</summary>
    public static DynamicMessage Parse(RpcMessageInfo type, ReadOnlySpan<byte> bytes) => throw new NotImplementedException();

    /// <summary>Throws when a required field is missing, here or in a nested message.</summary>
    /// <exception cref="RpcException">InvalidArgument with the paths of the missing fields.</exception>
    public void CheckRequired() => throw new NotImplementedException();

    /// <summary>A field's value: a boxed scalar, string, byte[], enum number (int), DynamicMessage, a list, or a
    /// dictionary for maps; the default where it is absent.</summary>
    public object? Get(RpcFieldInfo field) => throw new NotImplementedException();

    /// <summary>Whether a field with presence is set, or a repeated field or a field without presence is not empty.</summary>
    public bool Has(RpcFieldInfo field) => throw new NotImplementedException();

    /// <summary>Sets a field to a value of its exact type, clearing others of its oneof.</summary>
    public void Set(RpcFieldInfo field, object value) => throw new NotImplementedException();

    /// <summary>Removes a field.</summary>
    public void Clear(RpcFieldInfo field) => throw new NotImplementedException();

    /// <inheritdoc/>
    public int CalculateSize() => throw new NotImplementedException();

    /// <inheritdoc/>
    public DynamicMessage Clone() => throw new NotImplementedException();

    /// <inheritdoc/>
    public bool Equals(DynamicMessage? other) => throw new NotImplementedException();

    /// <inheritdoc/>
    public override bool Equals(object? obj) => Equals(obj as DynamicMessage);

    /// <inheritdoc/>
    public override int GetHashCode() => throw new NotImplementedException();

    /// <inheritdoc/>
    public void InternalMergeFrom(ref ParseContext ctx) => throw new NotImplementedException();

    /// <inheritdoc/>
    public void InternalWriteTo(ref WriteContext ctx) => throw new NotImplementedException();

    /// <inheritdoc/>
    public void MergeFrom(DynamicMessage message) => throw new NotImplementedException();

    /// <inheritdoc/>
    public void MergeFrom(CodedInputStream input) => throw new NotImplementedException();

    /// <inheritdoc/>
    public void WriteTo(CodedOutputStream output) => throw new NotImplementedException();
}

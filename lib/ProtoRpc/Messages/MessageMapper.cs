using ProtoRpc.Schema;

namespace ProtoRpc.Messages;

/// <summary>Makes messages of objects and objects of messages.</summary>
/// <param name="objects">How the host's objects are read and made; plain .NET objects by default.</param>
public sealed class MessageMapper(IObjectModel? objects = null)
{
    /// <summary>How objects are read and made.</summary>
    public IObjectModel Objects { get; } = objects ?? PlainObjectModel.Instance;

    /// <summary>Whether keys that the message does not have are left out instead of refused.</summary>
    public bool AllowUnknownFields { get; init; }

    /// <summary>Nesting bound; deeper, and cyclic, objects are refused.</summary>
    public int MaxDepth { get; init; } = RpcLimits.Default.MaxDepth;

    /// <summary>A message of a dictionary or object; null gives an empty message.</summary>
    /// <exception cref="RpcException">InvalidArgument with <see cref="RpcException.FieldPath"/>, the value, the type
    /// and what would do; error ids UnknownField, InvalidFieldValue, OneofConflict, MissingRequiredField, TooDeep.</exception>
    public DynamicMessage ToMessage(RpcMessageInfo type, object? value) => throw new NotImplementedException();

    /// <summary>An object of a message, made by <see cref="Objects"/>.</summary>
    public object ToObject(DynamicMessage message) => throw new NotImplementedException();

    /// <summary>An example of a message as ordered dictionaries: every field there, one element in each repeated
    /// field, recursion cut where a type is already on the path.</summary>
    public object Template(RpcMessageInfo type) => throw new NotImplementedException();
}

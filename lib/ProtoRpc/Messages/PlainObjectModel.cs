using System.Diagnostics.CodeAnalysis;
using ProtoRpc.Schema;

namespace ProtoRpc.Messages;

/// <summary>Plain .NET objects: dictionaries and public properties in, ordered dictionaries out.</summary>
public sealed class PlainObjectModel : IObjectModel
{
    /// <summary>The model.</summary>
    public static PlainObjectModel Instance { get; } = new();

    /// <inheritdoc/>
    public object? Unwrap(object? value) => value;

    /// <inheritdoc/>
    public bool TryGetMembers(object value, [NotNullWhen(true)] out IEnumerable<KeyValuePair<string, object?>>? members) =>
        throw new NotImplementedException();

    /// <inheritdoc/>
    public object CreateObject(DynamicMessage source, IReadOnlyList<RpcFieldInfo> fields, IReadOnlyList<object?> values) =>
        throw new NotImplementedException();
}

using System.Diagnostics.CodeAnalysis;
using ProtoRpc.Schema;

namespace ProtoRpc.Messages;

/// <summary>The host's objects: what a shell calls an object is more than its .NET type.</summary>
public interface IObjectModel
{
    /// <summary>The value without the host's wrapper, where it has one.</summary>
    object? Unwrap(object? value);

    /// <summary>The members of a dictionary or object, by name; false for a scalar or a list.</summary>
    bool TryGetMembers(object value, [NotNullWhen(true)] out IEnumerable<KeyValuePair<string, object?>>? members);

    /// <summary>An object of a message: values stand in the order of <paramref name="fields"/>.</summary>
    /// <param name="source">The message, so that what the object cannot show (unknown fields) can be kept with it.</param>
    /// <param name="fields">The fields, in declared order, then the extensions that are set.</param>
    /// <param name="values">Their values, already objects of this model.</param>
    object CreateObject(DynamicMessage source, IReadOnlyList<RpcFieldInfo> fields, IReadOnlyList<object?> values);
}

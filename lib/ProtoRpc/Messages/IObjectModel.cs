using System.Collections;
using System.Collections.Specialized;
using System.Diagnostics.CodeAnalysis;
using System.Globalization;
using ProtoRpc.Messages;

namespace ProtoRpc;

/// <summary>The host's objects: what a shell calls an object is more than its .NET type.</summary>
public interface IObjectModel
{
    /// <summary>Whether objects take <see cref="DeferredValue"/> for values that are messages, lists and maps
    /// of messages: these are then made when somebody looks at them.</summary>
    internal bool Defers => false;

    /// <summary>Whether an object is that of a message, and not of a map: what views ask.</summary>
    internal bool IsMessage(object value) => value is OrderedDictionary;

    /// <summary>The dictionary whose entries are the members of an object; null where
    /// <see cref="TryGetMembers"/> finds them.</summary>
    internal IDictionary? DictionaryOf(object value) => null;

    /// <summary>The name that a key of a dictionary stands for.</summary>
    internal string NameOf(object key) => Convert.ToString(key, CultureInfo.InvariantCulture) ?? "";

    /// <summary>As <see cref="CreateObject"/>, of a message that is one of several: an element of a list or a
    /// reply of a stream. Views show these as rows.</summary>
    internal object CreateElement(
        DynamicMessage source, IReadOnlyList<RpcFieldInfo> fields, IReadOnlyList<object?> values) =>
        CreateObject(source, fields, values);

    /// <summary>The value without the host's wrapper, where it has one.</summary>
    object? Unwrap(object? value);

    /// <summary>The members of a dictionary or object, by name; false for a scalar or a list.</summary>
    bool TryGetMembers(
        object value, [NotNullWhen(true)] out IEnumerable<KeyValuePair<string, object?>>? members);

    /// <summary>An object of a message: values stand in the order of <paramref name="fields"/>.</summary>
    /// <param name="source">The message, so that what the object cannot show (unknown fields) can be kept
    /// with it.</param>
    /// <param name="fields">The fields, in declared order, then the extensions that are set.</param>
    /// <param name="values">Their values, already objects of this model.</param>
    object CreateObject(
        DynamicMessage source, IReadOnlyList<RpcFieldInfo> fields, IReadOnlyList<object?> values);

    /// <summary>An object of an Any: its first member is <c>@type</c>, the others are those of what it holds,
    /// or <c>value</c> where that has a shape of its own or is not known to the schema.</summary>
    /// <param name="source">What the Any holds, or the Any itself where its type is not known.</param>
    /// <param name="names">The names of the members.</param>
    /// <param name="values">Their values, already objects of this model.</param>
    object CreateAny(DynamicMessage source, IReadOnlyList<string> names, IReadOnlyList<object?> values)
    {
        OrderedDictionary members = new(StringComparer.OrdinalIgnoreCase);
        for (int i = 0; i < names.Count; i++)
        {
            members[names[i]] = values[i];
        }
        return members;
    }

    /// <summary>The message that an object was made of by this model, or null.</summary>
    /// <remarks>The object's members win over its fields; its unknown fields are sent with them.</remarks>
    DynamicMessage? TryGetSource(object value) => null;
}

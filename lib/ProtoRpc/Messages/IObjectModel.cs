using System.Collections;
using System.Collections.Specialized;
using System.Diagnostics.CodeAnalysis;
using System.Reflection;
using System.Runtime.CompilerServices;
using ProtoRpc.Messages;

namespace ProtoRpc;

/// <summary>Reads and creates the objects of a host, such as a shell whose objects are more than their .NET
/// types.</summary>
public interface IObjectModel
{
    /// <summary>Whether objects accept a <see cref="DeferredValue"/> for messages, and for lists and maps of
    /// messages. These are converted when they are first read.</summary>
    internal bool Defers => false;

    /// <summary>Whether an object was created from a message and not from a map. Used by views.</summary>
    internal bool IsMessage(object value) => value is OrderedDictionary;

    /// <summary>The dictionary whose entries are an object's members; null if <see cref="TryGetMembers"/>
    /// finds the members.</summary>
    internal IDictionary? DictionaryOf(object value) => null;

    /// <summary>The name for a key of a dictionary.</summary>
    internal string NameOf(object key) => Convert.ToString(key, CultureInfo.InvariantCulture) ?? "";

    /// <summary>The full name and the bytes of an object that was created from a <see cref="DynamicMessage"/>
    /// and serialized by the host; null for others.</summary>
    internal (string FullName, byte[] Bytes)? EncodedOf(object value) => null;

    /// <summary>The culture in which the cells of tables may also have numbers; null for none.</summary>
    internal CultureInfo? CellCulture => null;

    /// <summary>The value without the host's wrapper, if it has one.</summary>
    object? Unwrap(object? value);

    /// <summary>The members of a dictionary or object, by name; false for a scalar or a list.</summary>
    bool TryGetMembers(
        object value, [NotNullWhen(true)] out IEnumerable<KeyValuePair<string, object?>>? members);

    /// <summary>Creates an object of a message. The values have the order of <paramref
    /// name="fields"/>.</summary>
    /// <param name="source">The message. The model may keep it with the object to preserve unknown
    /// fields.</param>
    /// <param name="fields">The fields in declared order, then the extensions that are set.</param>
    /// <param name="values">The values, already converted to objects of this model.</param>
    object CreateObject(
        DynamicMessage source, IReadOnlyList<RpcFieldInfo> fields, IReadOnlyList<object?> values);

    /// <summary>Creates an object of an Any. The first member is <c>@type</c>. The others are the members of
    /// the contained message, or <c>value</c> if it has a special shape or an unknown type.</summary>
    /// <param name="source">The contained message, or the Any itself if its type is unknown.</param>
    /// <param name="names">The names of the members.</param>
    /// <param name="values">The values, already converted to objects of this model.</param>
    object CreateAny(DynamicMessage source, IReadOnlyList<string> names, IReadOnlyList<object?> values)
    {
        OrderedDictionary members = new(StringComparer.OrdinalIgnoreCase);
        for (int i = 0; i < names.Count; i++)
        {
            members[names[i]] = values[i];
        }
        return members;
    }

    /// <summary>The message that this model made an object of, or null.</summary>
    /// <remarks>The object's members override the message's fields. The message's unknown fields are
    /// kept.</remarks>
    DynamicMessage? TryGetSource(object value) => null;
}

/// <summary>Reads dictionaries and public properties of .NET objects, and creates ordered
/// dictionaries.</summary>
/// <remarks>The dictionaries compare names case-insensitively, unless two names of the message differ only in
/// case. In a trimmed or ahead-of-time compiled program, only dictionaries are read; other objects are an
/// error (<see cref="RpcErrorIds.TrimmedType"/>).</remarks>
public sealed class PlainObjectModel : IObjectModel
{
    private const string OfAnyType = "Reads the properties of an object whose type is not known.";

    private static readonly ConditionalWeakTable<Type, PropertyInfo[]?> PropertiesByType = [];

    // Only for objects of messages with unknown fields: their source is needed to send these fields again.
    private readonly ConditionalWeakTable<object, DynamicMessage> _sources = [];

    /// <summary>The only instance.</summary>
    public static PlainObjectModel Instance { get; } = new();

    IDictionary? IObjectModel.DictionaryOf(object value) => value as IDictionary;

    /// <inheritdoc/>
    public object? Unwrap(object? value) => value;

    /// <inheritdoc/>
    public bool TryGetMembers(
        object value, [NotNullWhen(true)] out IEnumerable<KeyValuePair<string, object?>>? members)
    {
        members = value switch
        {
            IDictionary dictionary => EntriesOf(dictionary),
            IEnumerable<KeyValuePair<string, object?>> pairs => pairs,
            string or IConvertible or IFormattable or IEnumerable or Stream or Delegate or Type => null,
            _ => TypeMembers.AreKept ? PropertiesOf(value) : throw NotKept(value),
        };
        return members is not null;
    }

    /// <inheritdoc/>
    public object CreateObject(
        DynamicMessage source, IReadOnlyList<RpcFieldInfo> fields, IReadOnlyList<object?> values)
    {
        OrderedDictionary members = new(fields.Count, source.Layout.NameComparer);
        for (int i = 0; i < fields.Count; i++)
        {
            members.Add(fields[i].Name, values[i]);
        }
        if (!source.UnknownFieldBytes.IsEmpty)
        {
            _sources.Add(members, source);
        }
        return members;
    }

    /// <inheritdoc/>
    public DynamicMessage? TryGetSource(object value) =>
        value is OrderedDictionary && _sources.TryGetValue(value, out DynamicMessage? source) ? source : null;

    private static IEnumerable<KeyValuePair<string, object?>> EntriesOf(IDictionary dictionary)
    {
        foreach (DictionaryEntry entry in dictionary)
        {
            string? name = Convert.ToString(entry.Key, CultureInfo.InvariantCulture);
            yield return new(name ?? "", entry.Value);
        }
    }

    [RequiresUnreferencedCode(OfAnyType)]
    private static IEnumerable<KeyValuePair<string, object?>>? PropertiesOf(object value) =>
        PropertiesByType.GetValue(value.GetType(), ReadableProperties) is { } properties
            ? ReadAll(properties, value)
            : null;

    private static IEnumerable<KeyValuePair<string, object?>> ReadAll(PropertyInfo[] properties, object value)
    {
        foreach (PropertyInfo property in properties)
        {
            yield return new(property.Name, ValueOf(property, value));
        }
    }

    // Without this error, a field would be silently absent if the trimmer removed the property.
    private static RpcException NotKept(object value) => new(
        RpcStatusCode.InvalidArgument, RpcErrorIds.TrimmedType,
        $"A message cannot be made of the properties of {value.GetType().FullName}, because this program "
        + "is trimmed and the properties may be missing. Pass a generated message, a DynamicMessage or a "
        + "dictionary.");

    private static object? ValueOf(PropertyInfo property, object value)
    {
        try
        {
            return property.GetValue(value);
        }
        catch (TargetInvocationException e)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidFieldValue,
                $"The property {property.Name} of the type {value.GetType().FullName} cannot be read: " +
                $"{e.InnerException?.Message}", e.InnerException);
        }
    }

    // An asynchronous stream has no properties, so it would be taken for an empty message.
    [RequiresUnreferencedCode(OfAnyType)]
    private static PropertyInfo[]? ReadableProperties(Type type) => type.GetInterfaces().Any(IsStream)
        ? null
        : type
            .GetProperties(BindingFlags.Public | BindingFlags.Instance)
            .Where(property => property.CanRead && property.GetIndexParameters().Length == 0)
            .ToArray();

    private static bool IsStream(Type type) =>
        type.IsGenericType && type.GetGenericTypeDefinition() == typeof(IAsyncEnumerable<>);
}

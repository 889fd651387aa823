using System.Collections;
using System.Collections.Specialized;
using System.Diagnostics.CodeAnalysis;
using System.Globalization;
using System.Reflection;
using System.Runtime.CompilerServices;

namespace ProtoRpc;

/// <summary>Reads dictionaries and public properties of .NET objects, and creates ordered
/// dictionaries.</summary>
/// <remarks>The dictionaries compare names case-insensitively, unless two names of the message differ only in
/// case. In a trimmed or ahead-of-time compiled program, only dictionaries are read; other objects are an
/// error (<see cref="RpcErrorIds.TrimmedType"/>).</remarks>
public sealed class PlainObjectModel : IObjectModel
{
    private const string OfAnyType = "Reads the properties of an object whose type is not known.";

    private static readonly ConditionalWeakTable<Type, PropertyInfo[]> PropertiesByType = [];

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
    private static IEnumerable<KeyValuePair<string, object?>> PropertiesOf(object value) =>
        ReadAll(PropertiesByType.GetValue(value.GetType(), ReadableProperties), value);

    private static IEnumerable<KeyValuePair<string, object?>> ReadAll(PropertyInfo[] properties, object value)
    {
        foreach (PropertyInfo property in properties)
        {
            yield return new(property.Name, ValueOf(property, value));
        }
    }

    // Without this error, a field would be silently absent if the trimmer removed the property.
    private static RpcException NotKept(object value) => new(
        RpcStatusCode.InvalidArgument,
        $"A message cannot be made of the properties of a {value.GetType().FullName}, because this program "
        + "is trimmed and the properties may be missing. Pass a generated message, a DynamicMessage or a "
        + "dictionary.")
    {
        ErrorId = RpcErrorIds.TrimmedType,
    };

    private static object? ValueOf(PropertyInfo property, object value)
    {
        try
        {
            return property.GetValue(value);
        }
        catch (TargetInvocationException e)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"The property {property.Name} of a {value.GetType().FullName} cannot be read: " +
                $"{e.InnerException?.Message}",
                e.InnerException)
            {
                ErrorId = RpcErrorIds.InvalidFieldValue,
            };
        }
    }

    [RequiresUnreferencedCode(OfAnyType)]
    private static PropertyInfo[] ReadableProperties(Type type) => type
        .GetProperties(BindingFlags.Public | BindingFlags.Instance)
        .Where(property => property.CanRead && property.GetIndexParameters().Length == 0)
        .ToArray();
}

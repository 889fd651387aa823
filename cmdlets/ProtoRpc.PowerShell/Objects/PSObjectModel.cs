using System.Collections.Specialized;
using System.Diagnostics.CodeAnalysis;
using System.Globalization;
using System.Management.Automation.Internal;
using System.Runtime.CompilerServices;
using ProtoRpc.Messages;

namespace ProtoRpc.PowerShell.Objects;

/// <summary>Reads dictionaries and objects with properties, and creates custom objects of the
/// shell.</summary>
internal class PSObjectModel : IObjectModel
{
    private const string ShowComputerName = "PSShowComputerName";
    private const string SourceJob = "PSSourceJobInstanceId";

    // Only for objects of messages with unknown fields: their source is needed to send these fields again.
    private readonly ConditionalWeakTable<object, DynamicMessage> _sources = [];

    public static PSObjectModel Instance { get; } = new();

    bool IObjectModel.Defers => MakesShellObjects;

    /// <summary>Whether the model creates custom objects, whose properties can be converted later.</summary>
    protected virtual bool MakesShellObjects => true;

    // Export-Csv writes numbers in the culture of the session.
    CultureInfo? IObjectModel.CellCulture => CultureInfo.CurrentCulture;

    IDictionary? IObjectModel.DictionaryOf(object value) => value as IDictionary;

    string IObjectModel.NameOf(object key) => NameOf(key);

    // A command without output sets AutomationNull, which PowerShell treats as null.
    public object? Unwrap(object? value) =>
        ReferenceEquals(value, AutomationNull.Value) ? null
        : value is PSObject wrapped ? DeserializedValue.Unwrap(wrapped)
        : value;

    public bool TryGetMembers(
        object value, [NotNullWhen(true)] out IEnumerable<KeyValuePair<string, object?>>? members)
    {
        members = Unwrap(value) switch
        {
            IDictionary dictionary => Entries(dictionary),
            PropertyRow row => row.Members,
            // A PSObject also has the properties that PowerShell added.
            PSObject custom => Properties(custom),
            ScriptBlock => throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidFieldValue,
                "A script block is not a message. Write @{ instead of { for a hashtable."),
            null or string or byte[] or IEnumerable or IConvertible => null,
            ValueType and not IFormattable => Properties(PSObject.AsPSObject(value)),
            ValueType => null,
            _ => Properties(PSObject.AsPSObject(value)),
        };
        return members is not null;
    }

    (string FullName, byte[] Bytes)? IObjectModel.EncodedOf(object value) =>
        value is PSObject custom ? DeserializedValue.EncodedOf(custom) : ForeignMessage.Read(value);

    bool IObjectModel.IsMessage(object value) => value is PSObject { BaseObject: PSCustomObject };

    public virtual object CreateObject(
        DynamicMessage source, IReadOnlyList<RpcFieldInfo> fields, IReadOnlyList<object?> values)
    {
        if (HasCollidingNames(source) || HasNameOfEveryObject(fields))
        {
            // A field with the name of a property of every object, such as PSObject, would hide it. Scripts
            // could then not list the properties.
            return PlainObjectModel.Instance.CreateObject(
                source, fields, Array.ConvertAll([.. values], Made));
        }

        PSObject result = Build(source, [.. fields.Select(field => field.Name)], values);
        if (!source.UnknownFieldBytes.IsEmpty)
        {
            _sources.Add(result, source);
        }

        return result;
    }

    public virtual object CreateAny(
        DynamicMessage source, IReadOnlyList<string> names, IReadOnlyList<object?> values) =>
        HasCollidingNames(source) || names.Any(IsOfEveryObject)
            ? ((IObjectModel)PlainObjectModel.Instance).CreateAny(
                source, names, Array.ConvertAll([.. values], Made))
            : Build(source, names, values);

    /// <summary>Whether the shell reserves the name of a property.</summary>
    public static bool IsOfEveryObject(string name) =>
        name.StartsWith("ps", StringComparison.OrdinalIgnoreCase)
        && name[2..].ToUpperInvariant() is "OBJECT" or "BASE" or "ADAPTED" or "EXTENDED" or "TYPENAMES";

    // No enumerator, because this runs for each reply.
    private static bool HasNameOfEveryObject(IReadOnlyList<RpcFieldInfo> fields)
    {
        for (int i = 0; i < fields.Count; i++)
        {
            if (IsOfEveryObject(fields[i].Name))
            {
                return true;
            }
        }

        return false;
    }

    public DynamicMessage? TryGetSource(object value) =>
        value is PSObject or OrderedDictionary && _sources.TryGetValue(value, out DynamicMessage? source)
            ? source
            : PlainObjectModel.Instance.TryGetSource(value);

    /// <summary>Gives the copy of an object the object's source, if it has one.</summary>
    public void CopySource(object original, object copy)
    {
        if (TryGetSource(original) is { } source)
        {
            _sources.AddOrUpdate(copy, source);
        }
    }

    // Two field names differ only in case, which a custom object cannot have.
    private static bool HasCollidingNames(DynamicMessage source) =>
        ReferenceEquals(source.Layout.NameComparer, StringComparer.Ordinal);

    private static PSObject Build(
        DynamicMessage source, IReadOnlyList<string> names, IReadOnlyList<object?> values)
    {
        // The capacity reserves room for the members in the object itself. Without it, the shell keeps them
        // in a table of weak references, which costs more than the rest of a reply.
        PSObject result = new(instanceMemberCapacity: names.Count);
        for (int i = 0; i < names.Count; i++)
        {
            PSNoteProperty property = values[i] is DeferredValue or IList or IDictionary
                ? new NestedProperty(names[i], values[i])
                : new PSNoteProperty(names[i], values[i]);
            result.Properties.Add(property, preValidated: true);
        }

        ObjectTypeNames.Set(result, source.Type);
        return result;
    }

    private static object? Made(object? value) => value is DeferredValue deferred ? deferred.Make() : value;

    private static IEnumerable<KeyValuePair<string, object?>> Entries(IDictionary dictionary)
    {
        foreach (DictionaryEntry entry in dictionary)
        {
            yield return new(NameOf(entry.Key), entry.Value);
        }
    }

    private static string NameOf(object key) => key as string ?? LanguagePrimitives.ConvertTo<string>(key);

    private IEnumerable<KeyValuePair<string, object?>> Properties(PSObject value)
    {
        foreach (PSPropertyInfo property in value.Properties)
        {
            if (IsOfRemoting(value, property.Name))
            {
                continue;
            }

            if (property.IsInstance && property.GetType() == typeof(PSNoteProperty)
                && !IsEndpoint(property))
            {
                // Usually a column of a data row, which can always be read.
                yield return new(property.Name, property.Value);
            }
            else if (IsMember(property) && TryGetValue(property, out object? propertyValue))
            {
                yield return new(property.Name, propertyValue);
            }
        }
    }

    // The shell adds these properties to each object that it receives from a job or a remote session. Scripts
    // often remove some of them. The names of two may also be names of a caller's own properties.
    private static bool IsOfRemoting(PSObject value, string name) => name switch
    {
        ShowComputerName or SourceJob => true,
        "PSComputerName" or "RunspaceId" =>
            value.Properties[ShowComputerName] is not null || value.Properties[SourceJob] is not null,
        _ => false,
    };

    /// <summary>Whether a property is part of the message; the tag with the endpoint is not.</summary>
    protected virtual bool IsMember(PSPropertyInfo property) =>
        !IsEndpoint(property) && !IsOfTypeData(property);

    /// <summary>Whether a property is the tag with the endpoint, which is a plain property after a
    /// job.</summary>
    protected static bool IsEndpoint(PSPropertyInfo property) =>
        property is EndpointTag || property.Name == EndpointTag.PropertyName;

    // Update-TypeData adds members to a type to change how the shell shows it. Add-Member adds members to one
    // object, which belong to the object.
    protected static bool IsOfTypeData(PSPropertyInfo property) => !property.IsInstance
        && property.MemberType is PSMemberTypes.AliasProperty or PSMemberTypes.ScriptProperty
            or PSMemberTypes.CodeProperty or PSMemberTypes.NoteProperty;

    /// <summary>The value of a property; false for one that can only be set.</summary>
    /// <exception cref="RpcException">InvalidArgument: it cannot be read.</exception>
    // For an alias of a missing member, even IsGettable throws.
    protected internal virtual bool TryGetValue(PSPropertyInfo property, out object? value)
    {
        try
        {
            bool isReadable = property.IsGettable;
            value = isReadable ? property.Value : null;
            return isReadable;
        }
        catch (ExtendedTypeSystemException e)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidFieldValue,
                $"The property '{property.Name}' cannot be read: {e.Message}", e);
        }
    }
}

/// <summary>A note property with a message, a list, a map or bytes. A deferred value is converted when it is
/// first read. The text of a collection is that of <see cref="ObjectTypeNames.Collection"/>.</summary>
/// <param name="name">The name.</param>
/// <param name="nested">The value, or a deferred value.</param>
internal sealed class NestedProperty(string name, object? nested) : PSNoteProperty(name, null)
{
    private volatile object? _value = nested;

    /// <summary>The value without converting it: it may still be deferred.</summary>
    public object? Unmade => _value;

    public override object? Value
    {
        get => ObjectTypeNames.OfCollection(Made);

        set => _value = value;
    }

    public override string TypeNameOfValue => Plain().TypeNameOfValue;

    /// <summary>A copy with the same value. The shell copies each property that it adds to an
    /// object.</summary>
    public override PSMemberInfo Copy() => new NestedProperty(Name, _value);

    /// <summary>The text that Get-Member shows.</summary>
    public override string ToString() => Plain().ToString();

    private object? Made => _value is DeferredValue deferred ? deferred.Make() : _value;

    // The base class would copy its own field instead of this class's value.
    private PSNoteProperty Plain() => new(Name, Made);
}

/// <summary>The properties of an object that were read already. Unlike the entries of a dictionary, empty
/// cells of a table are left out.</summary>
/// <param name="Members">Names and values.</param>
internal sealed record PropertyRow(IReadOnlyCollection<KeyValuePair<string, object?>> Members);

/// <summary>Tags a reply with the endpoint that sent it. The tag is not a field, so the reply can be sent
/// again unchanged.</summary>
internal sealed class EndpointTag(string endpoint) : PSNoteProperty(PropertyName, endpoint)
{
    public const string PropertyName = "PSRpcEndpoint";

    public EndpointTag(RpcEndpoint endpoint)
        : this(endpoint.ToString())
    {
    }

    public override PSMemberInfo Copy() => new EndpointTag((string)Value);
}

/// <summary>Creates mappers between messages and objects of the shell.</summary>
internal static class ShellMapper
{
    /// <param name="asHashtable">Whether to convert messages to ordered hashtables instead of
    /// objects.</param>
    /// <param name="allowUnknownFields">Whether to ignore keys that are not fields.</param>
    /// <param name="isGivenUp">Polled during the conversion: whether to stop it.</param>
    public static MessageMapper Create(
        bool asHashtable, bool allowUnknownFields = false, Func<bool>? isGivenUp = null) =>
        new(asHashtable ? OrderedHashtableModel.Instance : PSObjectModel.Instance)
        {
            AllowUnknownFields = allowUnknownFields,
            IsGivenUp = isGivenUp,
        };
}

/// <summary>Reads objects of the shell, and creates ordered hashtables (<c>-AsHashtable</c>).</summary>
internal sealed class OrderedHashtableModel : PSObjectModel
{
    public static new OrderedHashtableModel Instance { get; } = new();

    protected override bool MakesShellObjects => false;

    public override object CreateObject(
        DynamicMessage source, IReadOnlyList<RpcFieldInfo> fields, IReadOnlyList<object?> values) =>
        PlainObjectModel.Instance.CreateObject(source, fields, values);

    public override object CreateAny(
        DynamicMessage source, IReadOnlyList<string> names, IReadOnlyList<object?> values) =>
        ((IObjectModel)PlainObjectModel.Instance).CreateAny(source, names, values);
}

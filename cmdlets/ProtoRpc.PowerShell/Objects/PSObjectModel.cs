using System.Collections;
using System.Diagnostics.CodeAnalysis;
using System.Management.Automation;
using System.Runtime.CompilerServices;
using ProtoRpc.Messages;

namespace ProtoRpc.PowerShell.Objects;

/// <summary>The shell's objects: dictionaries and anything with properties in, custom objects out.</summary>
internal class PSObjectModel : IObjectModel
{
    // Only objects of messages that have unknown fields: the others have nothing to be remembered.
    private readonly ConditionalWeakTable<object, DynamicMessage> _sources = [];

    public static PSObjectModel Instance { get; } = new();

    bool IObjectModel.Defers => MakesShellObjects;

    /// <summary>Whether it makes custom objects, whose properties can be made later.</summary>
    protected virtual bool MakesShellObjects => true;

    IDictionary? IObjectModel.DictionaryOf(object value) => value as IDictionary;

    string IObjectModel.NameOf(object key) => NameOf(key);

    public object? Unwrap(object? value) =>
        value is PSObject { BaseObject: not PSCustomObject } wrapped ? wrapped.BaseObject : value;

    public bool TryGetMembers(
        object value, [NotNullWhen(true)] out IEnumerable<KeyValuePair<string, object?>>? members)
    {
        members = Unwrap(value) switch
        {
            IDictionary dictionary => Entries(dictionary),
            // An object that a shell wrapped has the properties that the shell added as well.
            PSObject custom => Properties(custom),
            null or string or byte[] or IEnumerable or IConvertible => null,
            ValueType and not IFormattable => Properties(PSObject.AsPSObject(value)),
            ValueType => null,
            _ => Properties(PSObject.AsPSObject(value)),
        };
        return members is not null;
    }

    bool IObjectModel.IsMessage(object value) => value is PSObject { BaseObject: PSCustomObject };

    public object CreateObject(
        DynamicMessage source, IReadOnlyList<RpcFieldInfo> fields, IReadOnlyList<object?> values) =>
        Create(source, fields, values, isElement: false);

    object IObjectModel.CreateElement(
        DynamicMessage source, IReadOnlyList<RpcFieldInfo> fields, IReadOnlyList<object?> values) =>
        Create(source, fields, values, isElement: true);

    protected virtual object Create(
        DynamicMessage source, IReadOnlyList<RpcFieldInfo> fields, IReadOnlyList<object?> values,
        bool isElement)
    {
        if (ReferenceEquals(source.Layout.NameComparer, StringComparer.Ordinal))
        {
            // Two of its names differ in nothing but case, which no object of the shell can have.
            return PlainObjectModel.Instance.CreateObject(
                source, fields, Array.ConvertAll([.. values], Made));
        }

        PSObject result = Build(source, [.. fields.Select(field => field.Name)], values, isElement);
        if (!source.UnknownFieldBytes.IsEmpty)
        {
            _sources.Add(result, source);
        }

        return result;
    }

    public virtual object CreateAny(
        DynamicMessage source, IReadOnlyList<string> names, IReadOnlyList<object?> values) =>
        Build(source, names, values, isRow: false);

    public DynamicMessage? TryGetSource(object value) =>
        value is PSObject && _sources.TryGetValue(value, out DynamicMessage? source)
            ? source
            : PlainObjectModel.Instance.TryGetSource(value);

    // Such an object's members are its own. Those of one without a capacity go to a table of weak references,
    // and cost more than all the rest of a reply. The constructor is public, but newer
    // than the reference assembly.
    [UnsafeAccessor(UnsafeAccessorKind.Constructor)]
    internal static extern PSObject NewObject(int instanceMemberCapacity);

    private static PSObject Build(
        DynamicMessage source, IReadOnlyList<string> names, IReadOnlyList<object?> values, bool isRow)
    {
        PSObject result = NewObject(names.Count);
        for (int i = 0; i < names.Count; i++)
        {
            PSNoteProperty property = values[i] is DeferredValue or IList or IDictionary
                ? new NestedProperty(names[i], values[i])
                : new PSNoteProperty(names[i], values[i]);
            result.Properties.Add(property, preValidated: true);
        }

        ObjectTypeNames.Set(result, source.Type, isRow);
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
            if (property.IsInstance && property.GetType() == typeof(PSNoteProperty))
            {
                // A column of a row, mostly, which can always be read.
                yield return new(property.Name, property.Value);
            }
            else if (IsMember(property) && TryGetValue(property, out object? propertyValue))
            {
                yield return new(property.Name, propertyValue);
            }
        }
    }

    /// <summary>Whether a property is one of the message: not what says where it comes from.</summary>
    protected virtual bool IsMember(PSPropertyInfo property) =>
        property is not EndpointTag && !IsOfTypeData(property);

    // What Update-TypeData adds to a type is how the shell shows its objects. What Add-Member adds to one
    // object is its own.
    protected static bool IsOfTypeData(PSPropertyInfo property) => !property.IsInstance
        && property.MemberType is PSMemberTypes.AliasProperty or PSMemberTypes.ScriptProperty
            or PSMemberTypes.CodeProperty or PSMemberTypes.NoteProperty;

    // An alias of a member that is not there throws when it is asked whether it can be read.
    protected virtual bool TryGetValue(PSPropertyInfo property, out object? value)
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
                RpcStatusCode.InvalidArgument,
                $"The property '{property.Name}' cannot be read: {e.Message}", e)
            {
                ErrorId = RpcErrorIds.InvalidFieldValue,
            };
        }
    }
}

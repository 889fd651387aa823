using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;

namespace ProtoRpc.PowerShell.Objects;

/// <summary>Gives the shell's objects the type names of their message types: <c>ProtoRpc.Message#</c> and the
/// full name, as CIM does.</summary>
/// <remarks>A peer chooses the full name. By itself it could be that of a .NET class, whose views and type
/// data the shell would apply: those of System.IO.FileInfo open a path. No .NET type has a name with '#'.
/// <see cref="PSObject.TypeNames"/> returns a list that may be changed, so the shell copies it for
/// each object into a table of weak references. Every garbage collection walks this table, and it never
/// shrinks: a stream of a million objects gets slower and slower. Objects of .NET classes share names that
/// cannot be changed, and so do these objects. The shared names also identify an object's message type, at no
/// cost per object.</remarks>
internal static class ObjectTypeNames
{
    private const string Names =
        "System.Management.Automation.Runspaces.ConsolidatedString, System.Management.Automation";

    /// <summary>The second type name of all messages, which the views select.</summary>
    public const string Common = "ProtoRpc.Message";

    private const string Prefix = $"{Common}#";

    /// <summary>The last type name of lists, maps and bytes in messages; its type data defines their
    /// text.</summary>
    public const string Collection = "ProtoRpc.Collection";

    private static readonly string[] Bases = [.. new PSObject().TypeNames];
    private static readonly ConditionalWeakTable<RpcMessageInfo, object> Known = [];
    // By the list of type names, and by the name itself, because Select-Object copies the list and adds a
    // name.
    private static readonly ConditionalWeakTable<object, RpcMessageInfo> Types = [];
    private static readonly ConditionalWeakTable<Type, object> Collections = [];
    private static readonly bool CanShare = TryShare();

    /// <summary>The type name of the objects of a message type.</summary>
    public static string Get(RpcMessageInfo type) => Prefix + type.FullName;

    /// <summary>The full name of the message type in an object's type names; null for an object that is no
    /// message.</summary>
    public static string? FullNameOf(PSObject value) =>
        NamesOf(value).Select(DeserializedValue.OriginalName)
            .FirstOrDefault(name => name.StartsWith(Prefix, StringComparison.OrdinalIgnoreCase)) is { } found
            ? found[Prefix.Length..]
            : DeserializedValue.EncodedOf(value)?.FullName;

    /// <summary>The first type name of an object; null for an object without.</summary>
    public static string? FirstOf(PSObject value) => NamesOf(value) is [var first, ..] ? first : null;

    /// <summary>Whether an object has a type name.</summary>
    public static bool Contains(PSObject value, string name) => NamesOf(value).Contains(name);

    /// <summary>Makes the name of a message type the first of an object's type names.</summary>
    /// <param name="value">The object.</param>
    /// <param name="type">The type.</param>
    public static void Set(PSObject value, RpcMessageInfo type)
    {
        if (CanShare)
        {
            SetNames(
                value, Known.TryGetValue(type, out object? names) ? names : Known.GetValue(type, NamesOf));
        }
        else
        {
            value.TypeNames.Insert(0, Common);
            value.TypeNames.Insert(0, Get(type));
        }
    }

    /// <summary>Gives a list, a map or bytes the text of <see cref="Collection"/>, which Export-Csv writes to
    /// its cells. Scripts see the same list, map or bytes.</summary>
    /// <returns>The value with this text; other values unchanged.</returns>
    public static object? OfCollection(object? value)
    {
        if (!CanShare || value is not (IList or IDictionary))
        {
            return value;
        }

        PSObject wrapped = new(value);
        Type type = value.GetType();
        SetNames(
            wrapped, Collections.TryGetValue(type, out object? names)
                ? names
                : Collections.GetValue(type, NamesOfCollection));
        return wrapped;
    }

    /// <summary>Finds the message type of an object that was made of a message, unless the name of the type
    /// was removed.</summary>
    public static bool TryGetType(PSObject value, [NotNullWhen(true)] out RpcMessageInfo? type)
    {
        type = null;
        if (!CanShare || Types.TryGetValue(GetNames(value), out type))
        {
            return type is not null;
        }

        foreach (string name in NamesOf(value))
        {
            if (Types.TryGetValue(name, out type))
            {
                return true;
            }
        }

        return false;
    }

    // The shared list of names, which is not copied: see the remarks.
    private static IList<string> NamesOf(PSObject value) =>
        CanShare ? (IList<string>)GetNames(value) : value.TypeNames;

    private static object NamesOf(RpcMessageInfo type)
    {
        string name = Get(type);
        object names = NewNames([name, Common, .. Bases], interned: true);
        Types.Add(names, type);
        Types.Add(name, type);
        return names;
    }

    private static object NamesOfCollection(Type type)
    {
        List<string> names = [];
        for (Type? one = type; one is not null; one = one.BaseType)
        {
            names.Add(one.ToString());
        }

        return NewNames([.. names, Collection], interned: true);
    }

    // The members are not public, and another version of the shell may not have them.
    private static bool TryShare()
    {
        try
        {
            PSObject value = new();
            SetNames(value, NewNames(Bases, interned: true));
            return GetNames(value) is not null;
        }
        catch (Exception e) when (e is MissingMemberException or TypeLoadException)
        {
            return false;
        }
    }

    [UnsafeAccessor(UnsafeAccessorKind.Constructor)]
    [return: UnsafeAccessorType(Names)]
    private static extern object NewNames(IEnumerable<string> names, bool interned);

    [UnsafeAccessor(UnsafeAccessorKind.Method, Name = "get_InternalTypeNames")]
    [return: UnsafeAccessorType(Names)]
    private static extern object GetNames(PSObject value);

    [UnsafeAccessor(UnsafeAccessorKind.Method, Name = "set_InternalTypeNames")]
    private static extern void SetNames(PSObject value, [UnsafeAccessorType(Names)] object names);
}

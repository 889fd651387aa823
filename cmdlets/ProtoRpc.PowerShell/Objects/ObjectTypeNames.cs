using System.Diagnostics.CodeAnalysis;
using System.Management.Automation;
using System.Runtime.CompilerServices;

namespace ProtoRpc.PowerShell.Objects;

/// <summary>Gives the shell's objects the names of their message types.</summary>
/// <remarks>What <see cref="PSObject.TypeNames"/> gives out may be changed, so the shell copies it for
/// the object, into a table of weak references that every garbage collection walks and that never shrinks:
/// a stream of a million objects gets slower and slower. Objects of .NET classes share names
/// that cannot be changed, and so do these. They also tell of which type an object is, at no cost for the
/// object.</remarks>
internal static class ObjectTypeNames
{
    private const string Names =
        "System.Management.Automation.Runspaces.ConsolidatedString, System.Management.Automation";

    private static readonly string[] Bases = [.. new PSObject().TypeNames];
    private static readonly ConditionalWeakTable<RpcMessageInfo, object> Known = [];
    private static readonly ConditionalWeakTable<object, RpcMessageInfo> Types = [];
    private static readonly bool CanShare = TryShare();

    /// <summary>Makes the name of a message type the first of an object's type names.</summary>
    public static void Set(PSObject value, RpcMessageInfo type)
    {
        if (CanShare)
        {
            SetNames(
                value, Known.TryGetValue(type, out object? names) ? names : Known.GetValue(type, NamesOf));
        }
        else
        {
            value.TypeNames.Insert(0, type.FullName);
        }
    }

    /// <summary>The message type of an object that was made of a message,
    /// unless its names were changed.</summary>
    public static bool TryGetType(PSObject value, [NotNullWhen(true)] out RpcMessageInfo? type)
    {
        type = null;
        return CanShare && Types.TryGetValue(GetNames(value), out type);
    }

    private static object NamesOf(RpcMessageInfo type)
    {
        object names = NewNames([type.FullName, .. Bases], interned: true);
        Types.Add(names, type);
        return names;
    }

    // These are not public, and another version of the shell may not have them.
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

using System.Collections.Concurrent;
using System.Management.Automation;
using System.Runtime.CompilerServices;

namespace ProtoRpc.PowerShell;

/// <summary>Gives the shell's objects the names of their message types.</summary>
/// <remarks>What <see cref="PSObject.TypeNames"/> gives out may be changed, so the shell copies it for
/// the object, into a table of weak references that every garbage collection walks and that never shrinks:
/// a stream of a million objects gets slower and slower. Objects of .NET classes share names
/// that cannot be changed, and so do these.</remarks>
internal static class ObjectTypeNames
{
    private const string Names =
        "System.Management.Automation.Runspaces.ConsolidatedString, System.Management.Automation";

    private static readonly string[] Bases = [.. new PSObject().TypeNames];
    private static readonly ConcurrentDictionary<string, object> Known = new(StringComparer.Ordinal);
    private static readonly bool CanShare = TryShare();

    /// <summary>Makes a name the first of an object's type names.</summary>
    public static void Set(PSObject value, string name)
    {
        if (CanShare)
        {
            SetNames(value, Known.GetOrAdd(name, static key => NewNames([key, .. Bases], interned: true)));
        }
        else
        {
            value.TypeNames.Insert(0, name);
        }
    }

    // These are not public, and another version of the shell may not have them.
    private static bool TryShare()
    {
        try
        {
            SetNames(new PSObject(), NewNames(Bases, interned: true));
            return true;
        }
        catch (Exception e) when (e is MissingMemberException or TypeLoadException)
        {
            return false;
        }
    }

    [UnsafeAccessor(UnsafeAccessorKind.Constructor)]
    [return: UnsafeAccessorType(Names)]
    private static extern object NewNames(IEnumerable<string> names, bool interned);

    [UnsafeAccessor(UnsafeAccessorKind.Method, Name = "set_InternalTypeNames")]
    private static extern void SetNames(PSObject value, [UnsafeAccessorType(Names)] object names);
}

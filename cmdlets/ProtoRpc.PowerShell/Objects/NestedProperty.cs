using System.Management.Automation;
using ProtoRpc.Messages;

namespace ProtoRpc.PowerShell.Objects;

/// <summary>A note property with a message, a list, a map or bytes. It is like any other, but a value that
/// was deferred is made when somebody looks at it, and a collection has the text of
/// <see cref="ObjectTypeNames.Collection"/>.</summary>
/// <param name="name">The name.</param>
/// <param name="nested">The value, or what it is made of.</param>
internal sealed class NestedProperty(string name, object? nested) : PSNoteProperty(name, null)
{
    private volatile object? _value = nested;

    /// <summary>The value as it is: one that was not looked at yet is not made.</summary>
    public object? Unmade => _value;

    /// <inheritdoc/>
    public override object? Value
    {
        get => ObjectTypeNames.OfCollection(Made);

        set => _value = value;
    }

    /// <inheritdoc/>
    public override string TypeNameOfValue => Plain().TypeNameOfValue;

    /// <summary>A copy that has the same value; the shell makes one of each property
    /// that an object gets.</summary>
    public override PSMemberInfo Copy() => new NestedProperty(Name, _value);

    /// <summary>What Get-Member shows.</summary>
    public override string ToString() => Plain().ToString();

    private object? Made => _value is DeferredValue deferred ? deferred.Make() : _value;

    // The shell's own property describes its field, and not what this class makes of it.
    private PSNoteProperty Plain() => new(Name, Made);
}

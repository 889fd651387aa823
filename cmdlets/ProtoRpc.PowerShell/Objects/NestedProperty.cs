using System.Management.Automation;
using ProtoRpc.Messages;

namespace ProtoRpc.PowerShell.Objects;

/// <summary>A note property with a message, a list, a map or bytes. A deferred value is converted when it is
/// first read. The text of a collection is that of <see cref="ObjectTypeNames.Collection"/>.</summary>
/// <param name="name">The name.</param>
/// <param name="nested">The value, or a deferred value.</param>
internal sealed class NestedProperty(string name, object? nested) : PSNoteProperty(name, null)
{
    private volatile object? _value = nested;

    /// <summary>The value without converting it: it may still be deferred.</summary>
    public object? Unmade => _value;

    /// <inheritdoc/>
    public override object? Value
    {
        get => ObjectTypeNames.OfCollection(Made);

        set => _value = value;
    }

    /// <inheritdoc/>
    public override string TypeNameOfValue => Plain().TypeNameOfValue;

    /// <summary>A copy with the same value. The shell copies each property that it adds to an
    /// object.</summary>
    public override PSMemberInfo Copy() => new NestedProperty(Name, _value);

    /// <summary>The text that Get-Member shows.</summary>
    public override string ToString() => Plain().ToString();

    private object? Made => _value is DeferredValue deferred ? deferred.Make() : _value;

    // The base class would describe its own field, not the value of this class.
    private PSNoteProperty Plain() => new(Name, Made);
}

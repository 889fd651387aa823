using System.Management.Automation;
using ProtoRpc.Messages;

namespace ProtoRpc.PowerShell.Objects;

/// <summary>A note property whose value is made when somebody looks at it;
/// otherwise it is like any other.</summary>
internal sealed class DeferredProperty(string name, DeferredValue deferred) : PSNoteProperty(name, null)
{
    private volatile DeferredValue? _deferred = deferred;
    private object? _value;

    /// <summary>The value as it is: one that was not looked at yet is not made.</summary>
    public object? Unmade => _deferred is { } deferred ? deferred : _value;

    /// <inheritdoc/>
    public override object? Value
    {
        get => _deferred is { } deferred ? deferred.Make() : _value;

        set
        {
            _value = value;
            _deferred = null;
        }
    }

    /// <inheritdoc/>
    public override string TypeNameOfValue => Plain().TypeNameOfValue;

    /// <summary>A copy that has the same value; the shell makes one of each property
    /// that an object gets.</summary>
    public override PSMemberInfo Copy() =>
        _deferred is { } deferred ? new DeferredProperty(Name, deferred) : Plain();

    /// <summary>What Get-Member shows.</summary>
    public override string ToString() => Plain().ToString();

    // The shell's own property describes its field, and not what this class makes of it.
    private PSNoteProperty Plain() => new(Name, Value);
}

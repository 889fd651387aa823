using System.Management.Automation.Internal;
using System.Management.Automation.Language;
using System.Management.Automation.Runspaces;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>Finds the variables of the caller's session that handlers read although their workers do not have
/// them. In the workers, these variables are empty without an error.</summary>
internal sealed class SessionVariables
{
    private const int MaxNames = 8;

    private readonly HashSet<string> _set = new(StringComparer.OrdinalIgnoreCase);
    private readonly List<VariableRead> _found = [];
    private bool _isUncertain;
    private bool _isCompared;

    /// <summary>Adds a script that workers run.</summary>
    /// <param name="script">A block or a function.</param>
    /// <param name="session">The session of the script.</param>
    /// <param name="own">The names of the variables that the script brings along.</param>
    public void Add(Ast script, SessionState session, Func<string, bool> own)
    {
        VariableUse use = VariableUse.From(script);
        _isUncertain |= use.MaySetOthers;
        _set.UnionWith(use.Set);
        _found.AddRange(use.Reads.Where(read =>
            !own(read.Name) && !ClosureVariables.IsOfTheWorker(read.Name) && Has(session, read)));
    }

    /// <summary>Removes the variables that a worker has: automatic variables, and those of its modules and of
    /// <c>InitializationScript</c>.</summary>
    public void Compare(Func<string, PSVariable?> worker)
    {
        _isCompared = true;
        _found.RemoveAll(read => worker(read.Name) is not null);
    }

    /// <summary>The text of the warning; null if no variable is missing.</summary>
    /// <param name="open">Opens a runspace like those of the workers. It is only used if no worker was
    /// compared.</param>
    public string? Warning(Func<Runspace> open)
    {
        // A script may set a variable for the scripts that it calls, so a variable that one script sets may
        // exist in all.
        _found.RemoveAll(read => _isUncertain || _set.Contains(read.Name));
        if (_found.Count > 0 && !_isCompared)
        {
            using Runspace runspace = open();
            Compare(runspace.SessionStateProxy.PSVariable.Get);
        }

        List<VariableRead> names =
            [.. _found.DistinctBy(read => read.Name, StringComparer.OrdinalIgnoreCase)];
        if (names.Count == 0)
        {
            return null;
        }

        string rest = names.Count > MaxNames ? $" and {names.Count - MaxNames} more" : "";
        string functions = names.Exists(read => read.Function is not null)
            ? " Give a function its value as an argument."
            : "";
        return "The handlers read variables of this session that their workers do not have, so they are "
            + $"empty there: {string.Join(", ", names.Take(MaxNames).Select(Place))}{rest}. Write "
            + $"{Using(names[0].Name)} to copy a value when the listener starts.{functions} To share values "
            + "between calls, see about_ProtoRpc_State.";
    }

    // A variable without a value is also empty in a worker. A variable that a module exports is imported to
    // the workers with the module.
    private static bool Has(SessionState session, VariableRead read) =>
        session.PSVariable.Get(read.Path) is { Value: { } value, Module: null }
        && value != AutomationNull.Value;

    private static string Place(VariableRead read) => read.Function is { } function
        ? $"{read.Text} (function {function})"
        : $"{read.Text} (line {read.Expression.Extent.StartLineNumber})";

    private static string Using(string name) =>
        name.All(c => char.IsLetterOrDigit(c) || c == '_') ? $"$using:{name}" : $"${{using:{name}}}";
}

using System.Collections;
using System.Collections.ObjectModel;
using System.Management.Automation;
using ProtoRpc.Messages;
using ProtoRpc.PowerShell.Objects;
using ProtoRpc.PowerShell.Runspaces;

namespace ProtoRpc.PowerShell.Completion;

/// <summary>Completes keys and values of hashtables that are arguments of this module's cmdlets.</summary>
internal static class TableCompletion
{
    // Longer lists are not useful, and a hostile schema can have one of any length.
    private const int MaxResults = 500;

    /// <summary>The completion at an offset of a script; null if the offset is not in a known hashtable, or
    /// if the schema offers nothing there.</summary>
    public static CommandCompletion? Find(string script, int cursor, Hashtable? options)
    {
        if (TablePlace.Find(script, cursor) is not { } place || ShapeOf(place, options) is not { } shape)
        {
            return null;
        }

        foreach (string key in place.Path)
        {
            if (shape.Inside(key) is not { } inside)
            {
                return null;
            }

            shape = inside;
        }

        List<CompletionResult> results = [.. Candidates(shape, place)
            .Take(MaxResults)
            .Select(candidate => candidate.ToResult(
                place.Key is null ? CompletionResultType.Property : CompletionResultType.ParameterValue))];
        return results.Count == 0 ? null : new CommandCompletion(
            new Collection<CompletionResult>(results), -1, place.Index, place.Length);
    }

    // The shell resolves the argument's parameter and the other arguments, as it does before it calls a
    // completer.
    private static TableShape? ShapeOf(TablePlace place, Hashtable? options)
    {
        TableShape? shape = null;
        ShellCompletion state = RunspaceStore.Current.Completion;
        state.Asked = (completer, bound) => shape = ((RpcCompleter)completer).TableOf(bound);
        try
        {
            CommandCompletion.CompleteInput(place.Line, place.Cursor, options);
        }
        finally
        {
            state.Asked = null;
        }

        return shape;
    }

    /// <summary>The candidates at a place that begin with the typed text.</summary>
    public static IEnumerable<RpcCompleter.Candidate> Candidates(TableShape shape, TablePlace place) =>
        (place.Key is { } key
            ? shape.Values(key).Select(OfValue)
            : shape.Keys(place.Given).Select(OfKey))
        .Where(candidate => candidate.Name.StartsWith(place.Word, StringComparison.OrdinalIgnoreCase));

    /// <summary>A value of a field, ready to be changed.</summary>
    public static string ScriptOf(RpcFieldInfo field)
    {
        object? value = field switch
        {
            { IsMap: true } => new Hashtable(),
            { MessageType: { } type } => ShellMapper.Create(asHashtable: true).Template(type),
            { EnumType: { Values.Count: > 0 } type } => type.Values.First().Key,
            { Kind: RpcFieldKind.Bool } => false,
            { Kind: RpcFieldKind.String or RpcFieldKind.Bytes } => "",
            _ => 0,
        };
        return ScriptLiteral.Of(value);
    }

    private static RpcCompleter.Candidate OfKey(TableKey key) =>
        RpcCompleter.Candidate.OfScript(
            ScriptLiteral.Key(key.Name), ToolTip(key.Type, key.Comment), key.Name);

    private static RpcCompleter.Candidate OfValue(TableValue value) => value.Value is RpcMessageInfo type
        ? RpcCompleter.Candidate.OfScript(
            ScriptLiteral.Of(ShellMapper.Create(asHashtable: true).Template(type)),
            ToolTip(value.Type, value.Comment))
        : RpcCompleter.Candidate.OfScript(
            ScriptLiteral.Of(value.Value), ToolTip(value.Type, value.Comment), $"{value.Value}");

    private static string ToolTip(string type, string comment) =>
        comment.Length > 0 ? $"{type}: {comment}" : type;
}

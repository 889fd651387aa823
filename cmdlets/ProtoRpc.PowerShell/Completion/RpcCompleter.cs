using System.Collections;
using System.Management.Automation;
using System.Management.Automation.Language;
using ProtoRpc.Schema;

namespace ProtoRpc.PowerShell;

/// <summary>The base of completers: candidates by the word that is being written,
/// quoted where that is needed.</summary>
public abstract class RpcCompleter : IArgumentCompleter
{
    public IEnumerable<CompletionResult> CompleteArgument(
        string commandName,
        string parameterName,
        string wordToComplete,
        CommandAst commandAst,
        IDictionary fakeBoundParameters)
    {
        string word = wordToComplete.Trim('\'', '"');
        try
        {
            return [.. Candidates(fakeBoundParameters)
                .Where(candidate => Matches(candidate, word))
                .Select(candidate => new CompletionResult(
                    candidate.Text, candidate.Name, CompletionResultType.ParameterValue, candidate.ToolTip))];
        }
        catch (RpcException)
        {
            // A schema that cannot be read now: the cmdlet itself will say so.
            return [];
        }
    }

    /// <summary>All that could be written here.</summary>
    internal abstract IEnumerable<Candidate> Candidates(IDictionary bound);

    /// <summary>The schemas that are meant: the given one, the given connection's,
    /// else those of all connections.</summary>
    internal static IReadOnlyList<RpcSchema> SchemasOf(IDictionary bound)
    {
        object? given = Unwrap(bound["Schema"]);
        if (given is RpcSchema schema)
        {
            return [schema];
        }

        if (given is not null)
        {
            RpcSchemaSource source = LanguagePrimitives.ConvertTo<RpcSchemaSource>(given);
            return [source.Schema ?? RpcSchema.Load(source.Paths.SelectMany(FilesOf))];
        }

        IReadOnlyList<RpcConnection> connections = Unwrap(bound["Connection"]) is RpcConnection connection
            ? [connection]
            : RunspaceStore.Current.Connections;
        return [.. connections.Select(c => c.Schema).OfType<RpcSchema>().Distinct()];
    }

    private protected static object? Unwrap(object? value) =>
        value is PSObject wrapped ? wrapped.BaseObject : value;

    private static bool Matches(Candidate candidate, string word) =>
        candidate.Name.StartsWith(word, StringComparison.OrdinalIgnoreCase)
        || (candidate.BareName is { } bare && bare.StartsWith(word, StringComparison.OrdinalIgnoreCase));

    private static IEnumerable<string> FilesOf(string path)
    {
        using System.Management.Automation.PowerShell shell =
            System.Management.Automation.PowerShell.Create(RunspaceMode.CurrentRunspace);
        return [.. shell.AddCommand("Convert-Path").AddParameter("Path", path).Invoke<string>()];
    }

    /// <summary>Something that could be written.</summary>
    internal sealed record Candidate(
        string Name, string ToolTip, string? BareName = null, bool IsScript = false)
    {
        /// <summary>How it stands in a script.</summary>
        public string Text =>
            IsScript || Name.All(c => char.IsLetterOrDigit(c) || c is '.' or '_' or '/' or '-')
                ? Name
                : $"'{Name.Replace("'", "''")}'";
    }
}

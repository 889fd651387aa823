using System.Management.Automation.Language;
using ProtoRpc.Messages;
using ProtoRpc.PowerShell.Completion;
using ProtoRpc.PowerShell.Connections;

namespace ProtoRpc;

/// <summary>The base of completers. Filters the candidates by the typed word, and quotes them if
/// necessary.</summary>
internal abstract class RpcCompleter : IArgumentCompleter
{
    // Longer texts are not useful at the prompt, and a hostile schema can have texts of any length.
    private const int MaxTextLength = 32 * 1024;

    // A limit for lists and tooltips, which are shown but never run.
    private const int MaxShownLength = 1000;

    // The characters that PowerShell accepts as quotes.
    internal static readonly char[] Quotes =
        ['\'', '\u2018', '\u2019', '\u201A', '\u201B', '"', '\u201C', '\u201D', '\u201E'];

    /// <summary>The name of the cmdlet whose argument is completed.</summary>
    private protected string Command { get; private set; } = "";

    public IEnumerable<CompletionResult> CompleteArgument(
        string commandName,
        string parameterName,
        string wordToComplete,
        CommandAst commandAst,
        IDictionary fakeBoundParameters)
    {
        Command = commandName;
        IDictionary bound = WithSplatted(fakeBoundParameters, commandAst);
        if (RunspaceStore.Current.Completion.Asked is { } asked)
        {
            asked(this, bound);
            // Without a result, the shell would offer files.
            return [new CompletionResult("@{}")];
        }

        string word = wordToComplete.Trim(Quotes);
        try
        {
            return [.. Candidates(bound)
                .Where(candidate => Matches(candidate, word) && candidate.Text.Length <= MaxTextLength)
                .Select(candidate => candidate.ToResult(CompletionResultType.ParameterValue))];
        }
        catch (RpcException)
        {
            // The schema cannot be read now. The cmdlet reports that when it runs.
            return [];
        }
    }

    /// <summary>All candidates, before they are filtered by the typed word.</summary>
    internal abstract IEnumerable<Candidate> Candidates(IDictionary bound);

    /// <summary>The keys of the hashtable for this parameter; null if the schema does not define
    /// them.</summary>
    internal virtual HashtableShape? TableOf(IDictionary bound) => null;

    /// <summary>The schemas for completion: the given one, the given connection's, otherwise those of all
    /// connections.</summary>
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
            // Pressing Tab must not contact a server.
            return source.Schema is not null ? [source.Schema]
                : source.Import is not null || source.Paths.Count == 0 ? []
                : source.Paths.Any(RpcSchemaLoader.IsAddress) ? KnownSchemasOf(source.Paths)
                : SchemasOfFiles([.. source.Paths.SelectMany(FilesOf)]);
        }

        if (bound["Endpoint"] is not null)
        {
            return KnownSchemasOf(LanguagePrimitives.ConvertTo<string[]>(bound["Endpoint"]));
        }

        IReadOnlyList<RpcConnection> connections = Unwrap(bound["Connection"]) is RpcConnection connection
            ? [connection]
            : RunspaceStore.Current.Connections;
        return [.. connections.Select(c => c.Schema).OfType<RpcSchema>().Distinct()];
    }

    // The schemas of endpoints and registered names. A name may list schema files; otherwise the schema is
    // that of the endpoint's connections and listeners.
    private static IReadOnlyList<RpcSchema> KnownSchemasOf(IEnumerable<string> endpoints) =>
        [.. endpoints.SelectMany(KnownSchemasOf).Distinct()];

    private static IEnumerable<RpcSchema> KnownSchemasOf(string text) =>
        RpcEndpoint.TryParse(text, out RpcEndpoint? endpoint)
            ? RunspaceStore.Current.SchemasOf(endpoint)
            : RpcEndpointRegistry.OfUser.Find(text).SelectMany(named =>
                named.Schema.Count == 0 || named.Schema.Any(RpcSchemaLoader.IsAddress)
                    ? RunspaceStore.Current.SchemasOf(named.Endpoint)
                    : SchemasOfFiles([.. RpcSchemaSource.From(named).Paths.SelectMany(FilesOf)]));

    // Kept until a file changes: protoc takes longer than a user waits for Tab.
    private static IReadOnlyList<RpcSchema> SchemasOfFiles(string[] files) => files.Length == 0
        ? []
        : [RunspaceStore.Current.Schemas.Find(files, () => RpcSchemaLoader.Load(files))];

    // The shell does not pass the contents of a splatted @variable to completers.
    private static IDictionary WithSplatted(IDictionary bound, CommandAst? command)
    {
        IEnumerable<VariableExpressionAst> splatted = command?.CommandElements
            .OfType<VariableExpressionAst>().Where(variable => variable.Splatted) ?? [];
        foreach (VariableExpressionAst variable in splatted)
        {
            using System.Management.Automation.PowerShell shell =
                System.Management.Automation.PowerShell.Create(RunspaceMode.CurrentRunspace);
            object? value = shell.AddCommand(@"Microsoft.PowerShell.Utility\Get-Variable")
                .AddParameter("Name", WildcardPattern.Escape(variable.VariablePath.UserPath))
                .AddParameter("ValueOnly")
                .AddParameter("ErrorAction", ActionPreference.Ignore)
                .Invoke()
                .FirstOrDefault();
            foreach (DictionaryEntry entry in Unwrap(value) as IDictionary ?? new Hashtable())
            {
                if (!bound.Contains(entry.Key))
                {
                    bound[entry.Key] = entry.Value;
                }
            }
        }

        return bound;
    }

    /// <summary>A candidate for a numeric id.</summary>
    private protected static Candidate OfId(int id, string toolTip) =>
        Candidate.OfScript(ScriptLiteral.Format(id), toolTip);

    private protected static object? Unwrap(object? value) =>
        value is PSObject wrapped ? wrapped.BaseObject : value;

    // CompletionResult rejects empty texts. Line breaks and control characters are removed, because a comment
    // of several lines could look like more candidates.
    private static string Shown(string text)
    {
        string cut = text.Length <= MaxShownLength ? text : $"{text.AsSpan(0, MaxShownLength)}...";
        string shown = TerminalText.Neutralize(string.Join(' ', cut.Split(['\r', '\n', '\t'],
            StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries)));
        return shown.Length > 0 ? shown : " ";
    }

    private static bool Matches(Candidate candidate, string word) =>
        candidate.Name.StartsWith(word, StringComparison.OrdinalIgnoreCase)
        || (candidate.BareName is { } bare && bare.StartsWith(word, StringComparison.OrdinalIgnoreCase));

    private static IEnumerable<string> FilesOf(string path)
    {
        using System.Management.Automation.PowerShell shell =
            System.Management.Automation.PowerShell.Create(RunspaceMode.CurrentRunspace);
        return [.. shell.AddCommand("Convert-Path").AddParameter("Path", path).Invoke<string>()];
    }

    /// <summary>A text that can complete the word.</summary>
    /// <param name="Name">The name that the typed word is compared with, and that lists show.</param>
    /// <param name="ToolTip">The description.</param>
    /// <param name="BareName">A shorter name that the typed word may also match.</param>
    internal sealed record Candidate(string Name, string ToolTip, string? BareName = null)
    {
        /// <summary>The text to insert into the script.</summary>
        public string Text { get; private init; } = ScriptLiteral.Argument(Name);

        /// <summary>A candidate that inserts script text. Values from a schema or a peer must be written by
        /// <see cref="ScriptLiteral"/>.</summary>
        public static Candidate OfScript(string script, string toolTip, string? name = null) =>
            new(name ?? script, toolTip) { Text = script };

        /// <summary>The candidate as the shell lists it.</summary>
        public CompletionResult ToResult(CompletionResultType kind) =>
            new(Text, Shown(Name), kind, Shown(ToolTip));
    }
}

/// <summary>Called by the function TabExpansion2 of Enable-RpcCompletion.</summary>
public static class RpcCompletion
{
    /// <summary>The body of the previous TabExpansion2; empty if there was none.</summary>
    public static ScriptBlock Previous => RunspaceStore.Current.Completion.Previous ?? ScriptBlock.Create("");

    /// <summary>Completes the arguments of TabExpansion2.</summary>
    /// <param name="bound">The parameters of the function.</param>
    /// <returns>The completion; null if the previous function should complete.</returns>
    public static CommandCompletion? Complete(IDictionary bound)
    {
        ArgumentNullException.ThrowIfNull(bound);
        ShellCompletion state = RunspaceStore.Current.Completion;
        Hashtable? options = bound["options"] as Hashtable;
        if (bound["ast"] is Ast ast && bound["positionOfCursor"] is IScriptPosition position)
        {
            return Find(state, ast.Extent.Text, ast.Extent.StartOffset, position.Offset, options)
                ?? (state.IsPreviousOfShell
                    ? CommandCompletion.CompleteInput(ast, (Token[])bound["tokens"]!, position, options)
                    : null);
        }

        string script = bound["inputScript"] as string ?? "";
        int cursor = bound["cursorColumn"] as int? ?? script.Length;
        return Find(state, script, 0, cursor, options)
            // Completing here keeps variables of the function out of the results: PowerShell finds these by
            // name.
            ?? (state.IsPreviousOfShell ? CommandCompletion.CompleteInput(script, cursor, options) : null);
    }

    // A failure here must not prevent the shell's own completion.
    private static CommandCompletion? Find(
        ShellCompletion state, string script, int start, int cursor, Hashtable? options)
    {
        if (!state.IsEnabled)
        {
            return null;
        }

        try
        {
            return HashtableCompletion.Find(script, cursor - start, options) is not { } found ? null
                : start == 0 ? found
                : new CommandCompletion(
                    found.CompletionMatches, -1, found.ReplacementIndex + start, found.ReplacementLength);
        }
        catch (Exception e) when (e is RpcException or RuntimeException or InvalidOperationException
            or ArgumentException)
        {
            return null;
        }
    }
}

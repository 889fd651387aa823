using System.Management.Automation.Language;
using ProtoRpc.Schema.Sources;

namespace ProtoRpc.PowerShell.Completion;

/// <summary>Offers schema files and folders, as the shell offers files.</summary>
internal sealed class SchemaFileCompleter : IArgumentCompleter
{
    public IEnumerable<CompletionResult> CompleteArgument(
        string commandName,
        string parameterName,
        string wordToComplete,
        CommandAst commandAst,
        IDictionary fakeBoundParameters) =>
        CompletionCompleters.CompleteFilename(wordToComplete).Where(found =>
            found.ResultType == CompletionResultType.ProviderContainer
            || SchemaLoader.IsMatched(found.ListItemText, pattern: ""));
}

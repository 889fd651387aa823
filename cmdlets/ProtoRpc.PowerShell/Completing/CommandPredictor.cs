using System.Management.Automation;
using System.Management.Automation.Subsystem;
using System.Management.Automation.Subsystem.Prediction;

namespace ProtoRpc.PowerShell.Completing;

/// <summary>A predictor of command lines, which PSReadLine queries after each key. It is registered until it
/// is disposed.</summary>
internal sealed class CommandPredictor : ICommandPredictor, IDisposable
{
    private readonly Func<string, IReadOnlyList<CompletionResult>> _suggest;

    private CommandPredictor(Func<string, IReadOnlyList<CompletionResult>> suggest) => _suggest = suggest;

    public Guid Id { get; } = Guid.NewGuid();

    public string Name => nameof(ProtoRpc);

    public string Description => "Methods and messages of Invoke-RpcMethod, by the open connections.";

    /// <summary>Registers a predictor.</summary>
    /// <param name="suggest">Returns complete lines, as lists show them, for the current input. Called on any
    /// thread, without a runspace, and must return within 20 ms.</param>
    public static CommandPredictor Register(Func<string, IReadOnlyList<CompletionResult>> suggest)
    {
        CommandPredictor predictor = new(suggest);
        SubsystemManager.RegisterSubsystem(SubsystemKind.CommandPredictor, predictor);
        return predictor;
    }

    public SuggestionPackage GetSuggestion(
        PredictionClient client, PredictionContext context, CancellationToken cancellationToken)
    {
        try
        {
            IReadOnlyList<CompletionResult> lines = _suggest(context.InputAst.Extent.Text);
            // A package rejects an empty list.
            return lines.Count == 0 ? default : new SuggestionPackage(
                [.. lines.Select(line => new PredictiveSuggestion(line.CompletionText, line.ToolTip))]);
        }
        catch (Exception)
        {
            // There is no place to show an error while the user types.
            return default;
        }
    }

    public void Dispose() => SubsystemManager.UnregisterSubsystem(SubsystemKind.CommandPredictor, Id);
}

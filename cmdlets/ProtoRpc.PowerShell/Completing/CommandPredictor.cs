using System.Collections;
using System.Management.Automation;
using System.Management.Automation.Language;
using System.Reflection;

namespace ProtoRpc.PowerShell.Completing;

/// <summary>A predictor of command lines, which PSReadLine queries after each key.</summary>
/// <remarks>The interface ICommandPredictor is newer than the module's reference assembly, so it is
/// implemented at run time.</remarks>
internal class CommandPredictor : DispatchProxy
{
    private const string Namespace = "System.Management.Automation.Subsystem";
    private const string Kind = "CommandPredictor";

    private Guid _id;
    private Func<string, IReadOnlyList<CompletionResult>>? _suggest;

    /// <summary>Registers a predictor.</summary>
    /// <param name="suggest">Returns complete lines, as lists show them, for the current input. Called on any
    /// thread, without a runspace, and must return within 20 ms.</param>
    /// <returns>An object that unregisters the predictor when disposed; null if the shell has no
    /// predictors.</returns>
    public static IDisposable? Register(Func<string, IReadOnlyList<CompletionResult>> suggest)
    {
        if (TypeOf("Prediction.ICommandPredictor") is not { } predictor
            || Manager("RegisterSubsystem", TypeOf("ISubsystem")) is not { } register)
        {
            return null;
        }

        CommandPredictor proxy = (CommandPredictor)Create(predictor, typeof(CommandPredictor));
        proxy._id = Guid.NewGuid();
        proxy._suggest = suggest;
        register.Invoke(null, [KindOf(register), proxy]);
        return new Registration(proxy._id);
    }

    /// <inheritdoc/>
    protected override object? Invoke(MethodInfo? targetMethod, object?[]? args) => targetMethod?.Name switch
    {
        "get_Id" => _id,
        "get_Name" => nameof(ProtoRpc),
        "get_Description" => "Methods and messages of Invoke-RpcMethod, by the open connections.",
        "GetSuggestion" => Suggest(targetMethod.ReturnType, args![1]!),
        "CanAcceptFeedback" => false,
        _ => null,
    };

    private object Suggest(Type package, object context)
    {
        object none = Activator.CreateInstance(package)!;
        try
        {
            Ast input = (Ast)context.GetType().GetProperty("InputAst")!.GetValue(context)!;
            IReadOnlyList<CompletionResult> lines = _suggest!(input.Extent.Text);
            Type entry = TypeOf("Prediction.PredictiveSuggestion")!;
            IList entries = (IList)Activator.CreateInstance(typeof(List<>).MakeGenericType(entry))!;
            foreach (CompletionResult line in lines)
            {
                entries.Add(Activator.CreateInstance(entry, line.CompletionText, line.ToolTip));
            }

            return entries.Count == 0 ? none : Activator.CreateInstance(package, entries)!;
        }
        catch (Exception)
        {
            // There is no place to show an error while the user types.
            return none;
        }
    }

    private static Type? TypeOf(string name) => typeof(PSObject).Assembly.GetType($"{Namespace}.{name}");

    private static MethodInfo? Manager(string name, Type? argument) =>
        argument is not null
        && TypeOf("SubsystemManager") is { } manager && TypeOf("SubsystemKind") is { } kind
            ? manager.GetMethod(name, [kind, argument])
            : null;

    private static object KindOf(MethodInfo method) =>
        Enum.Parse(method.GetParameters()[0].ParameterType, Kind);

    private sealed class Registration(Guid id) : IDisposable
    {
        public void Dispose()
        {
            if (Manager("UnregisterSubsystem", typeof(Guid)) is { } unregister)
            {
                unregister.Invoke(null, [KindOf(unregister), id]);
            }
        }
    }
}

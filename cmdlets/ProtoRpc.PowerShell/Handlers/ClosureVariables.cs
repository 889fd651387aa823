using System.Management.Automation;
using System.Management.Automation.Language;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>Finds the variables that <c>GetNewClosure()</c> stored in a script block's module and that the
/// block uses.</summary>
internal static class ClosureVariables
{
    private const string DynamicModulePrefix = "__DynamicModule_";

    // Variables that the worker sets, and automatic variables. GetNewClosure() copies them from the place
    // where it was called, and these copies must not replace the worker's values.
    private static readonly HashSet<string> OfTheWorker = new(StringComparer.OrdinalIgnoreCase)
    {
        "Request", "RpcContext", "RpcMethod", "Bytes", "Next",
        "_", "PSItem", "args", "input", "this", "null", "true", "false", "Error", "Matches", "StackTrace",
        "MyInvocation", "PSBoundParameters", "PSCmdlet", "PSScriptRoot", "PSCommandPath", "ExecutionContext",
    };

    /// <summary>Whether the worker or the shell sets a variable.</summary>
    public static bool IsOfTheWorker(string name) => OfTheWorker.Contains(name)
        || name.Contains(':') || name.EndsWith("Preference", StringComparison.OrdinalIgnoreCase);

    /// <summary>The stored variables that a block uses; empty if the block is not a closure.</summary>
    /// <param name="block">The block.</param>
    /// <param name="caller">The session of the block.</param>
    /// <exception cref="RpcException">InvalidArgument: the block calls a function of its dynamic
    /// module.</exception>
    public static IReadOnlyList<PSVariable> Of(ScriptBlock block, SessionState caller)
    {
        if (block.Module is not { SessionState: { } kept } module
            || !module.Name.StartsWith(DynamicModulePrefix, StringComparison.Ordinal))
        {
            return [];
        }

        if (!string.IsNullOrEmpty(module.Definition))
        {
            RequireNoFunctions(block.Ast, module);
        }

        return [.. Names(block.Ast)
            .Select(kept.PSVariable.Get)
            .OfType<PSVariable>()
            .Where(variable => !ReferenceEquals(variable, caller.PSVariable.Get($"global:{variable.Name}")))];
    }

    private static IEnumerable<string> Names(Ast ast) => ast
        .FindAll(node => node is VariableExpressionAst, searchNestedScriptBlocks: true)
        .Select(node => ((VariableExpressionAst)node).VariablePath)
        .Where(path => path.IsUnqualified || path.IsScript || path.IsLocal)
        .Select(path => path.UserPath[(path.UserPath.IndexOf(':') + 1)..])
        .Where(name => !OfTheWorker.Contains(name))
        .Distinct(StringComparer.OrdinalIgnoreCase);

    // The functions of New-Module { ... } have their own variables and call other functions, so they cannot
    // be copied.
    private static void RequireNoFunctions(Ast ast, PSModuleInfo module)
    {
        ScriptBlock find = module.NewBoundScriptBlock(ScriptBlock.Create(
            "$PSModuleAutoLoadingPreference = 'None'; "
            + "Microsoft.PowerShell.Core\\Get-Command -Name $args[0] -CommandType Function, Filter "
            + "-ErrorAction Ignore"));
        foreach (CommandAst command in ast.FindAll(node => node is CommandAst, true).Cast<CommandAst>())
        {
            if (command.GetCommandName() is { } name
                && find.Invoke(WildcardPattern.Escape(name))
                    .Any(found => found.BaseObject is CommandInfo info && info.ModuleName == module.Name))
            {
                throw new RpcException(
                    RpcStatusCode.InvalidArgument,
                    $"The handler calls '{name}', a function of the dynamic module that it was made "
                    + "in, which cannot be brought into the listener's workers. Put the function into a "
                    + "module file, and name that with -Module.")
                {
                    ErrorId = RpcErrorIds.ClosureFunctionNotSupported,
                };
            }
        }
    }
}

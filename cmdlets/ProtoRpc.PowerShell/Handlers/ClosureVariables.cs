using System.Management.Automation;
using System.Management.Automation.Language;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>The variables that <c>GetNewClosure()</c> kept for a script block: those of its module that the
/// block names.</summary>
internal static class ClosureVariables
{
    private const string DynamicModulePrefix = "__DynamicModule_";

    // Variables that a handler finds in its worker, and those that every script has of its own. A closure
    // kept what had these names where it was made.
    private static readonly HashSet<string> OfTheWorker = new(StringComparer.OrdinalIgnoreCase)
    {
        "Request", "RpcContext", "RpcMethod", "Bytes", "Next",
        "_", "PSItem", "args", "input", "this", "null", "true", "false", "Error", "Matches", "StackTrace",
        "MyInvocation", "PSBoundParameters", "PSCmdlet", "PSScriptRoot", "PSCommandPath", "ExecutionContext",
    };

    /// <summary>The kept variables that a block names; none of a block that is no closure.</summary>
    /// <param name="block">The block.</param>
    /// <param name="caller">The session in which it is.</param>
    /// <exception cref="RpcException">InvalidArgument:
    /// it calls a function that is only in its module.</exception>
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

    // Of New-Module { ... }: its functions have variables of their own, and call further functions.
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

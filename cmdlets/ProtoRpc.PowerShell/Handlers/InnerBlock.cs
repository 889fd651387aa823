using System.Management.Automation.Language;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>A block in a script that a command runs in another runspace, such as that of
/// <c>ForEach-Object -Parallel</c>. Its <c>$using:</c> reads the variables of the script around it.</summary>
internal static class InnerBlock
{
    private static readonly HashSet<string> Loops =
        new(StringComparer.OrdinalIgnoreCase) { "ForEach-Object", "foreach", "%" };

    private static readonly HashSet<string> Jobs =
        new(StringComparer.OrdinalIgnoreCase) { "Start-ThreadJob", "Start-Job", "sajb" };

    private static readonly HashSet<string> Remote =
        new(StringComparer.OrdinalIgnoreCase) { "Invoke-Command", "icm" };

    // Without one of these, Invoke-Command runs the block in place.
    private static readonly string[] Places =
    [
        "ComputerName", "Cn", "Session", "ConnectionUri", "HostName", "SSHConnection", "VMName", "VMId",
        "ContainerId",
    ];

    /// <summary>Whether a part of a script is in such a block of it.</summary>
    public static bool Contains(Ast part, Ast script)
    {
        for (Ast? ast = part; ast is not null && ast != script; ast = ast.Parent)
        {
            if (ast is ScriptBlockExpressionAst block && RunsElsewhere(block))
            {
                return true;
            }
        }

        return false;
    }

    private static bool RunsElsewhere(ScriptBlockExpressionAst block)
    {
        Ast argument = block.Parent is CommandParameterAst ? block.Parent : block;
        if (argument.Parent is not CommandAst command || command.GetCommandName() is not { } path)
        {
            return false;
        }

        string name = path[(path.LastIndexOf('\\') + 1)..];
        return Jobs.Contains(name)
            || (Loops.Contains(name) && IsParallel(command, argument))
            || (Remote.Contains(name) && command.CommandElements.OfType<CommandParameterAst>()
                .Any(parameter => parameter.ParameterName.Length > 0 && Array.Exists(
                    Places, place => place.StartsWith(
                        parameter.ParameterName, StringComparison.OrdinalIgnoreCase))));
    }

    private static bool IsParallel(CommandAst command, Ast argument)
    {
        Ast? parameter = argument is CommandParameterAst
            ? argument
            : command.CommandElements.TakeWhile(element => element != argument).LastOrDefault();
        return parameter is CommandParameterAst { ParameterName: { Length: > 1 } name }
            && "Parallel".StartsWith(name, StringComparison.OrdinalIgnoreCase);
    }
}

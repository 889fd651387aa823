using System.Management.Automation.Language;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>Finds the variables that a script reads, and those that it sets, from its text alone.</summary>
/// <remarks>
/// It is for warnings, so it never takes a variable that the script may set for one that it only reads:
/// whether a statement runs, or runs first, does not matter. Blocks inside of the script belong to it, except
/// those that run in another runspace (<see cref="InnerBlock"/>). <c>$using:x</c> is no use of <c>$x</c>.
/// </remarks>
internal sealed class VariableUse
{
    // Commands that set variables whose names may not be in the script.
    private static readonly HashSet<string> Setters = new(StringComparer.OrdinalIgnoreCase)
    {
        "Set-Variable", "sv", "set", "New-Variable", "nv", "Import-LocalizedData", "Invoke-Expression", "iex",
    };

    private const string Drive = "variable:";

    private readonly Ast _script;
    private readonly HashSet<string> _set = new(StringComparer.OrdinalIgnoreCase);
    private readonly List<VariableRead> _reads = [];

    private VariableUse(Ast script)
    {
        _script = script;
        foreach (Ast node in script.FindAll(_ => true, searchNestedScriptBlocks: true))
        {
            Visit(node);
        }
    }

    /// <summary>The names that the script sets somewhere, without their scopes.</summary>
    public IReadOnlySet<string> Set => _set;

    /// <summary>The variables that the script reads and that a caller may have, in the order of the text. A
    /// name can also be in <see cref="Set"/>.</summary>
    public IReadOnlyList<VariableRead> Reads => _reads;

    /// <summary>Whether the script may set any other name, as by dot-sourcing a file.</summary>
    public bool MaySetOthers { get; private set; }

    /// <summary>Analyzes a block, a function or a whole script.</summary>
    public static VariableUse From(Ast script) => new(script);

    private void Visit(Ast node)
    {
        switch (node)
        {
            case VariableExpressionAst variable:
                Visit(variable);
                break;
            case DataStatementAst { Variable: { } name }:
                _set.Add(name);
                break;
            case CommandAst command:
                Visit(command);
                break;
            case StringConstantExpressionAst { Value: { } path } when IsOnDrive(path):
                // Set-Item variable:x sets the variable. Test-Path variable:x also counts, because the script
                // expects that it may be unset.
                _set.Add(path[Drive.Length..].TrimStart('/', '\\'));
                break;
            case ExpandableStringExpressionAst { Value: { } path } when IsOnDrive(path):
            case MemberExpressionAst { Member: StringConstantExpressionAst { Value: { } member } }
                when member.Equals("PSVariable", StringComparison.OrdinalIgnoreCase):
                MaySetOthers = true;
                break;
        }
    }

    private void Visit(VariableExpressionAst variable)
    {
        VariablePath path = variable.VariablePath;
        if (IsUsing(variable) || InnerBlock.Contains(variable, _script))
        {
            return;
        }

        string name = path.UserPath[(path.UserPath.IndexOf(':') + 1)..];
        if (path.IsDriveQualified)
        {
            if (IsOnDrive(path.UserPath))
            {
                _set.Add(name);
            }
        }
        else if (IsSet(variable))
        {
            _set.Add(name);
        }
        else if (path.IsUnqualified || path.IsScript || path.IsGlobal)
        {
            _reads.Add(new VariableRead(name, path.UserPath, variable));
        }
    }

    // $using:x.y[$z] is one $using: expression, and its variable is $x.
    private static bool IsUsing(VariableExpressionAst variable)
    {
        for (Ast? ast = variable.Parent; ast is ExpressionAst; ast = ast.Parent)
        {
            if (ast is UsingExpressionAst with)
            {
                return UsingExpressionAst.ExtractUsingVariable(with) == variable;
            }
        }

        return false;
    }

    private static bool IsSet(VariableExpressionAst variable)
    {
        // In $a, [int] $b = ..., the variables are in an array, and one has a type.
        Ast target = variable;
        while (target.Parent is AttributedExpressionAst or ArrayLiteralAst)
        {
            target = target.Parent;
            if (target is ConvertExpressionAst { Type.TypeName.FullName: var type }
                && type.Equals("ref", StringComparison.OrdinalIgnoreCase))
            {
                return true;
            }
        }

        return target.Parent switch
        {
            ParameterAst parameter => parameter.Name == variable,
            ForEachStatementAst loop => loop.Variable == variable,
            AssignmentStatementAst assignment when assignment.Left == target =>
                assignment.Operator is TokenKind.Equals or TokenKind.QuestionQuestionEquals
                || StartsUnset(variable),
            UnaryExpressionAst
            {
                TokenKind: TokenKind.PlusPlus or TokenKind.MinusMinus
                    or TokenKind.PostfixPlusPlus or TokenKind.PostfixMinusMinus,
            } => StartsUnset(variable),
            _ => false,
        };
    }

    // $sum += 1 creates a variable of the block if it is unset, which is common in loops. $script:sum += 1
    // needs an existing variable.
    private static bool StartsUnset(VariableExpressionAst variable) =>
        variable.VariablePath is { IsScript: false, IsGlobal: false };

    private void Visit(CommandAst command)
    {
        string path = command.GetCommandName() ?? "";
        if (Setters.Contains(path[(path.LastIndexOf('\\') + 1)..])
            || (command.InvocationOperator == TokenKind.Dot
                && command.CommandElements[0] is not ScriptBlockExpressionAst))
        {
            MaySetOthers = true;
        }

        for (int i = 1; i < command.CommandElements.Count; i++)
        {
            if (command.CommandElements[i] is not CommandParameterAst parameter)
            {
                continue;
            }

            // With -NoNewScope, Invoke-Command runs a block as if it were dot-sourced.
            MaySetOthers |= "NoNewScope".Equals(parameter.ParameterName, StringComparison.OrdinalIgnoreCase);
            if (NamesVariable(parameter.ParameterName)
                && (parameter.Argument ?? command.CommandElements.ElementAtOrDefault(i + 1)) is { } argument)
            {
                SetByName(argument);
            }
        }
    }

    // -OutVariable, -ov, -PipelineVariable, -SessionVariable, and their abbreviations such as -OutV.
    private static bool NamesVariable(string parameter) =>
        parameter.Contains("var", StringComparison.OrdinalIgnoreCase)
        || parameter.EndsWith("v", StringComparison.OrdinalIgnoreCase);

    private void SetByName(Ast argument)
    {
        if (argument is StringConstantExpressionAst { Value: { } name })
        {
            // -OutVariable +x adds to the variable.
            _set.Add(name.TrimStart('+'));
        }
        else if (argument is not CommandParameterAst)
        {
            MaySetOthers = true;
        }
    }

    private static bool IsOnDrive(string path) => path.StartsWith(Drive, StringComparison.OrdinalIgnoreCase);
}

/// <summary>A place where a script reads a variable.</summary>
/// <param name="Name">The name without its scope.</param>
/// <param name="Path">The name with its scope, if the script gives one.</param>
/// <param name="Expression">The place.</param>
internal sealed record VariableRead(string Name, string Path, VariableExpressionAst Expression)
{
    /// <summary>The variable as the script writes it, such as <c>$script:x</c>.</summary>
    public string Text => Expression.Extent.Text;

    /// <summary>The name of the innermost function around the place; null for none.</summary>
    public string? Function
    {
        get
        {
            for (Ast? ast = Expression; ast is not null; ast = ast.Parent)
            {
                if (ast is FunctionDefinitionAst function)
                {
                    return function.Name;
                }
            }

            return null;
        }
    }
}

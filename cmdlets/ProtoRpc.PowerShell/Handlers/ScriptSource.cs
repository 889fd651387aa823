using System.Collections.Frozen;
using System.Diagnostics;
using System.Management.Automation.Language;
using System.Text;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>The source of a caller's script block. Each worker makes its own block from it.</summary>
/// <remarks>
/// A block is bound to the runspace that made it; used in two runspaces, it may crash
/// (https://github.com/PowerShell/PowerShell/issues/24629). The text is parsed again at its original position
/// in its file, so that errors and breakpoints name the caller's lines.
/// </remarks>
internal sealed class ScriptSource
{
    // Replaces the colon of $using:x by a letter that looks like it, so that it is part of the variable's
    // name.
    private const char UsingColon = 'ː';

    private readonly string _text;
    private readonly string? _file;
    private readonly IScriptExtent _extent;

    private ScriptSource(Ast ast, string body, IReadOnlyCollection<ParameterAst>? parameters = null)
    {
        _file = ast.Extent.File;
        _extent = ast.Extent;
        _text = Place(ast, body, TextOf(parameters ?? []));
        ParameterCount = parameters?.Count ?? (ast as ScriptBlockAst)?.ParamBlock?.Parameters.Count ?? 0;
    }

    /// <summary>Measures how long the runs take.</summary>
    public HandlerPace Pace { get; } = new();

    /// <summary>The beginning of the block, as a line of a script's stack trace.</summary>
    public string Frame => "at <ScriptBlock>, "
        + $"{(string.IsNullOrEmpty(_file) ? "<No file>" : _file)}: line {_extent.StartLineNumber}";

    /// <summary>The number of parameters that the block declares.</summary>
    public int ParameterCount { get; }

    /// <summary>The block's own variables, which live as long as its worker. A block among the values is
    /// replaced by its source.</summary>
    public IReadOnlyDictionary<string, object?> Variables { get; private init; } =
        FrozenDictionary<string, object?>.Empty;

    /// <summary>Creates the source of a block's body.</summary>
    /// <param name="block">The block.</param>
    /// <param name="variables">The block's variables, which may be filled later; null for none.</param>
    public static ScriptSource OfBlock(
        ScriptBlock block, IReadOnlyDictionary<string, object?>? variables = null)
    {
        FunctionDefinitionAst? function = block.Ast as FunctionDefinitionAst;
        Ast body = function?.Body ?? block.Ast;
        char[] text = WithoutUsing(body);
        if (text is ['{', .., '}'])
        {
            text[0] = ' ';
            text[^1] = ' ';
        }

        return new ScriptSource(body, new string(text), function is null ? null : ParametersOf(function))
        {
            Variables = variables ?? FrozenDictionary<string, object?>.Empty,
        };
    }

    /// <summary>Creates the source of a function, including <c>function</c> and its name.</summary>
    public static ScriptSource OfDefinition(FunctionDefinitionAst function) =>
        new(function, new string(WithoutUsing(function)));

    /// <summary>The variables that a script reads with <c>$using:</c>.</summary>
    public static IEnumerable<string> UsingVariables(Ast ast) => NamesOf(UsingExpressions(ast));

    /// <summary>The variables that blocks in a script, which it runs elsewhere, read of the script with
    /// <c>$using:</c>.</summary>
    public static IEnumerable<string> InnerUsingVariables(Ast ast) =>
        NamesOf(AllUsingExpressions(ast).Where(expression => InnerBlock.Contains(expression, ast)));

    /// <summary>The name of the variable that replaces <c>$using:NAME</c> in a worker.</summary>
    public static string UsingName(string variable) => $"using{UsingColon}{variable}";

    /// <summary>Whether a statement is in this script itself, and not in a function that it calls.</summary>
    public bool Contains(InvocationInfo statement)
    {
        int line = statement.ScriptLineNumber;
        int column = statement.OffsetInLine;
        return string.Equals(statement.ScriptName ?? "", _file ?? "", StringComparison.Ordinal)
            && (line, column).CompareTo((_extent.StartLineNumber, _extent.StartColumnNumber)) >= 0
            && (line, column).CompareTo((_extent.EndLineNumber, _extent.EndColumnNumber)) <= 0;
    }

    /// <summary>Makes a block for the current thread's runspace.</summary>
    public ScriptBlock Parse()
    {
        ScriptBlockAst ast = Parser.ParseInput(_text, _file, out _, out ParseError[] errors);
        return errors.Length == 0 ? ast.GetScriptBlock() : throw new ParseException(errors);
    }

    /// <summary>Makes a block with its variables for the current thread's runspace.</summary>
    /// <param name="bound">The blocks already made for this runspace. Variables may contain them.</param>
    public ScriptBlock Bind(IDictionary<ScriptSource, ScriptBlock> bound)
    {
        if (bound.TryGetValue(this, out ScriptBlock? block))
        {
            return block;
        }

        if (Variables.Count == 0)
        {
            return bound[this] = Parse();
        }

        // Like GetNewClosure(): a separate module holds the block's variables.
        PSModuleInfo module = new(linkToGlobal: true);
        bound[this] = block = module.NewBoundScriptBlock(Parse());
        foreach ((string name, object? value) in Variables)
        {
            module.SessionState.PSVariable.Set(name, value is ScriptSource inner ? inner.Bind(bound) : value);
        }

        return block;
    }

    private static IEnumerable<string> NamesOf(IEnumerable<UsingExpressionAst> expressions) => expressions
        .Select(expression => UsingExpressionAst.ExtractUsingVariable(expression).VariablePath.UserPath)
        .Distinct(StringComparer.OrdinalIgnoreCase);

    private static IEnumerable<UsingExpressionAst> UsingExpressions(Ast ast) =>
        AllUsingExpressions(ast).Where(expression => !InnerBlock.Contains(expression, ast));

    private static IEnumerable<UsingExpressionAst> AllUsingExpressions(Ast ast) =>
        ast.FindAll(node => node is UsingExpressionAst, searchNestedScriptBlocks: true)
            .Cast<UsingExpressionAst>();

    private static char[] WithoutUsing(Ast ast)
    {
        char[] text = ast.Extent.Text.ToCharArray();
        foreach (UsingExpressionAst expression in UsingExpressions(ast))
        {
            int start = expression.Extent.StartOffset - ast.Extent.StartOffset;
            text[Array.IndexOf(text, ':', start)] = UsingColon;
        }

        return text;
    }

    // Blank lines and spaces move the text to its original position. The file's "using namespace" statements
    // come first.
    private static string Place(Ast ast, string body, string parameters)
    {
        Ast root = ast;
        while (root.Parent is not null)
        {
            root = root.Parent;
        }

        StringBuilder text = new();
        if (root is ScriptBlockAst { UsingStatements: { } statements })
        {
            foreach (UsingStatementAst statement in statements)
            {
                if (statement.UsingStatementKind == UsingStatementKind.Namespace)
                {
                    text.Append("using namespace ").Append(statement.Name.Value).Append(';');
                }
            }
        }

        text.Append(parameters);
        int column = text.Length - (text.ToString().LastIndexOf('\n') + 1);
        int lines = ast.Extent.StartLineNumber - 1 - parameters.Count(c => c == '\n');
        if (lines > 0)
        {
            text.Append('\n', lines);
            column = 0;
        }

        return text.Append(' ', Math.Max(0, ast.Extent.StartColumnNumber - 1 - column))
            .Append(body).ToString();
    }

    // The parameters of function NAME($Request) { }, which are not in its body. Null for none: the body may
    // declare them.
    private static ParameterAst[]? ParametersOf(FunctionDefinitionAst function) =>
        function.FindAll(node => node is ParameterAst && node.Parent == function, true)
            .Cast<ParameterAst>().ToArray() is { Length: > 0 } found ? found : null;

    private static string TextOf(IReadOnlyCollection<ParameterAst> parameters) =>
        parameters.Count == 0 ? ""
            : $"param({string.Join(", ", parameters.Select(one => new string(WithoutUsing(one))))})";
}

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

/// <summary>Whether a script runs for a short time only, so that it may run on the thread of a
/// connection.</summary>
/// <remarks>Counted without a lock, because a lost count does not matter.</remarks>
internal sealed class HandlerPace
{
    private const int Proven = 32;
    private const int Most = 64;
    private const int Least = -1024;

    // One long run cancels this many short ones.
    private const int OfLongRun = 64;
    private static readonly TimeSpan Short = TimeSpan.FromMilliseconds(10);

    private int _score;

    /// <summary>Whether enough recent runs were short.</summary>
    public bool IsShort => Volatile.Read(ref _score) >= Proven;

    /// <summary>Counts a run that just ended.</summary>
    /// <param name="start">When it began, by <see cref="Stopwatch.GetTimestamp"/>.</param>
    public void Record(long start) => _score = Stopwatch.GetElapsedTime(start) <= Short
        ? Math.Min(_score + 1, Most)
        : Math.Max(_score - OfLongRun, Least);
}

using System.Collections.Frozen;
using System.Management.Automation;
using System.Management.Automation.Language;
using System.Text;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>The text of a caller's script block,
/// from which each worker makes its own block.</summary>
/// <remarks>
/// One block in two runspaces would run in the one that it came from, or crash
/// (https://github.com/PowerShell/PowerShell/issues/24629). The text is parsed again at its place in its
/// file, so that errors and breakpoints name the caller's lines.
/// </remarks>
internal sealed class ScriptSource
{
    // Stands for the colon of $using:x. A letter that looks alike, so that it is part of the variable's name.
    private const char UsingColon = 'ː';

    private readonly string _text;
    private readonly string? _file;
    private readonly IScriptExtent _extent;

    private ScriptSource(Ast ast, string body)
    {
        _file = ast.Extent.File;
        _extent = ast.Extent;
        _text = Place(ast, body);
        ParameterCount = ParametersOf(ast)?.Parameters.Count ?? 0;
    }

    /// <summary>How long its runs take.</summary>
    public HandlerPace Pace { get; } = new();

    /// <summary>How many parameters the block declares.</summary>
    public int ParameterCount { get; }

    /// <summary>What the block finds in variables of its own, which live as long as its worker; a block
    /// stands there as its source.</summary>
    public IReadOnlyDictionary<string, object?> Variables { get; private init; } =
        FrozenDictionary<string, object?>.Empty;

    /// <summary>The source of a block's body.</summary>
    /// <param name="block">The block.</param>
    /// <param name="variables">Its variables, which may be filled later; null for none.</param>
    public static ScriptSource OfBlock(
        ScriptBlock block, IReadOnlyDictionary<string, object?>? variables = null)
    {
        Ast body = block.Ast is FunctionDefinitionAst function ? function.Body : block.Ast;
        char[] text = WithoutUsing(body);
        if (text is ['{', .., '}'])
        {
            text[0] = ' ';
            text[^1] = ' ';
        }

        return new ScriptSource(body, new string(text))
        {
            Variables = variables ?? FrozenDictionary<string, object?>.Empty,
        };
    }

    /// <summary>The source of a function's definition, <c>function</c> and name included.</summary>
    public static ScriptSource OfDefinition(FunctionDefinitionAst function) =>
        new(function, new string(WithoutUsing(function)));

    /// <summary>The variables that a script takes from its caller with <c>$using:</c>.</summary>
    public static IEnumerable<string> UsingVariables(Ast ast) => UsingExpressions(ast)
        .Select(expression => UsingExpressionAst.ExtractUsingVariable(expression).VariablePath.UserPath)
        .Distinct(StringComparer.OrdinalIgnoreCase);

    /// <summary>The name that stands for <c>$using:NAME</c> in a worker.</summary>
    public static string UsingName(string variable) => $"using{UsingColon}{variable}";

    /// <summary>Whether a statement stands in this script itself, and not in what it calls.</summary>
    public bool Contains(InvocationInfo statement)
    {
        int line = statement.ScriptLineNumber;
        int column = statement.OffsetInLine;
        return string.Equals(statement.ScriptName ?? "", _file ?? "", StringComparison.Ordinal)
            && (line, column).CompareTo((_extent.StartLineNumber, _extent.StartColumnNumber)) >= 0
            && (line, column).CompareTo((_extent.EndLineNumber, _extent.EndColumnNumber)) <= 0;
    }

    /// <summary>A new block for the calling thread's runspace.</summary>
    public ScriptBlock Parse()
    {
        ScriptBlockAst ast = Parser.ParseInput(_text, _file, out _, out ParseError[] errors);
        return errors.Length == 0
            ? ast.GetScriptBlock()
            : throw new ParseException(errors);
    }

    /// <summary>A new block for the calling thread's runspace, with its variables.</summary>
    /// <param name="bound">The blocks that were made for this runspace, for those that are in variables of
    /// others.</param>
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

        // What GetNewClosure() makes, too: a module of the block's own.
        PSModuleInfo module = new(linkToGlobal: true);
        bound[this] = block = module.NewBoundScriptBlock(Parse());
        foreach ((string name, object? value) in Variables)
        {
            module.SessionState.PSVariable.Set(name, value is ScriptSource inner ? inner.Bind(bound) : value);
        }

        return block;
    }

    private static IEnumerable<UsingExpressionAst> UsingExpressions(Ast ast) =>
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

    // Blank lines and spaces before the text put it where it was;
    // the file's "using namespace" go before them.
    private static string Place(Ast ast, string body)
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

        int column = text.Length;
        if (ast.Extent.StartLineNumber > 1)
        {
            text.Append('\n', ast.Extent.StartLineNumber - 1);
            column = 0;
        }

        return text.Append(' ', Math.Max(0, ast.Extent.StartColumnNumber - 1 - column))
            .Append(body).ToString();
    }

    private static ParamBlockAst? ParametersOf(Ast ast) => (ast as ScriptBlockAst)?.ParamBlock;
}

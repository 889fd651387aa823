using System.Collections.ObjectModel;
using System.Management.Automation.Language;
using ProtoRpc.Messages;
using ProtoRpc.PowerShell.Connections;
using ProtoRpc.PowerShell.Objects;

namespace ProtoRpc.PowerShell.Completion;

/// <summary>Completes keys and values of hashtables that are arguments of this module's cmdlets.</summary>
internal static class HashtableCompletion
{
    // Longer lists are not useful, and a hostile schema can have one of any length.
    private const int MaxResults = 500;

    /// <summary>The completion at an offset of a script; null if the offset is not in a known hashtable, or
    /// if the schema offers nothing there.</summary>
    public static CommandCompletion? Find(string script, int cursor, Hashtable? options)
    {
        if (HashtablePlace.Find(script, cursor) is not { } place || ShapeOf(place, options) is not { } shape)
        {
            return null;
        }

        foreach (string key in place.Path)
        {
            if (shape.Inside(key) is not { } inside)
            {
                return null;
            }

            shape = inside;
        }

        List<CompletionResult> results = [.. Candidates(shape, place)
            .Take(MaxResults)
            .Select(candidate => candidate.ToResult(
                place.Key is null ? CompletionResultType.Property : CompletionResultType.ParameterValue))];
        return results.Count == 0 ? null : new CommandCompletion(
            new Collection<CompletionResult>(results), -1, place.Index, place.Length);
    }

    // The shell resolves the argument's parameter and the other arguments, as it does before it calls a
    // completer.
    private static HashtableShape? ShapeOf(HashtablePlace place, Hashtable? options)
    {
        HashtableShape? shape = null;
        ShellCompletion state = RunspaceStore.Current.Completion;
        state.Asked = (completer, bound) => shape = ((RpcCompleter)completer).TableOf(bound);
        try
        {
            CommandCompletion.CompleteInput(place.Line, place.Cursor, options);
        }
        finally
        {
            state.Asked = null;
        }

        return shape;
    }

    /// <summary>The candidates at a place that begin with the typed text.</summary>
    public static IEnumerable<RpcCompleter.Candidate> Candidates(
        HashtableShape shape, HashtablePlace place) =>
        (place.Key is { } key
            ? shape.Values(key).Select(OfValue)
            : shape.Keys(place.Given).Select(OfKey))
        .Where(candidate => candidate.Name.StartsWith(place.Word, StringComparison.OrdinalIgnoreCase));

    /// <summary>A value of a field, ready to be changed.</summary>
    public static string ScriptOf(RpcFieldInfo field)
    {
        object? value = field switch
        {
            { IsMap: true } => new Hashtable(),
            { MessageType: { } type } => ShellMapper.Create(asHashtable: true).Template(type),
            { EnumType: { Values.Count: > 0 } type } => type.Values.First().Key,
            { Kind: RpcFieldKind.Bool } => false,
            { Kind: RpcFieldKind.String or RpcFieldKind.Bytes } => "",
            _ => 0,
        };
        return ScriptLiteral.Format(value);
    }

    private static RpcCompleter.Candidate OfKey(HashtableKey key) =>
        RpcCompleter.Candidate.OfScript(
            ScriptLiteral.Key(key.Name), ToolTip(key.Type, key.Comment), key.Name);

    private static RpcCompleter.Candidate OfValue(HashtableValue value) => value.Value is RpcMessageInfo type
        ? RpcCompleter.Candidate.OfScript(
            ScriptLiteral.Format(ShellMapper.Create(asHashtable: true).Template(type)),
            ToolTip(value.Type, value.Comment))
        : RpcCompleter.Candidate.OfScript(
            ScriptLiteral.Format(value.Value), ToolTip(value.Type, value.Comment), $"{value.Value}");

    private static string ToolTip(string type, string comment) =>
        comment.Length > 0 ? $"{type}: {comment}" : type;
}

/// <summary>A place in a hashtable of a script where a key or a value is being typed.</summary>
/// <param name="Line">A command line with a word in place of the argument with the hashtable.</param>
/// <param name="Cursor">The offset of that word's end in <paramref name="Line"/>.</param>
/// <param name="Path">The keys that lead from the argument to the hashtable.</param>
/// <param name="Key">The key whose value is being typed; null if a key is being typed.</param>
/// <param name="Given">The other keys of the hashtable.</param>
/// <param name="Word">The typed text.</param>
/// <param name="Index">The offset of the text to replace.</param>
/// <param name="Length">The length of the text to replace.</param>
internal sealed record HashtablePlace(
    string Line,
    int Cursor,
    IReadOnlyList<string> Path,
    string? Key,
    IReadOnlyCollection<string> Given,
    string Word,
    int Index,
    int Length)
{
    /// <summary>The place at an offset of a script. Null if the offset is not in a hashtable argument, or if
    /// neither a key nor a value can begin there.</summary>
    public static HashtablePlace? Find(string script, int cursor)
    {
        // Fast path: most lines have no hashtable, so they are not parsed.
        if (cursor > script.Length || script.IndexOf("@{", 0, cursor, StringComparison.Ordinal) < 0)
        {
            return null;
        }

        Parser.ParseInput(script, out Token[] tokens, out _);
        return new Reader(script, tokens, cursor).Read() ?? FindAtHyphens(script, cursor);
    }

    // A key such as x-request-id needs quotes. If it is typed without quotes, the parser reads it as a
    // subtraction.
    private static HashtablePlace? FindAtHyphens(string script, int cursor)
    {
        int start = cursor;
        while (start > 0 && (char.IsAsciiLetterOrDigit(script[start - 1]) || script[start - 1] is '-' or '_'))
        {
            start--;
        }

        string word = script[start..cursor];
        if (!word.Contains('-', StringComparison.Ordinal) || !char.IsAsciiLetter(word[0]))
        {
            return null;
        }

        string without = script.Remove(start, word.Length);
        Parser.ParseInput(without, out Token[] tokens, out _);
        return new Reader(without, tokens, start).Read() is { Key: null } place
            ? place with { Word = word, Index = start, Length = word.Length }
            : null;
    }

    private sealed class Reader(string script, Token[] tokens, int cursor)
    {
        private BracketFrame? _top;

        public HashtablePlace? Read()
        {
            int at = 0;
            while (at < tokens.Length && !IsAtCursor(tokens[at]))
            {
                Advance(at++);
            }

            Token? word = at < tokens.Length && tokens[at].Extent.StartOffset < cursor ? tokens[at] : null;
            if (_top is not { } top || (word is not null && !IsWord(word)))
            {
                return null;
            }

            BracketFrame? table = top;
            while (table is { IsTable: false, IsElement: true })
            {
                table = table.Parent;
            }

            if (table is not { IsTable: true } || !(top == table && table.TakesKey || top.TakesElement))
            {
                return null;
            }

            string? key = top == table && table.TakesKey ? null : table.Key;
            List<string> path = [];
            BracketFrame outermost = FindOutermost(table, path);
            while (at < tokens.Length && outermost.End < 0)
            {
                Advance(at++);
            }

            int wordStart = word?.Extent.StartOffset ?? cursor;
            string[] given =
                [.. table.Keys.Where(other => other.Offset != wordStart).Select(other => other.Name)];
            CommandLine? line = new CommandLines(script, tokens).Find(outermost, path);
            return line is null ? null : new HashtablePlace(
                line.Text, line.Cursor, [.. line.Path], key, given, WordOf(word), wordStart, LengthOf(word));
        }

        private bool IsAtCursor(Token token) =>
            token.Kind == TokenKind.EndOfInput
            || token.Extent.StartOffset >= cursor
            || token.Extent.EndOffset > cursor
            || (token.Extent.EndOffset == cursor && IsWord(token));

        private static bool IsWord(Token token) => token is StringToken
            ? token.Kind is not (TokenKind.HereStringExpandable or TokenKind.HereStringLiteral)
            : token.Kind == TokenKind.Identifier || token.TokenFlags.HasFlag(TokenFlags.Keyword);

        private void Advance(int index)
        {
            Token token = tokens[index];
            switch (token.Kind)
            {
                case TokenKind.AtCurly or TokenKind.AtParen or TokenKind.LParen or TokenKind.DollarParen
                    or TokenKind.LCurly or TokenKind.LBracket:
                    _top = new BracketFrame(token.Kind, index, _top);
                    break;
                case TokenKind.RCurly or TokenKind.RParen or TokenKind.RBracket:
                    BracketFrame? child = _top;
                    child?.Close(index);
                    _top = child?.Parent;
                    _top?.EndChild(child!);
                    break;
                default:
                    _top?.Read(token);
                    break;
            }
        }

        private static BracketFrame FindOutermost(BracketFrame table, List<string> path)
        {
            BracketFrame outermost = table;
            while (outermost is { IsElement: true, Parent: { } parent })
            {
                outermost = parent;
                if (parent.IsTable)
                {
                    path.Insert(0, parent.Key!);
                }
            }

            return outermost;
        }

        private string WordOf(Token? word)
        {
            if (word is null)
            {
                return "";
            }

            string written = script[word.Extent.StartOffset..cursor];
            return written.Trim(RpcCompleter.Quotes);
        }

        // An unterminated string extends to the end of the script.
        private int LengthOf(Token? word) => word is null ? 0
            : (word.TokenFlags.HasFlag(TokenFlags.TokenInError) ? cursor : word.Extent.EndOffset)
                - word.Extent.StartOffset;
    }
}

/// <summary>An open bracket in a script: a hashtable, a list in parentheses, or something else, which is
/// ignored.</summary>
internal sealed class BracketFrame(TokenKind opening, int start, BracketFrame? parent)
{
    private readonly bool _isTable = opening == TokenKind.AtCurly;
    private readonly bool _isGroup = opening is TokenKind.AtParen or TokenKind.LParen;
    private readonly List<Token> _keyTokens = [];
    private Token? _value;
    private bool _hasCommand;

    // Whether the next token begins an element of the value or the list.
    private bool _expectsElement = true;

    /// <summary>Whether the bracket is a hashtable.</summary>
    public bool IsTable => _isTable;

    /// <summary>The index of the opening token.</summary>
    public int Start { get; } = start;

    /// <summary>The index of the closing token; -1 while the bracket is open.</summary>
    public int End { get; private set; } = -1;

    /// <summary>The enclosing bracket.</summary>
    public BracketFrame? Parent { get; } = parent;

    /// <summary>Whether the bracket is an element of the enclosing list or value.</summary>
    public bool IsElement { get; } = parent?.TakesElement == true;

    /// <summary>Whether the bracket has the type in front of an element.</summary>
    private bool IsCast => opening == TokenKind.LBracket && IsElement;

    /// <summary>The key whose value is being written, or null.</summary>
    public string? Key { get; private set; }

    /// <summary>The keys and their offsets in the script.</summary>
    public List<(string Name, int Offset)> Keys { get; } = [];

    /// <summary>The values that consist of one token, by key.</summary>
    public Dictionary<string, Token> Values { get; } = new(StringComparer.OrdinalIgnoreCase);

    /// <summary>Whether a key can be written here.</summary>
    public bool TakesKey => _isTable && Key is null && _keyTokens.Count == 0;

    /// <summary>Whether a value or an element of one can be written here.</summary>
    public bool TakesElement => (_isTable ? Key is not null : _isGroup) && _expectsElement && !_hasCommand;

    /// <summary>Reads a token directly inside the bracket.</summary>
    public void Read(Token token)
    {
        switch (token.Kind)
        {
            case TokenKind.Comment or TokenKind.LineContinuation:
                break;
            case TokenKind.NewLine when _isTable && Key is not null && _expectsElement:
                break;
            case TokenKind.NewLine or TokenKind.Semi:
                EndStatement();
                break;
            case TokenKind.Equals when _isTable && Key is null:
                BeginValue();
                break;
            case TokenKind.Comma:
                _expectsElement = true;
                _value = null;
                break;
            default:
                ReadOther(token);
                break;
        }
    }

    /// <summary>Reads the closing token of a nested bracket.</summary>
    public void EndChild(BracketFrame child)
    {
        // The value comes after its cast, as in [ordered]@{}.
        _expectsElement = child is { IsCast: true };
        _value = null;
    }

    public void Close(int end)
    {
        EndStatement();
        End = end;
    }

    private void ReadOther(Token token)
    {
        if (_isTable && Key is null)
        {
            _keyTokens.Add(token);
            return;
        }

        _hasCommand |= token.TokenFlags.HasFlag(TokenFlags.CommandName) || token.Kind == TokenKind.Pipe;
        _value = _expectsElement ? token : null;
        _expectsElement = false;
    }

    private void BeginValue()
    {
        Key = _keyTokens is [{ } only] ? TextOf(only) : "";
        Keys.Add((Key, _keyTokens.FirstOrDefault()?.Extent.StartOffset ?? -1));
        _keyTokens.Clear();
        _expectsElement = true;
        _hasCommand = false;
    }

    private void EndStatement()
    {
        if (Key is { } key && _value is { } value)
        {
            Values[key] = value;
        }

        Key = _isTable ? null : Key;
        _value = null;
        _keyTokens.Clear();
        _hasCommand = false;
        _expectsElement = true;
    }

    /// <summary>The text of a word or a string.</summary>
    public static string TextOf(Token token) => token is StringToken text ? text.Value : token.Text;
}

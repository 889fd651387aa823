using System.Management.Automation.Language;

namespace ProtoRpc.PowerShell.Completion;

/// <summary>An open bracket in a script: a hashtable, a list in parentheses, or something else, which is
/// ignored.</summary>
internal sealed class TableFrame(TokenKind opening, int start, TableFrame? parent)
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
    public TableFrame? Parent { get; } = parent;

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
    public void EndChild(TableFrame child)
    {
        // The value comes after its cast, as in [ordered]@{}.
        _expectsElement = child is { IsCast: true };
        _value = null;
    }

    /// <summary>Closes the bracket.</summary>
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

namespace ProtoRpc.Schema.Sources.Protoc;

/// <summary>Splits .proto text into words, strings and symbols, and skips comments and white space.</summary>
/// <remarks>Counts lines and columns as protoc does: in bytes, with tab stops every eight columns. Only
/// protoc decides whether the text is valid; any bytes can be read here.</remarks>
internal ref struct ProtoTokenReader(ReadOnlySpan<byte> text)
{
    private const int TabWidth = 8;

    private readonly ReadOnlySpan<byte> _text = text;
    private int _position;
    private int _line;
    private int _column;

    /// <summary>The offset of the current token.</summary>
    public int Start { get; private set; }

    /// <summary>The offset after the current token.</summary>
    public readonly int End => _position;

    /// <summary>The place of the current token.</summary>
    public TextPlace Place { get; private set; }

    /// <summary>The symbol; zero for a word or a string.</summary>
    public byte Symbol { get; private set; }

    /// <summary>The text of the current token.</summary>
    public readonly ReadOnlySpan<byte> Text => _text[Start.._position];

    /// <summary>Reads the next token.</summary>
    /// <returns>False at the end of the text.</returns>
    public bool Read()
    {
        SkipSpace();
        Start = _position;
        Place = new TextPlace(_line + 1, _column + 1);
        Symbol = 0;
        if (_position == _text.Length)
        {
            return false;
        }

        byte first = _text[_position];
        if (first is (byte)'"' or (byte)'\'')
        {
            SkipString(first);
        }
        else if (IsWord(first))
        {
            while (_position < _text.Length && IsWord(_text[_position]))
            {
                Advance();
            }
        }
        else
        {
            Symbol = first;
            Advance();
        }

        return true;
    }

    private void SkipSpace()
    {
        if (_position == 0 && _text.StartsWith("\uFEFF"u8))
        {
            AdvanceTo("\uFEFF"u8.Length);
        }

        while (_position < _text.Length)
        {
            if (_text[_position] is (byte)' ' or (>= (byte)'\t' and <= (byte)'\r'))
            {
                Advance();
            }
            else if (_text[_position..].StartsWith("//"u8))
            {
                int length = _text[_position..].IndexOf((byte)'\n');
                AdvanceTo(length < 0 ? _text.Length : _position + length);
            }
            else if (_text[_position..].StartsWith("/*"u8))
            {
                int length = _text[(_position + 2)..].IndexOf("*/"u8);
                AdvanceTo(length < 0 ? _text.Length : _position + 2 + length + 2);
            }
            else
            {
                return;
            }
        }
    }

    // As in protoc, a line break ends a string that is not closed.
    private void SkipString(byte quote)
    {
        Advance();
        while (_position < _text.Length && _text[_position] != '\n')
        {
            bool isEscape = _text[_position] == '\\';
            bool isEnd = _text[_position] == quote;
            Advance();
            if (isEnd)
            {
                return;
            }

            if (isEscape && _position < _text.Length && _text[_position] != '\n')
            {
                Advance();
            }
        }
    }

    private void AdvanceTo(int position)
    {
        while (_position < position)
        {
            Advance();
        }
    }

    private void Advance()
    {
        switch (_text[_position++])
        {
            case (byte)'\n':
                _line++;
                _column = 0;
                break;
            case (byte)'\t':
                _column += TabWidth - (_column % TabWidth);
                break;
            default:
                _column++;
                break;
        }
    }

    private static bool IsWord(byte value) => char.IsAsciiLetterOrDigit((char)value) || value == '_';
}

/// <summary>A line and a column, counted from one.</summary>
internal readonly record struct TextPlace(int Line, int Column);

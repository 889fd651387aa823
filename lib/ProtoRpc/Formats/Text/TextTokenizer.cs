using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Text;

/// <summary>Splits text format into tokens, and skips comments and white space.</summary>
/// <remarks>The text is parsed in place. Only a token that crosses a segment is copied.</remarks>
internal sealed class TextTokenizer
{
    private const int MinJoined = 256;

    private readonly ReadOnlySequence<byte> _text;

    // The rest of the text from the start of the window, and the window: the segment that is scanned.
    private ReadOnlySequence<byte> _rest;
    private ReadOnlyMemory<byte> _window;
    private long _windowOffset;
    private long _tokenOffset;
    private int _start;
    private int _position;
    private bool _isJoined;

    public TextTokenizer(in ReadOnlySequence<byte> text)
    {
        _text = text;
        _rest = text;
        Move(0);
    }

    public TextToken Kind { get; private set; }

    /// <summary>Its bytes, with the quotes of a string.</summary>
    public ReadOnlySpan<byte> Bytes => _window.Span[_start.._position];

    public string Text => Encoding.UTF8.GetString(Bytes);

    /// <summary>The text for errors, shortened, because a token may be as long as the whole text.</summary>
    public string Shown => ValueText.OfName(Text);

    /// <summary>The line and column of the token.</summary>
    public string WhereFrom(TextOrigin origin) => TextPosition.Describe(_text, _tokenOffset, origin);

    // Whether the text goes on after the window.
    private bool HasMore => _window.Length < _rest.Length;

    private bool CanWiden => HasMore && _window.Length - _start < Array.MaxLength;

    public bool IsSymbol(char symbol) => Kind == TextToken.Symbol && Bytes[0] == symbol;

    /// <summary>Goes to the next token.</summary>
    /// <returns>The error of the token, or null.</returns>
    public string? Next()
    {
        if (_isJoined)
        {
            // After a token that crossed segments, the rest is scanned in its original segments again.
            Move(_position);
        }
        SkipSpace();
        _start = _position;
        _tokenOffset = _windowOffset + _start;
        string? problem = Scan(out bool isCut);
        while (isCut && CanWiden)
        {
            Widen();
            problem = Scan(out isCut);
        }
        return problem;
    }

    // A token at the end of the window is incomplete if the next segment may continue it.
    private string? Scan(out bool isCut)
    {
        isCut = false;
        ReadOnlySpan<byte> rest = _window.Span[_start..];
        if (rest.IsEmpty)
        {
            Kind = TextToken.End;
            return null;
        }
        string? problem = null;
        char first = (char)rest[0];
        if (char.IsAsciiLetter(first) || first == '_')
        {
            Kind = TextToken.Identifier;
            _position += LengthOf(rest, c => char.IsAsciiLetterOrDigit(c) || c == '_');
        }
        else if (char.IsAsciiDigit(first)
            || (first == '.' && rest.Length > 1 && char.IsAsciiDigit((char)rest[1])))
        {
            problem = ReadNumber(rest);
        }
        else if (first is '"' or '\'')
        {
            return ReadString(rest, out isCut);
        }
        else
        {
            Kind = TextToken.Symbol;
            _position++;
            isCut = first == '.' && rest.Length == 1;
            return null;
        }
        isCut = _position == _window.Length;
        return problem;
    }

    // Doubles the copied length each time, so that the total of all copies is proportional to the length of
    // the token.
    private void Widen()
    {
        int length = _window.Length - _start;
        _rest = _rest.Slice(_start);
        byte[] joined = new byte[(int)Math.Min(
            Math.Min(_rest.Length, Array.MaxLength), Math.Max(MinJoined, length * 2L))];
        _rest.Slice(0, joined.Length).CopyTo(joined);
        _windowOffset += _start;
        _window = joined;
        _isJoined = true;
        _start = 0;
        _position = 0;
    }

    // Moves the window to the next segment, a number of bytes after the start of the current one.
    private void Move(int count)
    {
        _rest = _rest.Slice(count);
        _windowOffset += count;
        _window = default;
        _isJoined = false;
        _position = 0;
        SequencePosition next = _rest.Start;
        while (_window.IsEmpty && _rest.TryGet(ref next, out _window))
        {
            // Skips empty segments.
        }
    }

    /// <summary>Reads up to the closing bracket, without white space and comments: the name of an extension,
    /// or the URL of a type.</summary>
    /// <returns>Null if there is no closing bracket.</returns>
    public string? ReadBracketed()
    {
        StringBuilder name = new();
        while (true)
        {
            SkipSpace();
            if (_position >= _window.Length || _window.Span[_position] >= 0x80)
            {
                return null;
            }
            char next = (char)_window.Span[_position++];
            if (next == ']')
            {
                return name.ToString();
            }
            if (!char.IsAsciiLetterOrDigit(next) && !"._/-~!$&'()*+,;=%:@".Contains(next))
            {
                return null;
            }
            name.Append(next);
        }
    }

    private void SkipSpace()
    {
        bool inComment = false;
        while (true)
        {
            SkipSpace(_window.Span, ref inComment);
            if (_position < _window.Length || !HasMore)
            {
                return;
            }
            Move(_window.Length);
        }
    }

    private void SkipSpace(ReadOnlySpan<byte> all, ref bool inComment)
    {
        while (_position < all.Length)
        {
            if (inComment || all[_position] == '#')
            {
                int length = all[_position..].IndexOf((byte)'\n');
                inComment = length < 0;
                _position = inComment ? all.Length : _position + length;
            }
            else if (all[_position] is (byte)' ' or (>= 9 and <= 13))
            {
                _position++;
            }
            else
            {
                return;
            }
        }
    }

    private string? ReadNumber(ReadOnlySpan<byte> rest)
    {
        int length;
        if (rest is [(byte)'0', (byte)'x' or (byte)'X', ..])
        {
            Kind = TextToken.Integer;
            length = 2 + LengthOf(rest[2..], char.IsAsciiHexDigit);
            if (length == 2)
            {
                _position += length;
                return "0x needs hexadecimal digits after it.";
            }
        }
        else
        {
            length = LengthOf(rest, char.IsAsciiDigit);
            Kind = TextToken.Integer;
            if (length < rest.Length && rest[length] == '.')
            {
                Kind = TextToken.Float;
                length++;
                length += LengthOf(rest[length..], char.IsAsciiDigit);
            }
            if (length < rest.Length && rest[length] is (byte)'e' or (byte)'E')
            {
                Kind = TextToken.Float;
                length++;
                length += length < rest.Length && rest[length] is (byte)'+' or (byte)'-' ? 1 : 0;
                int digits = LengthOf(rest[length..], char.IsAsciiDigit);
                if (digits == 0)
                {
                    _position += length;
                    return "an exponent has no digits.";
                }
                length += digits;
            }
            if (length < rest.Length && rest[length] is (byte)'f' or (byte)'F')
            {
                // An octal number has no suffix f, but 0f is zero.
                Kind = TextToken.Float;
                length++;
            }
        }
        _position += length;
        return length < rest.Length && (char.IsAsciiLetterOrDigit((char)rest[length]) || rest[length] == '_')
            ? "a space is needed between a number and what follows."
            : null;
    }

    private string? ReadString(ReadOnlySpan<byte> rest, out bool isCut)
    {
        Kind = TextToken.String;
        isCut = false;
        byte quote = rest[0];
        int i = 1;
        for (; i < rest.Length && rest[i] is not ((byte)'\n' or 0); i++)
        {
            if (rest[i] == quote)
            {
                _position += i + 1;
                return null;
            }
            i += rest[i] == '\\' ? 1 : 0;
        }
        isCut = i >= rest.Length;
        return "a string does not end on its line; write \\n for a line break.";
    }

    private static int LengthOf(ReadOnlySpan<byte> text, Func<char, bool> belongs)
    {
        int length = 0;
        while (length < text.Length && belongs((char)text[length]))
        {
            length++;
        }
        return length;
    }
}

/// <summary>The kind of a token.</summary>
internal enum TextToken
{
    End,
    Identifier,
    Integer,
    Float,
    String,
    Symbol,
}

using System.Text;

namespace ProtoRpc.Formats.Text;

/// <summary>Splits text format into tokens; comments and white space stand between them.</summary>
internal sealed class TextTokenizer(ReadOnlyMemory<byte> text)
{
    private readonly ReadOnlyMemory<byte> _text = text;
    private int _position;

    /// <summary>What the token is.</summary>
    public TextToken Kind { get; private set; }

    /// <summary>Where it begins.</summary>
    public int Start { get; private set; }

    /// <summary>Its bytes, with the quotes of a string.</summary>
    public ReadOnlySpan<byte> Bytes => _text.Span[Start.._position];

    public string Text => Encoding.UTF8.GetString(Bytes);

    /// <summary>The line and column of the token.</summary>
    public string Where => TextPosition.Of(_text.Span, Start);

    public bool IsSymbol(char symbol) => Kind == TextToken.Symbol && Bytes[0] == symbol;

    /// <summary>Goes to the next token.</summary>
    /// <returns>What is wrong with it, or null.</returns>
    public string? Next()
    {
        SkipSpace();
        Start = _position;
        ReadOnlySpan<byte> rest = _text.Span[_position..];
        if (rest.IsEmpty)
        {
            Kind = TextToken.End;
            return null;
        }
        char first = (char)rest[0];
        if (char.IsAsciiLetter(first) || first == '_')
        {
            Kind = TextToken.Identifier;
            _position += LengthOf(rest, c => char.IsAsciiLetterOrDigit(c) || c == '_');
            return null;
        }
        if (char.IsAsciiDigit(first) || (first == '.' && rest.Length > 1 && char.IsAsciiDigit((char)rest[1])))
        {
            return ReadNumber(rest);
        }
        if (first is '"' or '\'')
        {
            return ReadString(rest);
        }
        Kind = TextToken.Symbol;
        _position++;
        return null;
    }

    /// <summary>Reads what stands up to the closing bracket, without white space and comments: the name of an
    /// extension, or the URL of a type.</summary>
    /// <returns>Null when there is none.</returns>
    public string? ReadBracketed()
    {
        StringBuilder name = new();
        while (true)
        {
            SkipSpace();
            if (_position >= _text.Length || _text.Span[_position] >= 0x80)
            {
                return null;
            }
            char next = (char)_text.Span[_position++];
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
        ReadOnlySpan<byte> all = _text.Span;
        while (_position < all.Length)
        {
            if (all[_position] == '#')
            {
                int length = all[_position..].IndexOf((byte)'\n');
                _position = length < 0 ? all.Length : _position + length;
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
                return "0x stands without hexadecimal digits after it.";
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
                    return "an exponent has no digits.";
                }
                length += digits;
            }
            if (length < rest.Length && rest[length] is (byte)'f' or (byte)'F')
            {
                // An octal number has no such suffix; 0f is zero.
                Kind = TextToken.Float;
                length++;
            }
        }
        _position += length;
        return length < rest.Length && (char.IsAsciiLetterOrDigit((char)rest[length]) || rest[length] == '_')
            ? "a space is needed between a number and what follows."
            : null;
    }

    private string? ReadString(ReadOnlySpan<byte> rest)
    {
        Kind = TextToken.String;
        byte quote = rest[0];
        for (int i = 1; i < rest.Length && rest[i] is not ((byte)'\n' or 0); i++)
        {
            if (rest[i] == quote)
            {
                _position += i + 1;
                return null;
            }
            i += rest[i] == '\\' ? 1 : 0;
        }
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

/// <summary>What a token of the text format is.</summary>
internal enum TextToken
{
    End,
    Identifier,
    Integer,
    Float,
    String,
    Symbol,
}

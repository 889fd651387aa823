namespace ProtoRpc.Schema.Sources.Protoc;

/// <summary>The parts that are erased from the text of a .proto file.</summary>
internal sealed class ErasedParts
{
    /// <summary>The places of imports, and of the names or values of options.</summary>
    public HashSet<TextPlace> Places { get; } = [];

    /// <summary>The names of options, as <c>(a.b)</c> or <c>(a.b).c</c>. Fields of these options are also
    /// erased.</summary>
    public HashSet<string> Names { get; } = new(StringComparer.Ordinal);
}

/// <summary>Overwrites imports and options in the text of a .proto file with spaces. All else keeps its line
/// and column.</summary>
internal ref struct OptionEraser
{
    // Longer names, and names of more parts, are only erased by their positions.
    private const int MaxName = 512;
    private const int MaxExtensions = 8;

    private readonly Span<byte> _text;
    private readonly ErasedParts _parts;
    private readonly StringBuilder _name = new();
    private ProtoTokenReader _tokens;
    private bool _hasNestedExtensions;
    private bool _hasErasedPublicImport;

    private OptionEraser(Span<byte> text, ErasedParts parts)
    {
        _text = text;
        _parts = parts;
        _tokens = new ProtoTokenReader(text);
    }

    /// <summary>Erases parts of a text in place.</summary>
    /// <returns>Whether an erased import is public.</returns>
    public static bool Erase(Span<byte> text, ErasedParts parts)
    {
        OptionEraser eraser = new(text, parts);
        eraser.Run();
        return eraser._hasErasedPublicImport;
    }

    /// <summary>Whether a message declares extensions. Then a name can mean an extension in one message of
    /// the file and nothing in another.</summary>
    public static bool HasNestedExtensions(Span<byte> text)
    {
        OptionEraser eraser = new(text, new ErasedParts());
        eraser.Run();
        return eraser._hasNestedExtensions;
    }

    private void Run()
    {
        int depth = 0;
        bool isFirst = true;
        while (_tokens.Read())
        {
            switch (_tokens.Symbol)
            {
                case (byte)'{':
                    depth++;
                    isFirst = true;
                    continue;
                case (byte)'}':
                    depth--;
                    isFirst = true;
                    continue;
                case (byte)';':
                    isFirst = true;
                    continue;
                case (byte)'[':
                    ReadList();
                    break;
                case 0 when isFirst:
                    isFirst = ReadStatement(depth);
                    continue;
            }

            isFirst = false;
        }
    }

    // Returns whether a complete statement was read.
    private bool ReadStatement(int depth)
    {
        int start = _tokens.Start;
        TextPlace place = _tokens.Place;
        if (_tokens.Text.SequenceEqual("option"u8))
        {
            _tokens.Read();
            EraseStatement(start, ReadOption(isInList: false));
            return true;
        }

        if (depth == 0 && _tokens.Text.SequenceEqual("import"u8))
        {
            bool isPublic = _tokens.Read() && _tokens.Text.SequenceEqual("public"u8);
            while (_tokens.Symbol != ';' && _tokens.Read())
            {
            }

            bool isErased = _parts.Places.Contains(place);
            _hasErasedPublicImport |= isErased && isPublic;
            EraseStatement(start, isErased);
            return true;
        }

        _hasNestedExtensions |= depth > 0 && _tokens.Text.SequenceEqual("extend"u8);
        return false;
    }

    private readonly void EraseStatement(int start, bool isErased)
    {
        if (!isErased)
        {
            return;
        }

        Erase(start, _tokens.End);
        // A comment that remains alone on the line would become the comment of the next declaration.
        int end = _tokens.End;
        while (end < _text.Length && _text[end] is (byte)' ' or (byte)'\t')
        {
            end++;
        }

        if (_text[end..].StartsWith("//"u8))
        {
            int length = _text[end..].IndexOf((byte)'\n');
            Erase(end, length < 0 ? _text.Length : end + length);
        }
    }

    private void ReadList()
    {
        int open = _tokens.Start;
        int comma = -1;
        bool hasErased = false;
        bool hasKept = false;
        while (_tokens.Read() && _tokens.Symbol != ']')
        {
            int start = _tokens.Start;
            bool isErased = ReadOption(isInList: true);
            int end = _tokens.Start;
            if (isErased)
            {
                Erase(start, end);
            }

            // A comma remains between two options that remain.
            if (comma >= 0 && (isErased || !hasKept))
            {
                Erase(comma, comma + 1);
            }

            hasErased |= isErased;
            hasKept |= !isErased;
            if (_tokens.Symbol != ',')
            {
                break;
            }

            comma = _tokens.Start;
        }

        if (hasErased && !hasKept && _tokens.Symbol == ']')
        {
            Erase(open, _tokens.End);
        }
    }

    // Reads to the end of an option, whose first token is the current one. Returns whether it is erased.
    private bool ReadOption(bool isInList)
    {
        bool isErased = _parts.Places.Contains(_tokens.Place);
        bool isName = true;
        int depth = 0;
        _name.Clear();
        do
        {
            switch (_tokens.Symbol)
            {
                case (byte)'{' or (byte)'[':
                    depth++;
                    break;
                case (byte)',' when depth == 0 && isInList:
                case (byte)']' when depth == 0 && isInList:
                case (byte)';' when depth == 0:
                    return isErased || IsNamed();
                case (byte)'}' or (byte)']':
                    depth--;
                    break;
                case (byte)'=' when isName:
                    isName = false;
                    isErased |= _tokens.Read() && _parts.Places.Contains(_tokens.Place);
                    // The value may begin with a brace.
                    depth += _tokens.Symbol is (byte)'{' or (byte)'[' ? 1 : 0;
                    break;
                default:
                    if (isName && _name.Length <= MaxName)
                    {
                        int length = Math.Min(_tokens.Text.Length, MaxName + 1);
                        _name.Append(Encoding.Latin1.GetString(_tokens.Text[..length]));
                    }

                    break;
            }
        }
        while (_tokens.Read());
        return isErased || IsNamed();
    }

    private readonly bool IsNamed()
    {
        if (_parts.Names.Count == 0 || _name.Length > MaxName)
        {
            return false;
        }

        string name = _name.ToString();
        int end = 0;
        for (int i = 0; i < MaxExtensions && (end = name.IndexOf(')', end) + 1) > 0; i++)
        {
            if ((end == name.Length || name[end] == '.') && _parts.Names.Contains(name[..end]))
            {
                return true;
            }
        }

        return false;
    }

    private readonly void Erase(int start, int end)
    {
        foreach (ref byte value in _text[start..end])
        {
            // White space is kept, because the positions in protoc's errors count tabs and line breaks.
            if (value is not ((byte)' ' or (>= (byte)'\t' and <= (byte)'\r')))
            {
                value = (byte)' ';
            }
        }
    }
}

namespace ProtoRpc.Rendering;

/// <summary>Parts of a schema as a terminal shows them: as their .proto has them, with colours.</summary>
/// <remarks>A line that is longer than the window is broken where .proto syntax allows it, so that the text
/// is still valid when it is saved.</remarks>
internal static class ProtoView
{
    // A server's schema can have any size, so the view of one type is limited.
    private const int MaxLines = 2000;
    private const int MaxLine = 2000;
    private const string Comment = "//";
    private const int MinRoom = 16;
    private const int ContinuationIndent = 4;

    private static readonly HashSet<string> Keywords = new(StringComparer.Ordinal)
    {
        "edition", "enum", "export", "extend", "extensions", "group", "import", "local", "map", "max",
        "message", "oneof", "option", "optional", "package", "repeated", "required", "reserved", "returns",
        "rpc", "service", "stream", "syntax", "to",
    };

    private static readonly HashSet<string> Scalars = new(StringComparer.Ordinal)
    {
        "bool", "bytes", "double", "fixed32", "fixed64", "float", "int32", "int64", "sfixed32", "sfixed64",
        "sint32", "sint64", "string", "uint32", "uint64",
    };

    /// <summary>A method; before it, why it cannot be called.</summary>
    public static string Format(RpcMethodInfo method, int width, ViewStyle style) => Colored(
        method.Problem is { } problem ? $"{Comment} {problem}\n{method.ToProtoText()}" : method.ToProtoText(),
        width, style);

    public static string Format(RpcMessageInfo message, int width, ViewStyle style) =>
        Colored(message.ToProtoText(), width, style);

    /// <summary>An enum.</summary>
    public static string Format(RpcEnumInfo type, int width, ViewStyle style) =>
        Colored(type.ToProtoText(), width, style);

    /// <summary>A service, and the id of its interface on native endpoints.</summary>
    public static string Format(RpcServiceInfo service, int width, ViewStyle style) => Colored(
        string.Create(
            CultureInfo.InvariantCulture,
            $"{service.ToProtoText()}{Comment} interface {service.InterfaceId}\n"),
        width,
        style);

    /// <summary>The package or message in which an element is declared. The text of the element does not
    /// contain it.</summary>
    /// <returns>Such as <c>package demo</c>; null for none.</returns>
    public static string? ScopeOf(string fullName, RpcSchema schema)
    {
        int dot = fullName.LastIndexOf('.');
        if (dot < 0)
        {
            return null;
        }

        string scope = fullName[..dot];
        return $"{(schema.FindMessage(scope) is null ? "package" : "message")} {scope}";
    }

    private static string Colored(string text, int width, ViewStyle style)
    {
        StringBuilder shown = new(text.Length + 64);
        string[] lines = text.TrimEnd('\n').Split('\n', MaxLines + 1);
        foreach (string line in lines.Take(MaxLines))
        {
            foreach (string part in Wrap(ViewText.Neutral(line, MaxLine), width))
            {
                AppendLine(shown, part, style);
                shown.Append('\n');
            }
        }

        if (lines.Length > MaxLines)
        {
            shown.Append(style.InQuiet($"{Comment} {ViewText.Ellipsis}")).Append('\n');
        }

        return shown.ToString();
    }

    // A comment that does not fit after its statement moves above it. If it continued on a second line below,
    // protoc would assign it to the next statement.
    private static IEnumerable<string> Wrap(string line, int width)
    {
        if (ViewText.Cells(line) <= width)
        {
            return [line];
        }

        int indent = line.AsSpan().IndexOfAnyExcept(' ');
        int comment = StartOfComment(line);
        string start = line[..indent];
        string code = line[indent..comment].TrimEnd();
        return
        [
            .. WrapComment(start, line[comment..], width),
            .. ViewText.Cells(code) <= width - indent ? Code(start, code) : WrapCode(start, code, width),
        ];
    }

    private static string[] Code(string start, string code) => code.Length == 0 ? [] : [start + code];

    private static IEnumerable<string> WrapComment(string start, string comment, int width)
    {
        int text = comment.AsSpan().IndexOfAnyExcept('/', ' ');
        if (text < 0)
        {
            return comment.Length == 0 ? [] : [start + comment];
        }

        start += comment[..text];
        return ViewText.Wrap(comment[text..], Math.Max(MinRoom, width - start.Length))
            .Select(part => start + part);
    }

    // Breaks between two words. A word that is longer than the window has its own line.
    private static IEnumerable<string> WrapCode(string start, string code, int width)
    {
        StringBuilder line = new(start);
        int cells = start.Length;
        int position = 0;
        while (position < code.Length)
        {
            int end = position;
            while (end < code.Length && code[end] != ' ')
            {
                end = EndOfToken(code, end);
            }

            int wordCells = ViewText.Cells(code.AsSpan(position..end));
            if (position > 0 && cells + 1 + wordCells > width)
            {
                yield return line.ToString();
                line.Clear().Append(start).Append(' ', ContinuationIndent);
                cells = line.Length;
            }
            else if (position > 0)
            {
                line.Append(' ');
                cells++;
            }

            line.Append(code, position, end - position);
            cells += wordCells;
            position = end + 1;
        }

        yield return line.ToString();
    }

    private static int StartOfComment(string line)
    {
        int position = 0;
        while (position < line.Length
            && !line.AsSpan(position).StartsWith(Comment, StringComparison.Ordinal))
        {
            position = EndOfToken(line, position);
        }

        return position;
    }

    private static void AppendLine(StringBuilder shown, string line, ViewStyle style)
    {
        int code = line.AsSpan().IndexOfAnyExcept(' ');
        if (code >= 0 && line.AsSpan(code).StartsWith(Comment, StringComparison.Ordinal))
        {
            shown.Append(' ', code).Append(style.Comment).Append(line, code, line.Length - code)
                .Append(style.Reset);
            return;
        }

        int position = 0;
        while (position < line.Length)
        {
            int end = EndOfToken(line, position);
            string token = line[position..end];
            bool isKeyword = IsWord(line[position]) && IsKeyword(line, position, end, token);
            _ = isKeyword
                ? shown.Append(style.Keyword).Append(token).Append(style.Reset)
                : shown.Append(token);
            position = end;
        }
    }

    private static bool IsWord(char c) => char.IsAsciiLetterOrDigit(c) || c is '_' or '.';

    // A string is one token, so that words in it are not shown as keywords.
    private static int EndOfToken(string line, int start)
    {
        int end = start + 1;
        if (line[start] is '"')
        {
            while (end < line.Length && line[end] != '"')
            {
                end += line[end] == '\\' ? 2 : 1;
            }

            return Math.Min(end + 1, line.Length);
        }

        while (IsWord(line[start]) && end < line.Length && IsWord(line[end]))
        {
            end++;
        }

        return end;
    }

    // A keyword may also be the name of a field, before an equals sign, or of a method or a type, after a
    // keyword.
    private static bool IsKeyword(string line, int start, int end, string token) =>
        (Keywords.Contains(token) || Scalars.Contains(token))
        && !line.AsSpan(end).TrimStart().StartsWith("=", StringComparison.Ordinal)
        && !IsDeclaredName(line.AsSpan(0, start).TrimEnd());

    private static bool IsDeclaredName(ReadOnlySpan<char> before)
    {
        ReadOnlySpan<char> word = before[(before.LastIndexOf(' ') + 1)..];
        return word is "message" or "enum" or "service" or "rpc" or "oneof" or "group" or "extend";
    }
}

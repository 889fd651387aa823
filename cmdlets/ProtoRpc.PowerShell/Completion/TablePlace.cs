using System.Management.Automation.Language;

namespace ProtoRpc.PowerShell.Completion;

/// <summary>A place in a hashtable of a script where a key or a value is being typed.</summary>
/// <param name="Line">A command line with a word in place of the argument with the hashtable.</param>
/// <param name="Cursor">The offset of that word's end in <paramref name="Line"/>.</param>
/// <param name="Path">The keys that lead from the argument to the hashtable.</param>
/// <param name="Key">The key whose value is being typed; null if a key is being typed.</param>
/// <param name="Given">The other keys of the hashtable.</param>
/// <param name="Word">The typed text.</param>
/// <param name="Index">The offset of the text to replace.</param>
/// <param name="Length">The length of the text to replace.</param>
internal sealed record TablePlace(
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
    public static TablePlace? Find(string script, int cursor)
    {
        // Most lines have no hashtable, and need not be parsed.
        if (cursor > script.Length || script.IndexOf("@{", 0, cursor, StringComparison.Ordinal) < 0)
        {
            return null;
        }

        Parser.ParseInput(script, out Token[] tokens, out _);
        return new Reader(script, tokens, cursor).Read() ?? FindAtHyphens(script, cursor);
    }

    // A key such as x-request-id needs quotes. If it is typed without quotes, the parser reads it as a
    // subtraction.
    private static TablePlace? FindAtHyphens(string script, int cursor)
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
        private TableFrame? _top;

        public TablePlace? Read()
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

            TableFrame? table = top;
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
            TableFrame outermost = FindOutermost(table, path);
            while (at < tokens.Length && outermost.End < 0)
            {
                Advance(at++);
            }

            int wordStart = word?.Extent.StartOffset ?? cursor;
            string[] given =
                [.. table.Keys.Where(other => other.Offset != wordStart).Select(other => other.Name)];
            CommandLine? line = new CommandLines(script, tokens).Find(outermost, path);
            return line is null ? null : new TablePlace(
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
                    _top = new TableFrame(token.Kind, index, _top);
                    break;
                case TokenKind.RCurly or TokenKind.RParen or TokenKind.RBracket:
                    TableFrame? child = _top;
                    child?.Close(index);
                    _top = child?.Parent;
                    _top?.EndChild(child!);
                    break;
                default:
                    _top?.Read(token);
                    break;
            }
        }

        private static TableFrame FindOutermost(TableFrame table, List<string> path)
        {
            TableFrame outermost = table;
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

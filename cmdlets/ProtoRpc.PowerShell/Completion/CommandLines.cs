using System.Management.Automation.Language;

namespace ProtoRpc.PowerShell.Completion;

/// <summary>Finds the commands that use the hashtables of a script.</summary>
internal sealed class CommandLines(string script, Token[] tokens)
{
    /// <summary>The command that uses a hashtable: as an argument, from the pipeline, or through the variable
    /// that it is assigned to. Null if none is found.</summary>
    /// <param name="table">The hashtable, or the list of hashtables.</param>
    /// <param name="path">The keys to the place in it.</param>
    public CommandLine? Find(BracketFrame table, IReadOnlyList<string> path)
    {
        int first = StartOfCasts(table.Start);
        while (first > 1 && tokens[first - 1].Kind == TokenKind.Comma)
        {
            first = StartOfCasts(StartOfElement(first - 2));
        }

        int last = table.End < 0 ? tokens.Length : table.End;
        while (last + 2 < tokens.Length && tokens[last + 1].Kind == TokenKind.Comma)
        {
            last = EndOfElement(EndOfCasts(last + 2));
        }

        if (first > 1 && tokens[first - 1].Kind == TokenKind.Equals
            && tokens[first - 2] is VariableToken variable)
        {
            return FindUse(variable.Name, last + 1, table, path);
        }

        int start = StartOfStatement(first);
        if (start < first)
        {
            return Line(start, first, last + 1, EndOfStatement(last + 1), path);
        }

        return last + 1 < tokens.Length && tokens[last + 1].Kind == TokenKind.Pipe
            ? Piped(last + 2, path)
            : null;
    }

    // The word is placed before the other arguments, because PowerShell completes a word there, but not an
    // empty position.
    private CommandLine Line(
        int start, int first, int next, int end, IReadOnlyList<string> path, string given = "")
    {
        string before = $"{Text(start, first)}{given}x";
        return new CommandLine($"{before} {Text(next, end)}", before.Length, path);
    }

    private CommandLine? Piped(int start, IReadOnlyList<string> path)
    {
        int end = start;
        while (end < tokens.Length && !IsSeparator(tokens[end]) && tokens[end].Kind != TokenKind.Pipe)
        {
            end = EndOfElement(end) + 1;
        }

        return start < end ? Line(start, end, end, end, path, " -InputObject ") : null;
    }

    private CommandLine? FindUse(string variable, int from, BracketFrame table, IReadOnlyList<string> path)
    {
        for (int i = from; i < tokens.Length; i++)
        {
            if (tokens[i] is not VariableToken use
                || !use.Name.Equals(variable, StringComparison.OrdinalIgnoreCase)
                || StartOfStatement(i) is var start && start == i)
            {
                continue;
            }

            if (use.Kind != TokenKind.SplattedVariable)
            {
                return Line(start, i, i + 1, EndOfStatement(i + 1), path);
            }

            if (path.Count == 0 || !IsName(path[0]))
            {
                return null;
            }

            string others = string.Concat(table.Values
                .Where(pair => IsName(pair.Key)
                    && !pair.Key.Equals(path[0], StringComparison.OrdinalIgnoreCase))
                .Select(pair => $"-{pair.Key}:{pair.Value.Text} "));
            return Line(start, i, i + 1, EndOfStatement(i + 1), [.. path.Skip(1)], $"{others}-{path[0]} ");
        }

        return null;
    }

    private static bool IsName(string name) => name.Length > 0 && name.All(char.IsAsciiLetterOrDigit);

    private string Text(int from, int to) => from < to ? script[OffsetOf(from)..OffsetOf(to)] : "";

    // The parser places the last token, which is the end of the script, after the last character.
    private int OffsetOf(int token) => token < tokens.Length
        ? Math.Min(tokens[token].Extent.StartOffset, script.Length)
        : script.Length;

    private int StartOfStatement(int index)
    {
        int start = index;
        while (start > 0 && !IsSeparator(tokens[start - 1]) && !IsOpening(tokens[start - 1])
            && !tokens[start - 1].TokenFlags.HasFlag(TokenFlags.AssignmentOperator))
        {
            start = StartOfElement(start - 1);
        }

        return start;
    }

    private int EndOfStatement(int index)
    {
        int end = index;
        while (end < tokens.Length && !IsSeparator(tokens[end]) && !IsClosing(tokens[end]))
        {
            end = EndOfElement(end) + 1;
        }

        return Math.Min(end, tokens.Length);
    }

    // Where the types in front of a hashtable begin, as in [ordered]@{}.
    private int StartOfCasts(int table)
    {
        int start = table;
        while (start > 0 && tokens[start - 1].Kind == TokenKind.RBracket)
        {
            start = StartOfElement(start - 1);
        }

        return start;
    }

    private int EndOfCasts(int index)
    {
        int end = index;
        while (end < tokens.Length && tokens[end].Kind == TokenKind.LBracket)
        {
            end = EndOfElement(end) + 1;
        }

        return end;
    }

    // A bracket and everything in it count as one element.
    private int StartOfElement(int index)
    {
        int depth = 0;
        for (int i = index; i > 0; i--)
        {
            depth += IsClosing(tokens[i]) ? 1 : IsOpening(tokens[i]) ? -1 : 0;
            if (depth <= 0)
            {
                return i;
            }
        }

        return 0;
    }

    private int EndOfElement(int index)
    {
        int depth = 0;
        for (int i = index; i < tokens.Length; i++)
        {
            depth += IsOpening(tokens[i]) ? 1 : IsClosing(tokens[i]) ? -1 : 0;
            if (depth <= 0)
            {
                return i;
            }
        }

        return tokens.Length;
    }

    private static bool IsSeparator(Token token) => token.Kind is TokenKind.NewLine or TokenKind.Semi
        or TokenKind.AndAnd or TokenKind.OrOr or TokenKind.EndOfInput;

    private static bool IsOpening(Token token) => token.Kind is TokenKind.AtCurly or TokenKind.AtParen
        or TokenKind.LParen or TokenKind.DollarParen or TokenKind.LCurly or TokenKind.LBracket;

    private static bool IsClosing(Token token) =>
        token.Kind is TokenKind.RCurly or TokenKind.RParen or TokenKind.RBracket;
}

/// <summary>A command line with a word in place of an argument.</summary>
/// <param name="Text">The line.</param>
/// <param name="Cursor">The offset of the word's end.</param>
/// <param name="Path">The keys from the argument to a place in it.</param>
internal sealed record CommandLine(string Text, int Cursor, IReadOnlyList<string> Path);

using System.Text;

namespace ProtoRpc.Tool.Answers.Programs;

/// <summary>Cuts a command into the program and its arguments, without a shell.</summary>
/// <remarks>Spaces part words. Single quotes keep everything between them, and so do double quotes, in which
/// <c>\"</c> is a quote and <c>\\</c> a backslash. Nothing is expanded.</remarks>
internal static class CommandWords
{
    /// <exception cref="UsageException">A quote has no end, or there is no word.</exception>
    public static IReadOnlyList<string> Split(string command, string option)
    {
        List<string> words = [];
        StringBuilder? word = null;
        for (int i = 0; i < command.Length; i++)
        {
            char c = command[i];
            if (char.IsWhiteSpace(c))
            {
                if (word is not null)
                {
                    words.Add(word.ToString());
                    word = null;
                }
            }
            else if (c is '\'' or '"')
            {
                i = AppendQuoted(command, i, word ??= new StringBuilder(), option);
            }
            else
            {
                (word ??= new StringBuilder()).Append(c);
            }
        }

        if (word is not null)
        {
            words.Add(word.ToString());
        }

        return words.Count > 0 && words[0].Length > 0
            ? words
            : throw new UsageException($"{option} names no program.");
    }

    /// <returns>Where the closing quote is.</returns>
    private static int AppendQuoted(string command, int start, StringBuilder word, string option)
    {
        char quote = command[start];
        for (int i = start + 1; i < command.Length; i++)
        {
            if (command[i] == quote)
            {
                return i;
            }

            if (quote == '"' && command[i] == '\\' && i + 1 < command.Length
                && command[i + 1] is '"' or '\\')
            {
                i++;
            }

            word.Append(command[i]);
        }

        throw new UsageException($"{option} has a quote without an end: {command[start..]}");
    }
}

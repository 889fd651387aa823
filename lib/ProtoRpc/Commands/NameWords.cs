using System.Text;

namespace ProtoRpc.Commands;

/// <summary>The words of an identifier: <c>GetHTTPStatus</c>, <c>getHttpStatus</c> and
/// <c>get_http_status</c> have three.</summary>
internal static class NameWords
{
    /// <summary>The words as they are written. Digits belong to the word before them.</summary>
    public static IReadOnlyList<string> Split(string name)
    {
        List<string> words = [];
        int start = 0;
        for (int i = 0; i <= name.Length; i++)
        {
            if (i == name.Length || name[i] == '_' || (i > start && BeginsWord(name, i)))
            {
                if (i > start)
                {
                    words.Add(name[start..i]);
                }

                start = i < name.Length && name[i] == '_' ? i + 1 : i;
            }
        }

        return words;
    }

    /// <summary>The words as one, each with a capital letter.</summary>
    public static string Pascal(IEnumerable<string> words)
    {
        StringBuilder text = new();
        foreach (string word in words)
        {
            text.Append(char.ToUpperInvariant(word[0])).Append(word, 1, word.Length - 1);
        }

        return text.ToString();
    }

    /// <summary>An identifier in Pascal case; empty where it consists of underscores.</summary>
    public static string Pascal(string name) => Pascal(Split(name));

    // A capital letter after a small one or a digit; the last capital of several before a small letter.
    private static bool BeginsWord(string name, int i) => char.IsAsciiLetterUpper(name[i])
        && (!char.IsAsciiLetterUpper(name[i - 1])
            || (i + 1 < name.Length && char.IsAsciiLetterLower(name[i + 1])));
}

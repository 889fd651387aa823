using System.Buffers;
using System.Diagnostics.CodeAnalysis;
using System.Text;

namespace ProtoRpc.Formats;

/// <summary>The paths of a FieldMask in one text: in lowerCamelCase, with commas.</summary>
internal static class FieldMaskText
{
    private static readonly SearchValues<char> PathCharacters =
        SearchValues.Create(".0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");

    /// <returns>False when a path would not be read as it was.</returns>
    public static bool TryWrite(
        List<string> paths, [NotNullWhen(true)] out string? text, [NotNullWhen(false)] out string? problem)
    {
        StringBuilder all = new();
        foreach (string path in paths)
        {
            if (!TryMakeCamel(path, all.Length == 0 ? all : all.Append(',')))
            {
                text = null;
                problem = $"the path '{path}' cannot be written in lowerCamelCase: each underscore stands " +
                    "before a small letter, and there are no capitals.";
                return false;
            }
        }
        text = all.ToString();
        problem = null;
        return true;
    }

    public static bool TryRead(string text, List<string> paths)
    {
        if (text.Length == 0)
        {
            return true;
        }
        foreach (Range path in text.AsSpan().Split(','))
        {
            if (text.AsSpan()[path].IsEmpty || text.AsSpan()[path].ContainsAnyExcept(PathCharacters))
            {
                return false;
            }
        }
        StringBuilder snake = new();
        foreach (Range path in text.AsSpan().Split(','))
        {
            snake.Clear();
            foreach (char c in text.AsSpan()[path])
            {
                _ = char.IsAsciiLetterUpper(c)
                    ? snake.Append('_').Append(char.ToLowerInvariant(c))
                    : snake.Append(c);
            }
            paths.Add(snake.ToString());
        }
        return true;
    }

    private static bool TryMakeCamel(string path, StringBuilder camel)
    {
        for (int i = 0; i < path.Length; i++)
        {
            char c = path[i];
            if (c == '_')
            {
                if (++i == path.Length || !char.IsAsciiLetterLower(path[i]))
                {
                    return false;
                }
                camel.Append(char.ToUpperInvariant(path[i]));
            }
            else if (c == '.' || char.IsAsciiLetterLower(c) || char.IsAsciiDigit(c))
            {
                camel.Append(c);
            }
            else
            {
                return false;
            }
        }
        return path.Length > 0;
    }
}

using System.Text.RegularExpressions;

namespace ProtoRpc.TestRun;

/// <summary>Finds the lines of C# files that are longer than max_line_length in .editorconfig, which
/// dotnet format does not check.</summary>
internal static partial class LineLength
{
    /// <exception cref="FormatException">The .editorconfig of the folder sets no max_line_length.</exception>
    public static IEnumerable<TestCase> Check(string root)
    {
        Match limit = Limit().Match(File.ReadAllText(Path.Combine(root, ".editorconfig")));
        int most = limit.Success
            ? int.Parse(limit.ValueSpan["max_line_length = ".Length..])
            : throw new FormatException(".editorconfig has no line 'max_line_length = NUMBER'.");
        return SourceFiles.Under(root).SelectMany(file => Check(root, file, most));
    }

    private static IEnumerable<TestCase> Check(string root, string file, int most)
    {
        int number = 0;
        foreach (string line in File.ReadLines(Path.Combine(root, file)))
        {
            number++;
            if (line.Length > most)
            {
                yield return new TestCase(
                    $"{file}({number})",
                    $"The line has {line.Length} characters. Break it after at most {most}.");
            }
        }
    }

    [GeneratedRegex("^max_line_length = [0-9]+", RegexOptions.Multiline)]
    private static partial Regex Limit();
}

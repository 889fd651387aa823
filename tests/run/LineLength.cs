using System.Text.RegularExpressions;

namespace ProtoRpc.TestRun;

/// <summary>Finds the lines of C# files that are longer than max_line_length in .editorconfig, which
/// dotnet format does not check.</summary>
internal static partial class LineLength
{
    private static readonly string[] Built = ["bin", "obj", "artifacts", "out", "node_modules"];

    /// <exception cref="FormatException">The .editorconfig of the folder sets no max_line_length.</exception>
    public static IEnumerable<TestCase> Check(string root)
    {
        Match limit = Limit().Match(File.ReadAllText(Path.Combine(root, ".editorconfig")));
        int most = limit.Success
            ? int.Parse(limit.ValueSpan["max_line_length = ".Length..])
            : throw new FormatException(".editorconfig has no line 'max_line_length = NUMBER'.");
        return Sources(new DirectoryInfo(root)).SelectMany(file => Check(root, file.FullName, most));
    }

    private static IEnumerable<TestCase> Check(string root, string path, int most)
    {
        int number = 0;
        foreach (string line in File.ReadLines(path))
        {
            number++;
            if (line.Length > most)
            {
                yield return new TestCase(
                    $"{Path.GetRelativePath(root, path).Replace('\\', '/')}({number})",
                    $"The line has {line.Length} characters. Break it after at most {most}.");
            }
        }
    }

    private static IEnumerable<FileInfo> Sources(DirectoryInfo folder) =>
        folder.EnumerateDirectories()
            .Where(inner => inner.Name[0] != '.' && !Built.Contains(inner.Name))
            .OrderBy(inner => inner.Name, StringComparer.Ordinal)
            .SelectMany(Sources)
            .Concat(folder.EnumerateFiles("*.cs").OrderBy(file => file.Name, StringComparer.Ordinal));

    [GeneratedRegex("^max_line_length = [0-9]+", RegexOptions.Multiline)]
    private static partial Regex Limit();
}

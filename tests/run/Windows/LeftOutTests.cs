namespace ProtoRpc.TestRun.Windows;

/// <summary>A list of tests that are left out, and why: a class, a method or a namespace a line, its full
/// name first.</summary>
internal sealed class LeftOutTests
{
    private readonly IReadOnlyDictionary<string, string> _reasons;

    private LeftOutTests(IReadOnlyDictionary<string, string> reasons) => _reasons = reasons;

    /// <summary>Full names of classes, methods and namespaces.</summary>
    public IReadOnlyList<string> Names => [.. _reasons.Keys];

    /// <summary>Reads the list; empty lines and lines that start with '#' are comments.</summary>
    /// <exception cref="FormatException">An entry has no reason, or is there twice.</exception>
    public static LeftOutTests Read(string text)
    {
        Dictionary<string, string> reasons = new(StringComparer.Ordinal);
        foreach (string line in text.Split('\n', StringSplitOptions.TrimEntries))
        {
            if (line.Length == 0 || line[0] == '#')
            {
                continue;
            }

            string[] parts = line.Split(' ', 2, StringSplitOptions.TrimEntries);
            if (parts.Length < 2 || parts[1].Length == 0)
            {
                throw new FormatException(
                    $"'{line}' has no reason. Write the full name of a class, a test or a namespace, a "
                    + "space, and the reason.");
            }

            if (!reasons.TryAdd(parts[0], parts[1]))
            {
                throw new FormatException($"'{parts[0]}' is listed twice. Remove one of the two lines.");
            }
        }

        return new LeftOutTests(reasons);
    }

    /// <summary>Why a listed class, method or namespace is left out.</summary>
    public string ReasonOf(string name) => _reasons[name];
}

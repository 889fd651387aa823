namespace ProtoRpc.TestRun.Windows;

/// <summary>A list of tests that are left out, and why: a class, a method or a namespace a line, its full
/// name first.</summary>
internal sealed class WineExceptions
{
    private readonly IReadOnlyDictionary<string, string> _reasons;

    private WineExceptions(IReadOnlyDictionary<string, string> reasons) => _reasons = reasons;

    /// <summary>Full names of classes, methods and namespaces.</summary>
    public IReadOnlyList<string> Names => [.. _reasons.Keys];

    /// <summary>Reads the list; empty lines and lines that start with '#' are comments.</summary>
    /// <exception cref="FormatException">An entry has no reason, or is there twice.</exception>
    public static WineExceptions Read(string text)
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
                    $"'{line}' has no reason. Write the full name of a class or a test, a space, and the "
                    + "reason of Wine.");
            }

            if (!reasons.TryAdd(parts[0], parts[1]))
            {
                throw new FormatException($"'{parts[0]}' is listed twice. Remove one of the two lines.");
            }
        }

        return new WineExceptions(reasons);
    }

    /// <summary>Why Wine cannot run a listed class or method.</summary>
    public string ReasonOf(string name) => _reasons[name];
}

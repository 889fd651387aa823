namespace ProtoRpc.Fuzz;

/// <summary>docs/reliability.md, whose sections between marks are written by tests.</summary>
internal sealed class ReliabilityPage(string path)
{
    public static ReliabilityPage Open() => new(Path.Combine(Root.Folder, "docs", "reliability.md"));

    /// <summary>What stands in a section.</summary>
    /// <exception cref="ArgumentException">The page has no such section.</exception>
    public string Read(string section)
    {
        string page = File.ReadAllText(path);
        (int start, int end) = Find(page, section);
        return page[start..end];
    }

    /// <summary>Replaces what stands in a section.</summary>
    /// <exception cref="ArgumentException">The page has no such section.</exception>
    public void Write(string section, string content)
    {
        string page = File.ReadAllText(path);
        (int start, int end) = Find(page, section);
        File.WriteAllText(path, $"{page[..start]}\n{content.Trim()}\n{page[end..]}");
    }

    private (int Start, int End) Find(string page, string section)
    {
        string begin = $"<!-- {section}:begin -->";
        int start = page.IndexOf(begin, StringComparison.Ordinal);
        int end = page.IndexOf($"<!-- {section}:end -->", StringComparison.Ordinal);
        return start >= 0 && end > start
            ? (start + begin.Length, end)
            : throw new ArgumentException($"{path} has no section '{section}' between marks {begin}.");
    }
}

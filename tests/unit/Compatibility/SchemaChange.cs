namespace ProtoRpc.Tests.Compatibility;

/// <summary>Two versions of a schema, and what breaks between them.</summary>
/// <param name="Name">The name of the case.</param>
/// <param name="Older">The older files. A file begins at a line <c>--- name.proto</c>; without such a line
/// it is <c>a.proto</c>. Text without a syntax is of proto3, in the package c.</param>
/// <param name="Newer">The newer files.</param>
/// <param name="Expected">The changes: <c>Rule element | categories | rules of buf</c>.</param>
internal sealed record SchemaChange(string Name, string Older, string Newer, params string[] Expected)
{
    private const string Marker = "--- ";

    private IReadOnlyList<RpcBreakingChange>? _changes;

    /// <summary>Why buf cannot be asked: it has no such rule, or it says something else. Null if it
    /// agrees.</summary>
    public string? WithoutBuf { get; init; }

    /// <summary>The files by name.</summary>
    public static IReadOnlyList<(string Name, string Text)> FilesOf(string texts)
    {
        List<(string Name, string Text)> files = [];
        foreach (string line in texts.ReplaceLineEndings("\n").Split('\n'))
        {
            if (line.StartsWith(Marker, StringComparison.Ordinal))
            {
                files.Add((line[Marker.Length..], ""));
            }
            else if (files.Count == 0)
            {
                files.Add(("a.proto", $"{line}\n"));
            }
            else
            {
                files[^1] = (files[^1].Name, $"{files[^1].Text}{line}\n");
            }
        }

        return [.. files.Select(file => (file.Name, Complete(file.Text)))];
    }

    /// <summary>Writes the files below a folder.</summary>
    public static void Write(string texts, string folder)
    {
        foreach ((string name, string text) in FilesOf(texts))
        {
            string path = Path.Combine(folder, name);
            Directory.CreateDirectory(Path.GetDirectoryName(path)!);
            File.WriteAllText(path, text);
        }
    }

    /// <summary>The schema of the files.</summary>
    public static RpcSchema Load(string texts)
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("protorpc-");
        try
        {
            Write(texts, folder.FullName);
            return RpcSchema.Load(
                [Path.Combine(folder.FullName, "**", "*.proto")], [folder.FullName], folder.FullName);
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    /// <summary>The changes between the two, of all categories.</summary>
    public IReadOnlyList<RpcBreakingChange> Compare() => _changes ??= RpcSchemaComparison.Compare(
        Load(Older), Load(Newer),
        new() { Category = RpcSchemaComparisonOptions.DefaultCategory | RpcBreakingCategory.File });

    /// <summary>A change as <see cref="Expected"/> has it.</summary>
    public static string Describe(RpcBreakingChange change) =>
        $"{change.Rule} {change.Element} | {change.Category} | {string.Join(", ", change.BufRules)}";

    public override string ToString() => Name;

    // Without a line break, so that lines and columns are those of the case.
    private static string Complete(string text) =>
        text.StartsWith("syntax", StringComparison.Ordinal)
        || text.StartsWith("edition", StringComparison.Ordinal)
            ? text
            : $"syntax = \"proto3\"; package c; {text}";
}

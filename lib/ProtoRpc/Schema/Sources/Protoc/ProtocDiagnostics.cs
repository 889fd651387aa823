using System.Text.RegularExpressions;

namespace ProtoRpc.Schema.Sources.Protoc;

/// <summary>The errors and warnings of protoc, with the user's own paths.</summary>
internal sealed partial class ProtocDiagnostics
{
    private const int MaxListed = 50;
    private const int MaxOfFile = 3;

    private ProtocDiagnostics(
        IReadOnlyList<MissingImport> missing, IReadOnlyList<string> errors, IReadOnlyList<string> warnings,
        IReadOnlySet<SourceFile> failedInputs)
    {
        Missing = missing;
        Errors = errors;
        Warnings = warnings;
        FailedInputs = failedInputs;
    }

    /// <summary>The imports that no folder has.</summary>
    public IReadOnlyList<MissingImport> Missing { get; }

    /// <summary>The other errors as <c>file:line:column: text</c>, or without a place where protoc gives
    /// none. Those that only follow from a failed import are left out.</summary>
    public IReadOnlyList<string> Errors { get; }

    /// <summary>Warnings in the same form.</summary>
    public IReadOnlyList<string> Warnings { get; }

    /// <summary>The files to compile that have errors.</summary>
    public IReadOnlySet<SourceFile> FailedInputs { get; }

    /// <summary>The errors of files that are text in another encoding than UTF-8.</summary>
    public IReadOnlyList<string> Misencoded { get; private init; } = [];

    /// <summary>A warning for each file that has errors, to compile the others without it.</summary>
    public IReadOnlyList<string> LeftOut =>
    [
        .. FailedInputs.Select(file => SchemaPart.WarningOf(
            file, TextEncoding.ProblemOf(file.FullPath, file.Given) ?? string.Join("; ", ErrorsOf(file)))),
    ];

    public static ProtocDiagnostics Read(string text, ProtocPlan plan)
    {
        ProtocLine[] lines = [.. ProtocLine.ReadAll(text)];
        ProtocLine[] root = [.. ProtocLine.WithoutConsequences(lines)];
        return new ProtocDiagnostics(
            [
                .. root.Where(line => line.MissingImport is not null)
                    .Select(line => new MissingImport(line.MissingImport!, PlaceOf(line, plan))),
            ],
            [
                .. root.Where(line => line is { IsWarning: false, MissingImport: null })
                    .Select(line => Shown(line, plan)),
            ],
            [.. root.Where(line => line.IsWarning).Select(line => Shown(line, plan))],
            lines.Where(line => !line.IsWarning)
                .Select(line => FindInput(line.File, plan))
                .OfType<SourceFile>()
                .ToHashSet())
        {
            Misencoded =
            [
                .. lines.Select(line => line.File).Distinct()
                    .Select(file => MisencodingOf(file, plan)).OfType<string>().Distinct(),
            ],
        };
    }

    /// <summary>These and others of the same files.</summary>
    public ProtocDiagnostics With(ProtocDiagnostics others) => new(
        [.. Missing.Union(others.Missing)],
        [.. Errors.Union(others.Errors)],
        [.. Warnings.Union(others.Warnings)],
        FailedInputs.Union(others.FailedInputs).ToHashSet())
    {
        Misencoded = [.. Misencoded.Union(others.Misencoded)],
    };

    /// <summary>All errors in one exception: first the missing imports and what to do, then the
    /// others.</summary>
    public RpcException ToException(int exitCode)
    {
        if (Misencoded.Count > 0)
        {
            // protoc reports each invalid byte of such a file as an error.
            return SchemaError.Invalid(string.Join('\n', Misencoded));
        }

        if (Missing.Count == 0 && Errors.Count == 0)
        {
            return SchemaError.Invalid($"protoc failed with exit code {exitCode} and without a message.");
        }

        string[] all = [.. TextsOfMissing(), .. Errors];
        string more = all.Length > MaxListed ? $"\n... and {all.Length - MaxListed} more" : "";
        return SchemaError.Invalid(string.Join('\n', all.Take(MaxListed)) + more);
    }

    private IEnumerable<string> TextsOfMissing()
    {
        string[] names = [.. Missing.Select(import => import.Name).Distinct()];
        if (names is [{ } name])
        {
            string places = string.Join(", ", Missing.Select(import => import.Place));
            return
            [
                $"{places}: The import '{name}' was not found. Give the folder that contains '{name}' "
                + "as an import path.",
            ];
        }

        return names.Length == 0 ? [] :
        [
            $"{names.Length} imports were not found. Give the folders that contain them as an import path:",
            .. Missing.Select(import => $"{import.Place}: '{import.Name}'"),
        ];
    }

    // The errors in a file itself; if it has none, those in its imports.
    private IEnumerable<string> ErrorsOf(SourceFile file)
    {
        string[] all = [.. Missing.Select(import => import.ToString()), .. Errors];
        string[] own =
            [.. all.Where(error => error.StartsWith($"{file.Given}:", StringComparison.Ordinal))];
        return (own.Length > 0 ? own : all).Take(MaxOfFile);
    }

    private static string? MisencodingOf(string file, ProtocPlan plan) =>
        file.Length > 0 && plan.FindFile(file) is { } path
            ? TextEncoding.ProblemOf(path, ShownPath(file, plan))
            : null;

    /// <summary>A file's path as the user wrote it, or below its import path.</summary>
    public static string ShownPath(string file, ProtocPlan plan) =>
        FindInput(file, plan)?.Given ?? UserPath(file, plan);

    private static string Shown(ProtocLine line, ProtocPlan plan) =>
        line.File.Length == 0 ? line.Text : $"{PlaceOf(line, plan)}: {line.Text}";

    private static string PlaceOf(ProtocLine line, ProtocPlan plan) =>
        ShownPath(line.File, plan) + line.Place;

    // protoc reports a file by its name below a root or, if it could open the file, by its path.
    private static SourceFile? FindInput(string file, ProtocPlan plan) =>
        plan.Inputs.FirstOrDefault(i => i.Name == file || i.File.FullPath == FullPath(file))?.File;

    // Returns the path with this system's separators, or null for a name below a root.
    private static string? FullPath(string file) =>
        Path.IsPathFullyQualified(file) ? Path.GetFullPath(file) : null;

    private static string UserPath(string file, ProtocPlan plan)
    {
        string? full = FullPath(file);
        foreach (SourceFile root in plan.Roots)
        {
            string inside = Path.TrimEndingDirectorySeparator(root.FullPath) + Path.DirectorySeparatorChar;
            if (full?.StartsWith(inside, StringComparison.Ordinal) == true)
            {
                return Path.Combine(root.Given, full[inside.Length..]);
            }
        }

        SourceFile? holder = plan.Roots.FirstOrDefault(r => File.Exists(Path.Combine(r.FullPath, file)));
        return holder is null ? file : Path.Combine(holder.Given, file);
    }
}

/// <summary>An import that no folder has.</summary>
/// <param name="Name">Its name in the file.</param>
/// <param name="Place">The place of the import: <c>file:line:column</c>.</param>
internal sealed record MissingImport(string Name, string Place)
{
    public override string ToString() => $"{Place}: The import '{Name}' was not found.";
}

/// <summary>A line of protoc.</summary>
/// <param name="File">The file as protoc names it; empty if the line names none.</param>
/// <param name="Place">The line and column, each after a colon; empty for none.</param>
/// <param name="IsWarning">Whether it is a warning.</param>
/// <param name="Text">The text of protoc.</param>
internal sealed partial record ProtocLine(string File, string Place, bool IsWarning, string Text)
{
    private const string NotFound = "File not found.";

    /// <summary>Whether this line is about a file that does not exist.</summary>
    public bool IsNotFound => Text == NotFound;

    /// <summary>The name of the import that this line is about and that no folder has; null for
    /// none.</summary>
    public string? MissingImport { get; private init; }

    /// <summary>The line and column as numbers; zeros for none.</summary>
    public TextPlace At => Place.Split(':') is [_, { } line, { } column]
        && int.TryParse(line, NumberStyles.None, CultureInfo.InvariantCulture, out int row)
        && int.TryParse(column, NumberStyles.None, CultureInfo.InvariantCulture, out int place)
            ? new TextPlace(row, place)
            : default;

    /// <summary>The lines of a text, each once.</summary>
    public static IEnumerable<ProtocLine> ReadAll(string text) =>
        text.Split('\n', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries)
            .Distinct(StringComparer.Ordinal)
            .Select(Read);

    private static ProtocLine Read(string line) => Diagnostic().Match(line) is { Success: true } match
        ? new ProtocLine(
            match.Groups["file"].Value, match.Groups["place"].Value, match.Groups["warning"].Success,
            match.Groups["text"].Value)
        : new ProtocLine("", "", IsWarning: false, line);

    /// <summary>The lines without those that follow from others: protoc reports a missing file, then its
    /// import, then each name that the import should declare.</summary>
    public static IEnumerable<ProtocLine> WithoutConsequences(IReadOnlyList<ProtocLine> lines)
    {
        HashSet<string> absent = [.. lines.Where(line => line.IsNotFound).Select(line => line.File)];
        HashSet<string> failed = [.. lines.Where(line => !line.IsWarning).Select(line => line.File)];
        HashSet<ProtocLine> following = [.. lines.Where(line => failed.Any(line.IsOfImport))];
        HashSet<string> cutOff = [.. following.Select(line => line.File)];
        HashSet<string> reported = [.. lines.Select(line => line.FailedImport).OfType<string>()];
        foreach (ProtocLine line in lines)
        {
            if (line.FailedImport is { } import && absent.Contains(import))
            {
                yield return line with { MissingImport = import };
            }
            else if (!(line.IsNotFound && reported.Contains(line.File))
                && !following.Contains(line)
                && !(cutOff.Contains(line.File) && UnknownName().IsMatch(line.Text)))
            {
                yield return line;
            }
        }
    }

    // protoc reports a file that it could open by its path.
    private bool IsOfImport(string file) => FailedImport is { } import
        && (file == import || file.Replace('\\', '/').EndsWith($"/{import}", StringComparison.Ordinal));

    /// <summary>The name of the import that was not found or has errors; null for none.</summary>
    public string? FailedImport { get; } = FailedImportText().Match(Text) is { Success: true } match
        ? match.Groups["import"].Value
        : null;

    // The shortest match for the file. The colon of a Windows drive does not match, because no space follows
    // it.
    [GeneratedRegex("""^(?<file>.+?)(?<place>(:\d+:\d+)?): (?<warning>warning: )?(?<text>.*)$""",
        RegexOptions.CultureInvariant)]
    private static partial Regex Diagnostic();

    [GeneratedRegex("""^Import "(?<import>.+)" was not found or had errors\.$""")]
    private static partial Regex FailedImportText();

    [GeneratedRegex("""is not defined|^Option "[^"]+" unknown\. """)]
    private static partial Regex UnknownName();
}

using System.Text.RegularExpressions;

namespace ProtoRpc.Schema.Sources.Protoc;

/// <summary>The errors and warnings of protoc, with the user's own paths.</summary>
internal sealed partial class ProtocDiagnostics
{
    private const int MaxListed = 50;
    private const int MaxOfFile = 3;

    private ProtocDiagnostics(
        IReadOnlyList<string> errors, IReadOnlyList<string> warnings, IReadOnlySet<SourceFile> failedInputs)
    {
        Errors = errors;
        Warnings = warnings;
        FailedInputs = failedInputs;
    }

    /// <summary>Errors as <c>file:line:column: text</c>,
    /// or without a place where protoc gives none.</summary>
    public IReadOnlyList<string> Errors { get; }

    /// <summary>Warnings in the same form.</summary>
    public IReadOnlyList<string> Warnings { get; }

    /// <summary>The files to compile that have errors.</summary>
    public IReadOnlySet<SourceFile> FailedInputs { get; }

    /// <summary>A warning for each file that has errors, to compile the others without it.</summary>
    public IReadOnlyList<string> LeftOut =>
    [
        .. FailedInputs.Select(file => SchemaPart.WarningOf(
            file,
            string.Join("; ", Errors.Where(
                error => error.StartsWith($"{file.Given}:", StringComparison.Ordinal)).Take(MaxOfFile)))),
    ];

    public static ProtocDiagnostics Read(string text, ProtocPlan plan)
    {
        List<string> errors = [];
        List<string> warnings = [];
        HashSet<SourceFile> failed = [];
        string[] lines =
            text.Split('\n', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries);
        foreach (string line in lines.Distinct(StringComparer.Ordinal))
        {
            Match match = Diagnostic().Match(line);
            if (!match.Success)
            {
                errors.Add(line);
                continue;
            }

            bool isWarning = match.Groups["warning"].Success;
            string file = match.Groups["file"].Value;
            SourceFile? input = FindInput(file, plan);
            if (input is not null && !isWarning)
            {
                failed.Add(input);
            }

            string place = (input?.Given ?? UserPath(file, plan)) + match.Groups["place"].Value;
            (isWarning ? warnings : errors).Add($"{place}: {match.Groups["text"].Value}");
        }

        return new ProtocDiagnostics(errors, warnings, failed);
    }

    /// <summary>These and others of the same files.</summary>
    public ProtocDiagnostics With(ProtocDiagnostics others) => new(
        [.. Errors.Union(others.Errors)],
        [.. Warnings.Union(others.Warnings)],
        FailedInputs.Union(others.FailedInputs).ToHashSet());

    /// <summary>All errors in one exception.</summary>
    public RpcException ToException(int exitCode)
    {
        if (Errors.Count == 0)
        {
            return SchemaError.Invalid($"protoc failed with exit code {exitCode} and said nothing.");
        }

        string more = Errors.Count > MaxListed ? $"\n... and {Errors.Count - MaxListed} more" : "";
        bool isImportMissing = Errors.Any(e => e.EndsWith(": File not found.", StringComparison.Ordinal));
        string hint = isImportMissing
            ? "\nGive the folder from which the missing import counts as an import path."
            : "";
        return SchemaError.Invalid(string.Join('\n', Errors.Take(MaxListed)) + more + hint);
    }

    // protoc names a file by its name below a root or, where it could open it, by its path.
    private static SourceFile? FindInput(string file, ProtocPlan plan) =>
        plan.Inputs.FirstOrDefault(i => i.Name == file || i.File.FullPath == FullPath(file))?.File;

    // With the separators of this system; null for a name below a root.
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

    // The file is the shortest beginning that fits: a drive's colon has no space after it.
    [GeneratedRegex("""^(?<file>.+?)(?<place>(:\d+:\d+)?): (?<warning>warning: )?(?<text>.*)$""",
        RegexOptions.CultureInvariant)]
    private static partial Regex Diagnostic();
}

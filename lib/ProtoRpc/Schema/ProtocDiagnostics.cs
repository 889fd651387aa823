using System.Text.RegularExpressions;

namespace ProtoRpc.Schema;

/// <summary>The errors and warnings of protoc, with the user's own paths.</summary>
internal sealed partial class ProtocDiagnostics
{
    private const int MaxListed = 50;

    private ProtocDiagnostics(IReadOnlyList<string> errors, IReadOnlyList<string> warnings)
    {
        Errors = errors;
        Warnings = warnings;
    }

    /// <summary>Errors as <c>file:line:column: text</c>, or without a place where protoc gives none.</summary>
    public IReadOnlyList<string> Errors { get; }

    /// <summary>Warnings in the same form.</summary>
    public IReadOnlyList<string> Warnings { get; }

    /// <summary>Reads what protoc wrote.</summary>
    public static ProtocDiagnostics Read(string text, ProtocPlan plan)
    {
        Dictionary<string, string> given = plan.Inputs.ToDictionary(i => i.Key, i => i.Value.Given);
        List<string> errors = [];
        List<string> warnings = [];
        string[] lines = text.Split('\n', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries);
        foreach (string line in lines.Distinct(StringComparer.Ordinal))
        {
            Match match = Diagnostic().Match(line);
            if (!match.Success)
            {
                errors.Add(line);
                continue;
            }

            string file = UserPath(match.Groups["file"].Value, given, plan.Roots);
            bool isWarning = match.Groups["warning"].Success;
            (isWarning ? warnings : errors).Add($"{file}{match.Groups["place"].Value}: {match.Groups["text"].Value}");
        }

        return new ProtocDiagnostics(errors, warnings);
    }

    /// <summary>All errors in one exception.</summary>
    public RpcException ToException(int exitCode)
    {
        if (Errors.Count == 0)
        {
            return SchemaError.Invalid($"protoc failed with exit code {exitCode} and said nothing.");
        }

        string more = Errors.Count > MaxListed ? $"\n... and {Errors.Count - MaxListed} more" : "";
        return SchemaError.Invalid(string.Join('\n', Errors.Take(MaxListed)) + more);
    }

    private static string UserPath(
        string name, Dictionary<string, string> given, IReadOnlyList<SourceFile> roots)
    {
        if (given.TryGetValue(name, out string? path))
        {
            return path;
        }

        SourceFile? root = roots.FirstOrDefault(r => File.Exists(Path.Combine(r.FullPath, name)));
        return root is null ? name : Path.Combine(root.Given, name);
    }

    [GeneratedRegex("""^(?<file>[^:]+\.\w+)(?<place>(:\d+:\d+)?): (?<warning>warning: )?(?<text>.*)$""",
        RegexOptions.CultureInvariant)]
    private static partial Regex Diagnostic();
}

using System.IO.Enumeration;

namespace ProtoRpc.Schema.Sources.Protoc;

/// <summary>Finds the schema files that a path with wildcards means.</summary>
internal static class PathPattern
{
    /// <summary>The files of a path: itself, or those that its <c>*</c>,
    /// <c>?</c> and <c>**</c> match, sorted.
    /// </summary>
    /// <param name="pattern">A path as the user wrote it.</param>
    /// <param name="baseFolder">What a relative one starts from.</param>
    /// <exception cref="RpcException">NotFound for no file;
    /// InvalidArgument for a folder or an unknown ending.
    /// </exception>
    public static IReadOnlyList<SourceFile> Expand(string pattern, string baseFolder)
    {
        if (string.IsNullOrWhiteSpace(pattern) || pattern.Contains('\0'))
        {
            throw SchemaError.Invalid("A schema path is empty.");
        }

        string full = Path.GetFullPath(pattern, baseFolder);
        if (File.Exists(full))
        {
            return SchemaLoader.IsKnown(full)
                ? [new SourceFile(pattern, full)]
                : throw SchemaError.Invalid(
                    $"'{pattern}' does not end as the file of a schema; use {SchemaLoader.Endings}.");
        }

        if (Directory.Exists(full))
        {
            string example = Path.Combine(pattern, "*.proto");
            throw SchemaError.Invalid(
                $"'{pattern}' is a folder; write '{example}' for the .proto files in it.");
        }

        bool isPattern = pattern.AsSpan().IndexOfAny('*', '?') >= 0;
        if (!isPattern)
        {
            throw SchemaError.FileNotFound($"There is no schema file {Named(pattern, full)}.");
        }

        SourceFile[] found =
        [
            .. Match(full)
                .Where(SchemaLoader.IsKnown)
                .Order(StringComparer.Ordinal)
                .Select(f => new SourceFile(Given(f, pattern, baseFolder), f) { IsMatched = true }),
        ];
        return found.Length > 0
            ? found
            : throw SchemaError.FileNotFound(
                $"No schema file ({SchemaLoader.Endings}) matches {Named(pattern, full)}.");
    }

    // Errors show a relative path with its full path.
    private static string Named(string pattern, string full) =>
        pattern == full ? $"'{full}'" : $"'{pattern}' ({full})";

    private static string Given(string file, string pattern, string baseFolder) =>
        Path.IsPathRooted(pattern) ? file : Path.GetRelativePath(baseFolder, file);

    private static IEnumerable<string> Match(string pattern)
    {
        string root = Path.GetPathRoot(pattern)!;
        string[] parts = pattern[root.Length..].Split(
            [Path.DirectorySeparatorChar, Path.AltDirectorySeparatorChar],
            StringSplitOptions.RemoveEmptyEntries);
        try
        {
            IEnumerable<string> folders = [root];
            foreach (string part in parts[..^1])
            {
                folders = [.. folders.SelectMany(f => Folders(f, part)).Distinct(StringComparer.Ordinal)];
            }

            // A last part of ** alone means everything below.
            return parts[^1] == "**"
                ? [.. folders.SelectMany(f => Folders(f, "**")).SelectMany(f => Directory.EnumerateFiles(f))]
                : [.. folders.SelectMany(Directory.EnumerateFiles).Where(f => Matches(parts[^1], f))];
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw SchemaError.FileNotFound($"Cannot look for '{pattern}': {e.Message}");
        }
    }

    private static IEnumerable<string> Folders(string folder, string part)
    {
        if (part == "**")
        {
            EnumerationOptions everywhere = new() { RecurseSubdirectories = true };
            return [folder, .. Directory.EnumerateDirectories(folder, "*", everywhere)];
        }

        if (part.AsSpan().IndexOfAny('*', '?') < 0)
        {
            string child = Path.Combine(folder, part);
            return Directory.Exists(child) ? [child] : [];
        }

        return Directory.EnumerateDirectories(folder).Where(f => Matches(part, f));
    }

    // The simple matching takes a backslash for an escape;
    // none gets here, as it is a separator or no wildcard.
    private static bool Matches(string part, string path) =>
        FileSystemName.MatchesSimpleExpression(
            part, Path.GetFileName(path), ignoreCase: OperatingSystem.IsWindows());
}

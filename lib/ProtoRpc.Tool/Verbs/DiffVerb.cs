using System.Buffers;
using System.CommandLine.Completions;
using System.Text.Json;

namespace ProtoRpc.Tool.Verbs;

/// <summary><c>protorpc diff</c>: what breaks callers of an older version of a schema.</summary>
internal static class DiffVerb
{
    private static readonly string[] Names =
        [.. Enum.GetNames<RpcBreakingCategory>().Skip(1).Select(name => name.ToLowerInvariant())];

    public static Command Create(ToolConsole console)
    {
        Argument<string> older = new("OLD")
        {
            Description = "The older schema, which callers have: " + Sources,
        };
        Argument<string> newer = new("NEW") { Description = "The newer schema, from the same sources." };
        ToolOption<string[]> category = new(
            "--category", string.Join('|', Names),
            "Finds what breaks this: calls with binary messages, calls with JSON and routes of REST, code "
            + "that is generated, or only code that is generated for each file. Several with commas; the "
            + "default is wire,json,source.",
            "-c");
        ToolOption<string[]> exclude = new(
            "--exclude", "PATTERN",
            "Leaves out packages and elements whose full names match, such as '*.v1alpha*'; may be repeated.",
            "-x");
        ToolOption<string[]> importPath = new(
            "--import-path", "FOLDER",
            "A folder in which imports of both schemas are searched; may be repeated.", "-I");
        ToolOption<string> format = new(
            "--format", "text|json", "What is written: a line for each change, or an object of JSON in it.");
        category.CompletionSources.Add(_ => Names.Select(name => new CompletionItem(name)));
        format.AcceptOnlyFromAmong("text", "json");
        Command command = new("diff", "Finds changes of a schema that break callers.")
        {
            older, newer, category, exclude, importPath, format,
        };

        command.SetAction(parsed =>
        {
            RpcSchemaComparisonOptions options = new()
            {
                Category = ParseCategory(parsed.GetValue(category) ?? []),
                Exclude = ParsePatterns(parsed.GetValue(exclude) ?? []),
            };
            RpcSchemaLoadOptions loading = new() { ImportPaths = parsed.GetValue(importPath) ?? [] };
            RpcSchema reference = SchemaOptions.Load([parsed.GetRequiredValue(older)], loading, console);
            RpcSchema difference = SchemaOptions.Load([parsed.GetRequiredValue(newer)], loading, console);
            bool isJson = parsed.GetValue(format) == "json";
            IReadOnlyList<RpcBreakingChange> changes =
                RpcSchemaComparison.Compare(reference, difference, options);
            foreach (RpcBreakingChange change in changes)
            {
                console.WriteLine(isJson ? ToJson(change) : ToLine(change));
            }

            return changes.Count == 0 ? ExitCode.Success : ExitCode.Breaking;
        });
        return command;
    }

    private const string Sources =
        "a .proto file, a folder, a descriptor set, the http:// address of a file, or an endpoint that "
        + "offers reflection.";

    // In the form of compilers: "a.proto:7:3: FieldDeleted [wire, json]: ...".
    private static string ToLine(RpcBreakingChange change)
    {
        string place = change.Line is null ? change.File : $"{change.File}:{change.Line}:{change.Column}";
        string old = change.IsInReference ? " (old)" : "";
        return $"{place}{old}: {change.Rule} {change.Element} [{TextOf(change.Category)}]: {change.Message}";
    }

    private static string TextOf(RpcBreakingCategory category) => $"{category}".ToLowerInvariant();

    private static string ToJson(RpcBreakingChange change)
    {
        ArrayBufferWriter<byte> bytes = new();
        using (Utf8JsonWriter json = new(bytes))
        {
            json.WriteStartObject();
            json.WriteString("rule", $"{change.Rule}");
            WriteList(json, "categories", TextOf(change.Category).Split(", "));
            json.WriteString("element", change.Element);
            json.WriteString("message", change.Message);
            json.WriteString("file", change.File);
            if (change is { Line: { } line, Column: { } column })
            {
                json.WriteNumber("line", line);
                json.WriteNumber("column", column);
            }

            json.WriteBoolean("old", change.IsInReference);
            WriteList(json, "buf", change.BufRules);
            json.WriteEndObject();
        }

        return Encoding.UTF8.GetString(bytes.WrittenSpan);
    }

    private static void WriteList(Utf8JsonWriter json, string name, IEnumerable<string> texts)
    {
        json.WriteStartArray(name);
        foreach (string text in texts)
        {
            json.WriteStringValue(text);
        }

        json.WriteEndArray();
    }

    private static RpcBreakingCategory ParseCategory(string[] given)
    {
        RpcBreakingCategory all = RpcBreakingCategory.None;
        foreach (string name in given.SelectMany(text => text.Split(',', StringSplitOptions.TrimEntries)))
        {
            // Enum.Parse would also accept numbers.
            int index = Array.FindIndex(
                Names, known => known.Equals(name, StringComparison.OrdinalIgnoreCase));
            all |= index >= 0
                ? Enum.GetValues<RpcBreakingCategory>()[index + 1]
                : throw new UsageException(
                    $"--category is '{TerminalText.OneLine(name, ToolCommand.MaxWord)}'. Use "
                    + $"{string.Join(", ", Names[..^1])} or {Names[^1]}, several with commas.");
        }

        return all == RpcBreakingCategory.None ? RpcSchemaComparisonOptions.DefaultCategory : all;
    }

    private static string[] ParsePatterns(string[] given) => given.Any(string.IsNullOrEmpty)
        ? throw new UsageException("--exclude is empty. Give a pattern of full names, such as '*.v1alpha*'.")
        : given;
}

using System.IO.Enumeration;
using ProtoRpc.Schema;

namespace ProtoRpc.Compatibility;

/// <summary>Collects the changes of the selected categories.</summary>
internal sealed class ChangeList(RpcSchemaComparisonOptions options)
{
    // Names have up to 4096 characters, and option values any number.
    private const int MaxShown = 200;

    // A peer can choose names of any length.
    private const int MaxNameLength = 1000;

    private readonly List<RpcBreakingChange> _changes = [];
    private readonly Dictionary<SchemaFile, SourcePositions> _positions = [];

    /// <summary>A name or a value for the message of a change.</summary>
    public static string Shown(string text) => TerminalText.OneLine(text, MaxShown);

    /// <summary>Adds a change, if its category is selected and its element is not excluded.</summary>
    public void Add(
        RpcBreakingRule rule, RpcBreakingCategory category, SchemaElement element, string message,
        params IReadOnlyList<string> bufRules)
    {
        if ((category & options.Category) == 0 || IsExcluded(element))
        {
            return;
        }

        (int Line, int Column)? position = FindPosition(element);
        _changes.Add(new RpcBreakingChange
        {
            Rule = rule,
            Category = category,
            Element = TerminalText.OneLine(element.Name, MaxNameLength),
            Message = message,
            File = TerminalText.OneLine(element.File.Name, MaxNameLength),
            // Descriptors count lines and columns from 0.
            Line = position?.Line + 1,
            Column = position?.Column + 1,
            IsInReference = element.IsOld,
            BufRules = bufRules,
        });
    }

    /// <summary>Adds a change of the feature json_format, if it is one that breaks JSON.</summary>
    public void AddJsonFormat(CodeFeatures older, CodeFeatures newer, SchemaElement element, string bufRule)
    {
        if (older.AllowsJson && !newer.AllowsJson)
        {
            Add(
                RpcBreakingRule.JsonFormatChanged, RpcBreakingCategory.Json, element,
                "The feature json_format changed from ALLOW to LEGACY_BEST_EFFORT. Set it back to ALLOW.",
                bufRule);
        }
    }

    /// <summary>The changes by file, place and element.</summary>
    public IReadOnlyList<RpcBreakingChange> ToSortedList() => _changes
        .OrderBy(change => change.File, StringComparer.Ordinal)
        .ThenBy(change => change.IsInReference)
        .ThenBy(change => change.Line)
        .ThenBy(change => change.Column)
        .ThenBy(change => change.Element, StringComparer.Ordinal)
        .ThenBy(change => change.Rule)
        .ToArray();

    // 'acme.internal.*' also excludes elements that are directly in the package.
    private bool IsExcluded(SchemaElement element) =>
        new[] { element.Name, element.File.Proto.Package, $"{element.File.Proto.Package}." }.Any(name =>
            options.Exclude.Any(pattern =>
                FileSystemName.MatchesSimpleExpression(pattern, name, ignoreCase: true)));

    // A removed option has no position, so the position of its element is used.
    private (int Line, int Column)? FindPosition(SchemaElement element)
    {
        SourcePositions positions = PositionsOf(element.File);
        string path = element.Path;
        while (!positions.IsEmpty)
        {
            if (positions.Of(path) is { } position)
            {
                return position;
            }

            if (path.Length == 0)
            {
                break;
            }

            path = path[..Math.Max(0, path.LastIndexOf(','))];
        }

        return null;
    }

    private SourcePositions PositionsOf(SchemaFile file)
    {
        if (!_positions.TryGetValue(file, out SourcePositions? positions))
        {
            _positions.Add(file, positions = new SourcePositions(file.Proto.SourceCodeInfo));
        }

        return positions;
    }
}

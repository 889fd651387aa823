using System.Text.Json;

namespace ProtoRpc.TestRun.Wine;

/// <summary>What the program under Wine wrote, a line for each event, so that nothing is lost when it ends
/// in the middle.</summary>
internal sealed class WineJournal
{
    private static readonly JsonSerializerOptions Names = new(JsonSerializerDefaults.Web);

    private readonly List<TestCase> _failures = [];
    private readonly List<TestCase> _skips = [];
    private readonly HashSet<string> _left = new(StringComparer.Ordinal);
    private int _passed;

    private sealed record Entry(
        string Kind, string? Name, string? Message, string[]? Classes, Dictionary<string, int>? Without,
        string[]? Unknown);

    /// <summary>Whether the program ran all its classes to their end.</summary>
    public bool IsComplete { get; private set; }

    /// <summary>The class whose tests ran last, if it did not end.</summary>
    public string? OpenClass { get; private set; }

    /// <summary>The test that ran last, if it did not end.</summary>
    public string? OpenTest { get; private set; }

    /// <summary>The classes that did not begin.</summary>
    public IReadOnlyCollection<string> Left => _left;

    /// <summary>Listed classes and methods with their numbers of tests.</summary>
    public IReadOnlyDictionary<string, int> Without { get; private set; } = new Dictionary<string, int>();

    /// <summary>Listed names that no class and no method has.</summary>
    public IReadOnlyList<string> Unknown { get; private set; } = [];

    /// <exception cref="FormatException">A line other than the last one cannot be read.</exception>
    public static WineJournal Read(IReadOnlyList<string> lines)
    {
        WineJournal journal = new();
        for (int i = 0; i < lines.Count; i++)
        {
            try
            {
                journal.Add(JsonSerializer.Deserialize<Entry>(lines[i], Names)
                    ?? throw new FormatException($"Line {i + 1} of the journal is empty."));
            }
            catch (JsonException) when (i == lines.Count - 1)
            {
                // The program was ended while it wrote the line.
            }
            catch (JsonException e)
            {
                throw new FormatException($"Line {i + 1} of the journal is not JSON: {e.Message}", e);
            }
        }

        return journal;
    }

    /// <summary>What the tests that ended came to.</summary>
    public SuiteResult ToResult(string suite) =>
        new(suite, new TestCounts(_passed, _failures.Count, _skips.Count), _failures, _skips);

    private void Add(Entry entry)
    {
        string name = entry.Name ?? "?";
        switch (entry.Kind)
        {
            case "plan":
                _left.UnionWith(entry.Classes ?? []);
                Without = entry.Without ?? [];
                Unknown = entry.Unknown ?? [];
                break;
            case "class":
                _left.Remove(name);
                OpenClass = name;
                break;
            case "classEnd":
                OpenClass = null;
                break;
            case "test":
                OpenTest = name;
                break;
            case "passed":
                _passed++;
                OpenTest = null;
                break;
            case "failed":
                _failures.Add(new TestCase($"{name} (under Wine)", entry.Message ?? ""));
                OpenTest = null;
                break;
            case "skipped":
                _skips.Add(new TestCase($"{name} (under Wine)", entry.Message ?? ""));
                OpenTest = null;
                break;
            case "end":
                IsComplete = true;
                break;
            default:
                throw new FormatException($"The journal has an event '{entry.Kind}', which is unknown.");
        }
    }
}

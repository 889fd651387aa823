using System.Text.Json;

namespace ProtoRpc.TestRun.Windows;

/// <summary>The events that the program under Wine wrote to a file, one line each. If the program crashes,
/// the events before the crash are in the file.</summary>
internal sealed class TestJournal
{
    private static readonly JsonSerializerOptions Names = new(JsonSerializerDefaults.Web);

    private readonly List<FailedTest> _failed = [];
    private readonly List<TestCase> _skips = [];
    private readonly HashSet<string> _openCases = new(StringComparer.Ordinal);
    private readonly HashSet<string> _left = new(StringComparer.Ordinal);
    private int _passed;

    private sealed record Entry(
        string Kind, string? Name, string? Id, string? Message, string[]? Ids, string[]? Classes,
        Dictionary<string, int>? Without, string[]? Unknown);

    /// <summary>Whether the program ran all its classes to their end.</summary>
    public bool IsComplete { get; private set; }

    /// <summary>The class whose tests ran last, if it did not end.</summary>
    public string? OpenClass { get; private set; }

    /// <summary>The test that ran last, if it did not end.</summary>
    public string? OpenTest { get; private set; }

    /// <summary>Ids of the tests of that class that did not end, or failed and were to run again.</summary>
    public IReadOnlyCollection<string> OpenCases => _openCases;

    /// <summary>The tests that failed.</summary>
    public IReadOnlyList<FailedTest> Failed => _failed;

    /// <summary>The classes that did not begin.</summary>
    public IReadOnlyCollection<string> Left => _left;

    /// <summary>Listed classes and methods with their numbers of tests.</summary>
    public IReadOnlyDictionary<string, int> Without { get; private set; } = new Dictionary<string, int>();

    /// <summary>Listed names that no class and no method has.</summary>
    public IReadOnlyList<string> Unknown { get; private set; } = [];

    /// <exception cref="FormatException">A line other than the last one cannot be read.</exception>
    public static TestJournal Read(IReadOnlyList<string> lines)
    {
        TestJournal journal = new();
        for (int i = 0; i < lines.Count; i++)
        {
            try
            {
                journal.Add(JsonSerializer.Deserialize<Entry>(lines[i], Names)
                    ?? throw new FormatException($"Line {i + 1} of the journal is empty."));
            }
            catch (JsonException) when (i == lines.Count - 1)
            {
                // The program was killed while it wrote the line.
            }
            catch (JsonException e)
            {
                throw new FormatException($"Line {i + 1} of the journal is not JSON: {e.Message}", e);
            }
        }

        return journal;
    }

    /// <summary>The results of the tests that ended.</summary>
    /// <param name="suite">The name of the suite.</param>
    /// <param name="without">Failures that are not counted, because these tests run again.</param>
    public SuiteResult ToResult(string suite, IReadOnlyList<FailedTest> without)
    {
        TestCase[] failures = [.. _failed.Except(without).Select(test => test.Case)];
        return new SuiteResult(
            suite, new TestCounts(_passed, failures.Length, _skips.Count), failures, _skips);
    }

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
                _openCases.Clear();
                break;
            case "cases":
                _openCases.UnionWith(entry.Ids ?? []);
                break;
            case "caseEnd":
                _openCases.Remove(entry.Id ?? "?");
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
                _failed.Add(new FailedTest(
                    OpenClass, entry.Id, new TestCase($"{name} (under Wine)", entry.Message ?? "")));
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

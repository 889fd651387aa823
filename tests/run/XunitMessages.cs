using System.Text.Json;

namespace ProtoRpc.TestRun;

/// <summary>The output of a program of xunit tests: a line of JSON for each event, between other lines. If
/// the program crashes, the events before the crash are known.</summary>
/// <param name="suite">The name of the suite.</param>
internal sealed class XunitMessages(string suite)
{
    // A program that a test started may have printed text before the message, on the same line.
    private const string Start = "{\"$type\":\"";

    // The last lines usually contain the reason of the end.
    private const int TailLines = 30;

    private readonly Lock _gate = new();
    private readonly Dictionary<string, string> _running = new(StringComparer.Ordinal);
    private readonly List<TestCase> _failures = [];
    private readonly List<TestCase> _skips = [];
    private readonly Queue<string> _tail = [];
    private int _passed;
    private int? _total;

    /// <summary>The numbers of the tests that have ended.</summary>
    public TestCounts Counts
    {
        get
        {
            lock (_gate)
            {
                return new TestCounts(_passed, _failures.Count, _skips.Count);
            }
        }
    }

    /// <summary>Reads a line.</summary>
    /// <returns>Whether a test ended, or the tests were found that are going to run.</returns>
    public bool Add(string line)
    {
        lock (_gate)
        {
            int start = line.IndexOf(Start, StringComparison.Ordinal);
            if (start < 0 || !TryParse(line[start..], out JsonDocument? message))
            {
                Keep(line);
                return false;
            }

            using (message)
            {
                return Add(message!.RootElement);
            }
        }
    }

    /// <summary>The results of the tests, after the program has ended.</summary>
    /// <param name="how">How it ended, as a text for the user.</param>
    /// <param name="byItself">Whether the program ended without being stopped, with an exit code that matches
    /// its results.</param>
    public SuiteResult ToResult(string how, bool byItself)
    {
        lock (_gate)
        {
            SuiteResult result = new(
                suite, new TestCounts(_passed, _failures.Count, _skips.Count), [.. _failures], [.. _skips]);
            string told = string.Join('\n', [how, .. _tail]);
            foreach (string name in _running.Values)
            {
                result = result.WithFailure(name, $"ran when the program {told}");
            }

            // The tests that were running are already reported as failed, so the run is not.
            if (_running.Count > 0)
            {
                return result;
            }

            return !byItself || _total is null
                ? result.WithFailure($"{suite}: the whole run", told)
                : _total != result.Counts.Total
                    ? result.WithFailure(
                        $"{suite}: the whole run",
                        $"it counts {_total} tests and tells of {result.Counts.Total}\n{told}")
                    : result;
        }
    }

    private bool Add(JsonElement message)
    {
        string kind = TextOf(message, "$type");
        switch (kind)
        {
            case "discovery-complete":
                return true;
            case "test-starting":
                _running[IdOf(message)] = TextOf(message, "TestDisplayName");
                return false;
            case "test-passed":
                _passed++;
                return false;
            case "test-skipped":
                _skips.Add(new TestCase(NameOf(message), TextOf(message, "Reason")));
                return false;
            case "test-failed":
                _failures.Add(new TestCase(NameOf(message), ErrorOf(message)));
                return false;
            case "test-finished":
                return _running.Remove(IdOf(message));
            case "test-assembly-finished":
                _total = (_total ?? 0) + message.GetProperty("TestsTotal").GetInt32()
                    - message.GetProperty("TestsNotRun").GetInt32();
                return false;
            case "diagnostic":
                Keep(TextOf(message, "Message"));
                return false;
            default:
                // Errors of the runner, and of fixtures whose disposal fails. xunit does not count them as
                // tests.
                if (kind == "error" || kind.EndsWith("-cleanup-failure", StringComparison.Ordinal))
                {
                    _failures.Add(new TestCase($"{suite}: outside of a test", ErrorOf(message)));
                    _total = (_total ?? 0) + 1;
                }

                return false;
        }
    }

    private void Keep(string line)
    {
        _tail.Enqueue(line);
        if (_tail.Count > TailLines)
        {
            _tail.Dequeue();
        }
    }

    private string NameOf(JsonElement message) =>
        _running.GetValueOrDefault(IdOf(message), IdOf(message));

    private static string IdOf(JsonElement message) => TextOf(message, "TestUniqueID");

    private static string TextOf(JsonElement message, string name) =>
        message.TryGetProperty(name, out JsonElement value) ? value.GetString() ?? "" : "";

    // The exception, and its inner exceptions.
    private static string ErrorOf(JsonElement message) => string.Join(
        "\n---- ",
        TextsOf(message, "ExceptionTypes")
            .Zip(TextsOf(message, "Messages"), TextsOf(message, "StackTraces"))
            .Select(error => $"{error.First}: {error.Second.Trim()}\n{error.Third.TrimEnd()}".TrimEnd()));

    private static IEnumerable<string> TextsOf(JsonElement message, string name) =>
        message.GetProperty(name).EnumerateArray().Select(text => text.GetString() ?? "");

    private static bool TryParse(string text, out JsonDocument? message)
    {
        try
        {
            message = JsonDocument.Parse(text);
            return true;
        }
        catch (JsonException)
        {
            // The line is incomplete, or not from xunit.
            message = null;
            return false;
        }
    }
}

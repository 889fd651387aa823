using System.Text.RegularExpressions;
using ProtoRpc.Tool.Processes;

namespace ProtoRpc.TestRun;

/// <summary>Shells that run the test files of a queue. One that hangs or crashes costs the file that it ran;
/// a new one runs the others.</summary>
/// <param name="suite">The suite's name.</param>
/// <param name="shell">The program of PowerShell.</param>
/// <param name="pester">Pester's manifest.</param>
/// <param name="root">The repository.</param>
internal sealed partial class PesterShell(string suite, string shell, string pester, string root)
{
    private const string Begin = "BEGIN ";

    // All tests are slow on a slow machine, but only a hanging test lets no test end for so long.
    private static readonly TimeSpan Silence = TimeSpan.FromMinutes(3);

    /// <summary>Takes files from the queue until none is left.</summary>
    public async Task<SuiteResult> RunAsync(PesterQueue queue, string? filter)
    {
        SuiteResult sum = SuiteResult.Empty(suite);
        while (!queue.IsEmpty)
        {
            ChildProcess.Result run = await ChildProcess.RunUntilSilentAsync(
                shell,
                [
                    "-NoProfile", "-NonInteractive",
                    "-File", Path.Combine(AppContext.BaseDirectory, "pester.ps1"),
                    "-Pester", pester, "-Queue", queue.Waiting, "-Results", queue.Results,
                    .. filter is null ? Array.Empty<string>() : ["-Filter", filter],
                ],
                root, Silence, line => IsEnd(line) || IsBegin(line));
            SuiteResult result = Judge(run, entry => queue.Read(suite, entry));
            sum = sum.With(result);

            // A shell that did not begin any file would fail again in the same way.
            if (!run.Lines.Any(IsBegin))
            {
                return queue.IsEmpty
                    ? sum
                    : sum.WithFailure($"{suite}: a shell", $"{EndOf(run)}\n{TailOf(run.Lines)}");
            }
        }

        return sum;
    }

    /// <summary>Sums up the results of the files of a shell. A file without a result counts as a failure,
    /// with the tests that it printed. So does a shell that does not end, or crashes, after its last
    /// file.</summary>
    /// <param name="run">The shell.</param>
    /// <param name="read">Reads the result of a file; null if there is none.</param>
    internal SuiteResult Judge(ChildProcess.Result run, Func<string, SuiteResult?> read)
    {
        SuiteResult sum = SuiteResult.Empty(suite);
        bool allEnded = run.Lines.Any(IsBegin);
        for (int at = NextFile(run.Lines, 0); at < run.Lines.Count;)
        {
            int next = NextFile(run.Lines, at + 1);
            string entry = run.Lines[at][Begin.Length..];
            string[] lines = [.. run.Lines.Skip(at + 1).Take(next - at - 1)];
            try
            {
                SuiteResult? result = read(entry);
                allEnded &= result is not null;
                sum = sum.With(result ?? Unfinished(entry, EndOf(run), lines));
            }
            catch (FormatException e)
            {
                allEnded = false;
                sum = sum.With(Unfinished(entry, e.Message, lines));
            }

            at = next;
        }

        return allEnded && !run.Succeeded
            ? sum.WithFailure(
                $"{suite}: the end of a shell",
                $"All its files ended, but then {EndOf(run)}. {TailOf(run.Lines)}")
            : sum;
    }

    private static int NextFile(IReadOnlyList<string> lines, int from)
    {
        int at = from;
        while (at < lines.Count && !IsBegin(lines[at]))
        {
            at++;
        }

        return at;
    }

    private static string EndOf(ChildProcess.Result run) => run.TimedOut
        ? $"no test ended for {Silence.TotalMinutes} minutes"
        : $"pwsh ended with {run.ExitCode}";

    private static string TailOf(IReadOnlyList<string> lines) => string.Join('\n', lines.TakeLast(30));

    private static bool IsBegin(string line) => line.StartsWith(Begin, StringComparison.Ordinal);

    private static bool IsEnd(string line) => TestEnd().IsMatch(line);

    private SuiteResult Unfinished(string entry, string how, string[] lines)
    {
        string[] marks = [.. lines.Select(line => TestEnd().Match(line)).Where(end => end.Success)
            .Select(end => end.Groups[1].Value)];
        TestCounts counts = new(marks.Count(mark => mark == "+"), 0, marks.Count(mark => mark is "!" or "?"));
        SuiteResult result = SuiteResult.Empty(suite) with { Counts = counts };
        foreach (string line in lines.Where(line => TestEnd().Match(line) is { Success: true } end
            && end.Groups[1].Value == "-"))
        {
            result = result.WithFailure($"{entry}: {line.Trim()}", "");
        }

        return result.WithFailure($"{entry}: the whole file", $"{how}, after these lines:\n{TailOf(lines)}");
    }

    // The marks of passed, failed, skipped and inconclusive tests.
    [GeneratedRegex(@"^\s*\[([+\-!?])\] ")]
    private static partial Regex TestEnd();
}

using System.Text.Json;
using ProtoRpc.Tool.Processes;
using ProtoRpc.WindowsTests;

namespace ProtoRpc.TestRun.Windows;

/// <summary>Runs batches of tests under Wine, each in a process of its own.</summary>
/// <param name="world">Where it runs.</param>
/// <param name="program">The folder of the program.</param>
/// <param name="exceptions">The tests that Wine cannot run.</param>
/// <param name="peers">Starts Linux programs for the tests.</param>
internal sealed class TestProcess(
    WineWorld world, string program, LeftOutTests exceptions, PeerHost peers)
{
    // The last lines usually contain the reason of the end.
    private const int TailLines = 30;

    /// <summary>Runs a plan.</summary>
    /// <returns>The results of its tests, and the plans that are left: the classes that a process did not run
    /// because it crashed or was ended, and the tests that failed for the first time.</returns>
    public async Task<(SuiteResult Result, IReadOnlyList<TestPlan> Left)> RunAsync(
        string suite, TestPlan plan)
    {
        string name = Guid.NewGuid().ToString("n");
        string planFile = Path.Combine(program, $"{name}.json");
        string journal = Path.Combine(program, $"{name}.jsonl");
        try
        {
            await WriteAsync(planFile, plan with { Peers = peers.Address });
            (string how, IReadOnlyList<string> tail) = await RunAsync($"{name}.json", $"{name}.jsonl");
            TestJournal read = TestJournal.Read(
                File.Exists(journal) ? await File.ReadAllLinesAsync(journal, CancellationToken.None) : []);
            return Judge(suite, plan, read, $"{how}\n{string.Join('\n', tail.TakeLast(TailLines))}");
        }
        catch (FormatException e)
        {
            return (SuiteResult.Empty(suite).WithFailure($"{suite}: {plan.Assembly}", e.Message), []);
        }
        finally
        {
            File.Delete(planFile);
            File.Delete(journal);
        }
    }

    // Only readable by the user, because the plan contains a secret.
    private static async Task WriteAsync(string path, TestPlan plan)
    {
        FileStreamOptions options = new() { Mode = FileMode.CreateNew, Access = FileAccess.Write };
        if (!OperatingSystem.IsWindows())
        {
            options.UnixCreateMode = UnixFileMode.UserRead | UnixFileMode.UserWrite;
        }

        await using FileStream file = new(path, options);
        await JsonSerializer.SerializeAsync(file, plan);
    }

    // Each test is printed when it begins, so a program that prints nothing for this time hangs in a test.
    private async Task<(string How, IReadOnlyList<string> Tail)> RunAsync(string plan, string journal)
    {
        using CancellationTokenSource silence = new(XunitProgram.Silence);
        List<string> lines = [];
        bool hasEnded = false;
        try
        {
            ChildProcess.Result run = await world.RunAsync(
                Path.Combine(program, "WindowsTests.exe"), [plan, journal], program,
                line =>
                {
                    lock (lines)
                    {
                        if (!hasEnded)
                        {
                            lines.Add(line);
                            silence.CancelAfter(XunitProgram.Silence);
                        }
                    }
                },
                silence.Token);
            return ($"ended with {run.ExitCode}", run.Lines);
        }
        catch (OperationCanceledException)
        {
            return ($"hung: nothing happened for {XunitProgram.Silence.TotalMinutes} minutes", lines);
        }
        finally
        {
            // Processes that the program left behind may still print.
            lock (lines)
            {
                hasEnded = true;
            }
        }
    }

    private (SuiteResult Result, IReadOnlyList<TestPlan> Left) Judge(
        string suite, TestPlan plan, TestJournal journal, string how)
    {
        // Wine occasionally loses keys and handles of a process, and trying again in the same process does
        // not help. So a test has only failed if it also fails in a second process.
        bool isFirst = plan.Tests is null;
        FailedTest[] again = isFirst ? [.. journal.Failed.Where(test => test.Id is not null)] : [];
        SuiteResult result = journal.ToResult(suite, again);
        foreach ((string name, int tests) in journal.Without)
        {
            result = result.With(
                SuiteResult.Skipped($"{suite}: {name}", tests, exceptions.ReasonOf(name)));
        }

        foreach (string name in journal.Unknown)
        {
            result = result.WithFailure(
                $"{suite}: {name}",
                "is listed in not-under-wine.txt or only-in-long-runs.txt of tests/windows, and no test has "
                + "that name. Remove it there.");
        }

        List<TestPlan> left = [];
        if (again.Length > 0)
        {
            left.Add(plan.OfTests(again.Select(test => test.Class!), again.Select(test => test.Id!)));
        }

        if (!journal.IsComplete)
        {
            string open = journal.OpenTest ?? journal.OpenClass ?? $"{plan.Assembly}, part {plan.Part}";
            if (isFirst && journal is { OpenClass: { } ofTest, OpenCases.Count: > 0 })
            {
                again = [.. again, new FailedTest(ofTest, null, new TestCase(open, how))];
                left.Add(plan.OfTests([ofTest], journal.OpenCases));
            }
            else
            {
                result = result.WithFailure($"{suite}: {open}", how);
            }

            if (journal.OpenClass is not null && journal.Left.Count > 0)
            {
                left.Add(plan with { Classes = [.. journal.Left], Part = 0, Parts = 1 });
            }
        }

        foreach (FailedTest test in again)
        {
            Console.WriteLine(
                $"{suite}: runs again in a second process: {test.Case.Name}\n{test.Case.Message}");
        }

        return (result, left);
    }
}

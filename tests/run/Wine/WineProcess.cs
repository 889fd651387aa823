using ProtoRpc.Tool.Processes;

namespace ProtoRpc.TestRun.Wine;

/// <summary>Runs batches of tests under Wine, each in a process of its own.</summary>
/// <param name="world">Where it runs.</param>
/// <param name="program">The folder of the program.</param>
/// <param name="exceptions">What Wine cannot run.</param>
/// <param name="end">When the suite ends.</param>
internal sealed class WineProcess(
    WineWorld world, string program, WineExceptions exceptions, CancellationToken end)
{
    private static readonly TimeSpan Silence = TimeSpan.FromMinutes(2);

    // The lines that say why a process ended.
    private const int TailLines = 30;

    /// <summary>Runs a batch.</summary>
    /// <returns>What its tests came to, and the classes that are left after a process that did not end by
    /// itself.</returns>
    public async Task<(SuiteResult Result, WineBatch? Left)> RunAsync(string suite, WineBatch batch)
    {
        string name = Guid.NewGuid().ToString("n");
        string plan = Path.Combine(program, $"{name}.json");
        string journal = Path.Combine(program, $"{name}.jsonl");
        try
        {
            await File.WriteAllTextAsync(plan, batch.ToJson(), CancellationToken.None);
            (string how, IReadOnlyList<string> tail) = await RunAsync($"{name}.json", $"{name}.jsonl");
            WineJournal read = WineJournal.Read(
                File.Exists(journal) ? await File.ReadAllLinesAsync(journal, CancellationToken.None) : []);
            return Judge(suite, batch, read, $"{how}\n{string.Join('\n', tail.TakeLast(TailLines))}");
        }
        catch (FormatException e)
        {
            return (SuiteResult.Empty(suite).WithFailure($"{suite}: {batch.Assembly}", e.Message), null);
        }
        finally
        {
            File.Delete(plan);
            File.Delete(journal);
        }
    }

    // A program that prints nothing for a time hangs in a test: each is printed when it begins.
    private async Task<(string How, IReadOnlyList<string> Tail)> RunAsync(string plan, string journal)
    {
        using CancellationTokenSource silence = CancellationTokenSource.CreateLinkedTokenSource(end);
        silence.CancelAfter(Silence);
        List<string> lines = [];
        try
        {
            ChildProcess.Result run = await world.RunAsync(
                Path.Combine(program, "WineTests.exe"), [plan, journal], program,
                line =>
                {
                    lines.Add(line);
                    silence.CancelAfter(Silence);
                },
                silence.Token);
            return ($"ended with {run.ExitCode}", run.Lines);
        }
        catch (OperationCanceledException)
        {
            return (end.IsCancellationRequested
                ? "the time of the suite is over"
                : $"hung: nothing happened for {Silence.TotalMinutes} minutes", lines);
        }
    }

    private (SuiteResult Result, WineBatch? Left) Judge(
        string suite, WineBatch batch, WineJournal journal, string how)
    {
        SuiteResult result = journal.ToResult(suite);
        foreach ((string name, int tests) in journal.Without)
        {
            result = result.With(
                SuiteResult.Skipped($"{suite}: {name}", tests, exceptions.ReasonOf(name)));
        }

        foreach (string name in journal.Unknown)
        {
            result = result.WithFailure(
                $"{suite}: {name}",
                "is listed in tests/wine/not-under-wine.txt, and no test has that name. Remove it there.");
        }

        if (journal.IsComplete)
        {
            return (result, null);
        }

        string open = journal.OpenTest ?? journal.OpenClass ?? $"{batch.Assembly}, part {batch.Part}";
        result = result.WithFailure($"{suite}: {open}", how);
        return (result, end.IsCancellationRequested || journal.OpenClass is null || journal.Left.Count == 0
            ? null
            : batch with { Classes = [.. journal.Left], Part = 0, Parts = 1 });
    }
}

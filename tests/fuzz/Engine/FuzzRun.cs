using System.Diagnostics;
using System.Globalization;
using System.Text.Json;
using ProtoRpc.Fuzz.Targets;

namespace ProtoRpc.Fuzz.Engine;

/// <summary>Runs all targets that are wanted in turn, each for the same time.</summary>
internal sealed class FuzzRun : IDisposable
{
    private static readonly TimeSpan Turn = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan BetweenLines = TimeSpan.FromMinutes(1);
    private static readonly JsonSerializerOptions Indented = new() { WriteIndented = true };

    private readonly FuzzOptions _options;
    private readonly Watchdog _watchdog = new();
    private readonly List<TargetRun> _runs;
    private bool _isStopped;

    public FuzzRun(FuzzOptions options)
    {
        _options = options;
        Directory.CreateDirectory(options.Out);
        _runs = [.. TargetTable.Make(options.Targets)
            .Select(target => new TargetRun(target, options, _watchdog))];
        Console.CancelKeyPress += (_, e) =>
        {
            // What was found until then is written.
            e.Cancel = true;
            _isStopped = true;
        };
    }

    public IEnumerable<TargetResult> Results => _runs.Select(run => run.Result);

    public bool Failed => Results.Any(result => result.Failures.Count > 0);

    /// <summary>Runs one saved input of the one target.</summary>
    public bool Repeat(string path) => _runs[0].Repeat(RunningInput.Load(path));

    public void Run()
    {
        TimeSpan whole = _options.Seconds == 0 ? TimeSpan.MaxValue : TimeSpan.FromSeconds(_options.Seconds);
        foreach (TargetRun run in _runs)
        {
            run.CheckGrowth();
            Console.WriteLine($"{run.Result.Name}: {run.Result.Growths} growing inputs checked");
        }

        long start = Stopwatch.GetTimestamp();
        TimeSpan nextLine = BetweenLines;
        while (Left() > TimeSpan.Zero && !_isStopped)
        {
            for (int i = 0; i < _runs.Count && !_isStopped; i++)
            {
                TimeSpan turn = TimeSpan.FromTicks(
                    Math.Max(0, Math.Min(Turn.Ticks, Left().Ticks / (_runs.Count - i))));
                _runs[i].RunUntil(Stopwatch.GetTimestamp() + (long)(turn.TotalSeconds * Stopwatch.Frequency));
            }

            if (Stopwatch.GetElapsedTime(start) > nextLine)
            {
                nextLine += BetweenLines;
                Console.WriteLine(string.Create(
                    CultureInfo.InvariantCulture,
                    $"{Stopwatch.GetElapsedTime(start).TotalMinutes:F0} minutes, "
                    + $"{Results.Sum(r => r.Inputs):N0} inputs, "
                    + $"{Results.Sum(r => r.Failures.Count)} failures"));
            }
        }

        TimeSpan Left() => whole - Stopwatch.GetElapsedTime(start);
    }

    /// <summary>Writes a line for each target.</summary>
    public void Write(TextWriter output)
    {
        foreach (Failure failure in Results.SelectMany(result => result.Failures))
        {
            output.WriteLine($"FAILED {failure.Text}");
        }

        output.WriteLine($"seed {_options.Seed}");
        foreach (TargetResult result in Results)
        {
            output.WriteLine(string.Create(
                CultureInfo.InvariantCulture,
                $"{result.Name,-14} {result.Inputs,11:N0} inputs {result.Accepted,11:N0} accepted "
                + $"{result.Branches,6:N0} branches {result.Kept,5:N0} kept {result.Growths,3} growths "
                + $"{result.WorstBytesPerByte,6:F0} B/B {result.Failures.Count,3} failures"));
        }
    }

    /// <summary>Writes what the test command reads: a target is a test.</summary>
    public void WriteReport(string path)
    {
        var report = new
        {
            Passed = Results.Count(result => result.Failures.Count == 0 && result.Inputs > 0),
            Failures = Results
                .SelectMany(result => result.Failures.Select(failure => new
                {
                    Name = $"fuzz: {result.Name}",
                    Message = $"seed {_options.Seed}\n{failure.Text}",
                }))
                .Concat(Results.Where(result => result.Inputs == 0).Select(result => new
                {
                    Name = $"fuzz: {result.Name}",
                    Message = "not one input ran",
                })),
            Skips = Array.Empty<object>(),
        };
        File.WriteAllText(path, JsonSerializer.Serialize(report, Indented));
    }

    public void Dispose()
    {
        foreach (TargetRun run in _runs)
        {
            run.Dispose();
        }

        _watchdog.Dispose();
    }
}

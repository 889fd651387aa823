using System.Globalization;
using ProtoRpc.LongRun.Load;
using ProtoRpc.LongRun.Measures;

namespace ProtoRpc.LongRun.Report;

/// <summary>What a run came to.</summary>
internal sealed record RunResult(LongRunOptions Options)
{
    /// <summary>What was done, in this process.</summary>
    public required Tally Tally { get; init; }

    /// <summary>What the listeners left that were started and stopped; null for nothing.</summary>
    public required string? Left { get; init; }

    /// <summary>What the load left when it had ended; null for nothing.</summary>
    public required string? LeftByLoad { get; init; }

    public required IReadOnlyList<Sample> Samples { get; init; }

    /// <summary>The samples of the shell; null where PowerShell is not installed.</summary>
    public required IReadOnlyList<Sample>? ShellSamples { get; init; }

    public required IReadOnlyList<string> ShellFailures { get; init; }

    /// <summary>How busy the machine was.</summary>
    public required string Processors { get; init; }

    /// <summary>The processes with their samples.</summary>
    public IEnumerable<(string Name, IReadOnlyList<Sample> Samples)> Processes =>
        ShellSamples is null ? [("program", Samples)] : [("program", Samples), ("shell", ShellSamples)];

    /// <summary>Everything that was checked, with what is wrong; null for nothing.</summary>
    public IReadOnlyList<(string Name, string? Fault)> Checks =>
    [
        ("calls: each ends as it should", Fault(Tally.Failed, Tally.Failures)),
        ("start and stop: listeners leave nothing", Left),
        ("load: clients and servers leave nothing", LeftByLoad),
        .. Processes.SelectMany(process => Flat(process.Name, process.Samples)),
        .. ShellSamples is null
            ? Array.Empty<(string, string?)>()
            : [("shell: each call ends as it should", Fault(ShellFailures.Count, ShellFailures))],
    ];

    private static string? Fault(long count, IReadOnlyList<string> first) =>
        count == 0 ? null : $"{count} failed, the first of them:\n{string.Join('\n', first.Take(20))}";

    private static IEnumerable<(string, string?)> Flat(string process, IReadOnlyList<Sample> samples)
    {
        try
        {
            return
            [
                .. Trend.Of(samples).Select(trend => (
                    $"{process}: {trend.Measure.Name} stay flat",
                    trend.IsFlat
                        ? null
                        : string.Create(
                            CultureInfo.InvariantCulture,
                            $"They grew by {trend.Growth:F1} in {trend.Seconds:F0} s around "
                            + $"{trend.Median:F1}, and {trend.Measure.Most} is the most."))),
            ];
        }
        catch (InvalidOperationException e)
        {
            return [($"{process}: measures stay flat", e.Message)];
        }
    }
}

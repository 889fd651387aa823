using System.Globalization;
using System.Text.Json;
using ProtoRpc.Benchmarks.Report;
using ProtoRpc.Fuzz;
using ProtoRpc.LongRun.Measures;

namespace ProtoRpc.LongRun.Report;

/// <summary>Writes a result: for the console, for the test command, and for the page.</summary>
internal static class RunReport
{
    private const string Plot = "docs/reliability/long-run.svg";
    private static readonly JsonSerializerOptions Indented = new() { WriteIndented = true };

    public static void Write(RunResult result, TextWriter output)
    {
        foreach ((string name, string? fault) in result.Checks)
        {
            output.WriteLine(fault is null ? $"ok      {name}" : $"FAILED  {name}\n{fault}");
        }

        output.WriteLine(Table(result));
        output.WriteLine(Counts(result));
    }

    /// <summary>Writes what the test command reads: each check is a test.</summary>
    public static void WriteTests(RunResult result, string path)
    {
        var report = new
        {
            Passed = result.Checks.Count(check => check.Fault is null),
            Failures = result.Checks.Where(check => check.Fault is not null)
                .Select(check => new { Name = $"long-run: {check.Name}", Message = check.Fault }),
            Skips = result.ShellSamples is not null || !result.Options.HasShell
                ? []
                : new[]
                {
                    new { Name = "long-run: shell", Message = "PowerShell 7.6 is not on the PATH" },
                },
        };
        File.WriteAllText(path, JsonSerializer.Serialize(report, Indented));
    }

    /// <summary>Writes the section of the page, and the plot beside it.</summary>
    public static void Record(RunResult result)
    {
        string plot = Path.Combine(Root.Folder, Plot);
        Directory.CreateDirectory(Path.GetDirectoryName(plot)!);
        // Without PowerShell there are no runspaces to draw.
        LinePanel[] panels = [.. Panels(result).Where(panel => panel.Lines.Count > 0)];
        File.WriteAllText(plot, LineChart.Draw("A long run", panels));
        double minutes = result.Samples[^1].Seconds / 60;
        ReliabilityPage.Open().Write("long-run", $"""
            The recorded run lasted {Number(minutes)} minutes. {result.Processors} {MachineFacts.Describe()}

            {Counts(result)}

            {Table(result)}

            ![Calls, handles, threads, memory and runspaces over time]({Plot["docs/".Length..]})
            """);
    }

    private static string Table(RunResult result) => string.Join('\n',
    [
        "| process | measure | median | growth after the warm-up | at most |",
        "| --- | --- | ---: | ---: | ---: |",
        .. result.Processes.Where(process => process.Samples.Count > 2 * Trend.Fewest)
            .SelectMany(process => Trend.Of(process.Samples).Select(trend =>
                $"| {process.Name} | {trend.Measure.Name} | {Number(trend.Median)} | {Number(trend.Growth)} "
                + $"| {Number(trend.Measure.Most)} |")),
    ]);

    private static string Counts(RunResult result) => string.Join('\n',
    [
        "| what | how often |",
        "| --- | ---: |",
        .. result.Tally.Done.Select(pair => $"| {pair.Key} | {Whole(pair.Value)} |"),
        $"| listeners on six endpoints, started and stopped in a row | {Whole(result.Options.Cycles)} |",
        .. result.ShellSamples is [.., Sample last]
            ? [$"| calls in PowerShell, with listeners, gateways and mocks | {Whole(last.Calls)} |"]
            : Array.Empty<string>(),
        $"| failures | {Whole(result.Tally.Failed + result.ShellFailures.Count)} |",
    ]);

    private static IEnumerable<LinePanel> Panels(RunResult result)
    {
        yield return new LinePanel(
            "calls per second",
            [.. result.Processes.Where(process => process.Samples.Count > 1).Select(
                process => new Line(process.Name, [.. Rates(process.Samples)]))]);
        foreach (Measure measure in Measure.All)
        {
            yield return new LinePanel(
                measure.Name,
                [
                    .. result.Processes.Where(process =>
                        process.Samples.Count > 0 && measure.Of(process.Samples[0]) is not null)
                        .Select(process => new Line(
                            process.Name,
                            [.. process.Samples.Select(one => (one.Seconds, measure.Of(one)!.Value))])),
                ]);
        }
    }

    private static IEnumerable<(double Seconds, double Rate)> Rates(IReadOnlyList<Sample> samples) =>
        samples.Zip(samples.Skip(1), (before, after) =>
            (after.Seconds, (after.Calls - before.Calls) / (after.Seconds - before.Seconds)));

    private static string Number(double value) => value.ToString("0.#", CultureInfo.InvariantCulture);

    private static string Whole(long value) => value.ToString("N0", CultureInfo.InvariantCulture);
}

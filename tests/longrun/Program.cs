using ProtoRpc.LongRun.Load;
using ProtoRpc.LongRun.Measures;
using ProtoRpc.LongRun.Report;

namespace ProtoRpc.LongRun;

/// <summary>Runs a mixed load for long, and checks that nothing grows and nothing is left.</summary>
internal static class Program
{
    private const int Failed = 1;
    private const int Misused = 2;

    // Enough samples for a trend, and few enough to draw.
    private const int Samples = 120;

    public static async Task<int> Main(string[] args)
    {
        LongRunOptions options;
        try
        {
            options = LongRunOptions.Parse(args);
        }
        catch (ArgumentException e)
        {
            Console.Error.WriteLine(e.Message);
            return Misused;
        }

        // Sockets and temporary files of this process alone, so that what is left is ours.
        DirectoryInfo folder = Directory.CreateTempSubdirectory("protorpc-run-");
        Environment.SetEnvironmentVariable("TMPDIR", folder.FullName);
        Environment.SetEnvironmentVariable("XDG_RUNTIME_DIR", folder.FullName);
        try
        {
            RunResult result = await RunAsync(options, folder.FullName);
            RunReport.Write(result, Console.Out);
            if (options.Report is { } report)
            {
                RunReport.WriteTests(result, report);
            }

            if (options.Record)
            {
                RunReport.Record(result);
            }

            return result.Checks.All(check => check.Fault is null) ? 0 : Failed;
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    private static async Task<RunResult> RunAsync(LongRunOptions options, string folder)
    {
        StartStop listeners = new(folder);
        string? left = await listeners.RunAsync(options.Cycles);
        Console.WriteLine($"{options.Cycles} listeners were started and stopped.");

        Leftovers before = await listeners.LeastAsync();
        TimeSpan period = TimeSpan.FromSeconds(Math.Max(0.5, (double)options.Seconds / Samples));
        Tally tally = new();
        Sampler sampler = new(() => tally.All, period);
        using ShellRun? shell = options.HasShell ? ShellRun.Start(period) : null;
        if (options.HasShell && shell is null)
        {
            Console.WriteLine("SKIPPED: the load in PowerShell, because pwsh is not on the PATH");
        }

        using CancellationTokenSource end = new();
        Console.CancelKeyPress += (_, e) =>
        {
            // What was measured until then is written.
            e.Cancel = true;
            end.Cancel();
        };
        end.CancelAfter(TimeSpan.FromSeconds(options.Seconds));
        ProcessorShare share = new();
        using (Servers servers = new())
        {
            await Task.WhenAll(
                new MixedLoad(servers, options, tally).RunAsync(end.Token), sampler.RunAsync(end.Token));
        }

        string processors = share.Describe();
        if (shell is not null)
        {
            await shell.StopAsync();
        }

        return new RunResult(options)
        {
            Tally = tally,
            Left = left,
            LeftByLoad = await listeners.LeftAsync(before),
            Samples = sampler.Samples,
            ShellSamples = shell?.Samples,
            ShellFailures = shell?.Failures ?? [],
            Processors = processors,
        };
    }
}

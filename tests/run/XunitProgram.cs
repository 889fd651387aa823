using System.Diagnostics;
using ProtoRpc.Tool.Processes;

namespace ProtoRpc.TestRun;

/// <summary>Runs a program of xunit tests until it ends, or until no test ends for a given time.</summary>
/// <param name="suite">The name of the suite.</param>
/// <param name="silence">The time without an ended test after which the program is stopped.</param>
internal sealed class XunitProgram(string suite, TimeSpan silence)
{
    /// <summary>The time without an ended test after which the program is stopped. No test takes as long,
    /// except one that hangs.</summary>
    public static readonly TimeSpan Silence = TimeSpan.FromMinutes(3);

    // Shows progress to a person who watches the run.
    private static readonly TimeSpan BetweenLines = TimeSpan.FromMinutes(1);

    // Programs are ended when they are silent for too long, not after a time.
    private static readonly TimeSpan Never = TimeSpan.FromDays(1);

    // xunit's exit code if a test failed.
    private const int SomeFailed = 1;

    public async Task<SuiteResult> RunAsync(string program, IEnumerable<string> arguments, string folder)
    {
        XunitMessages messages = new(suite);
        Stopwatch sinceLine = Stopwatch.StartNew();
        using CancellationTokenSource quiet = new(silence);
        try
        {
            ChildProcess.Result run = await ChildProcess.RunAsync(
                program, arguments, folder, Never,
                line =>
                {
                    if (!messages.Add(line))
                    {
                        return;
                    }

                    quiet.CancelAfter(silence);
                    if (sinceLine.Elapsed > BetweenLines)
                    {
                        Console.WriteLine($"  {suite}: {messages.Counts} until now");
                        sinceLine.Restart();
                    }
                },
                quiet.Token);
            return messages.ToResult(
                $"ended with {run.ExitCode}",
                run.Succeeded || (run.ExitCode == SomeFailed && messages.Counts.Failed > 0));
        }
        catch (OperationCanceledException)
        {
            return messages.ToResult(
                $"was ended because no test had ended for {silence.TotalMinutes:0.##} minutes",
                byItself: false);
        }
    }
}

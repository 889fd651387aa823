using System.CommandLine;

namespace ProtoRpc.Tool.Verbs;

/// <summary>The options of verbs that can ask again and again.</summary>
internal sealed class WatchOptions
{
    private const double MaxSeconds = 86_400;

    private readonly Option<bool> _watch = new("--watch", "-w")
    {
        Description = "Asks again and again, until Ctrl+C.",
    };

    private readonly Option<double> _interval = new("--interval")
    {
        Description = "Seconds between two questions of --watch.",
        HelpName = "SECONDS",
        DefaultValueFactory = _ => 1,
        CustomParser = NumberArgument.Parse,
    };

    public WatchOptions(Command command)
    {
        command.Add(_watch);
        command.Add(_interval);
    }

    public bool IsWatching(ParseResult parsed) => parsed.GetValue(_watch);

    /// <summary>Asks once, or until Ctrl+C. While it watches, a server that does not answer is a line of
    /// standard error.</summary>
    /// <returns>The exit code: that of the last answer.</returns>
    public async Task<int> RunAsync(
        ParseResult parsed, Func<CancellationToken, Task<string>> ask, ToolConsole console,
        CancellationToken cancellation)
    {
        if (!IsWatching(parsed))
        {
            console.WriteLine(await ask(cancellation));
            return ExitCode.Success;
        }

        int code = ExitCode.Success;
        using PeriodicTimer timer = new(Interval(parsed));
        try
        {
            do
            {
                try
                {
                    console.WriteLine(await ask(cancellation));
                    code = ExitCode.Success;
                }
                catch (CallFailedException e)
                {
                    ErrorOutput.Write(console, e);
                    code = ExitCode.OfCall(e.Code);
                }
            }
            while (await timer.WaitForNextTickAsync(cancellation));
        }
        catch (OperationCanceledException) when (cancellation.IsCancellationRequested)
        {
            // Ctrl+C is how it ends.
        }

        return code;
    }

    private TimeSpan Interval(ParseResult parsed) =>
        parsed.GetValue(_interval) is >= 0.01 and <= MaxSeconds and var seconds
            ? TimeSpan.FromSeconds(seconds)
            : throw new UsageException($"--interval takes seconds, 0.01 to {MaxSeconds:0}.");
}

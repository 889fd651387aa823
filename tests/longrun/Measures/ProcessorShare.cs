using System.Diagnostics;
using System.Globalization;

namespace ProtoRpc.LongRun.Measures;

/// <summary>How busy the machine was over a time, and how much of it this process was.</summary>
internal sealed class ProcessorShare
{
    private const string Statistics = "/proc/stat";

    // Columns of the first line, in ticks of all processors: user, nice, system, idle, iowait, ...
    private const int Idle = 3;
    private const int WaitsForDisk = 4;

    private readonly (double Busy, double All) _machine = Machine();
    private readonly TimeSpan _process = Spent();
    private readonly long _start = Stopwatch.GetTimestamp();

    /// <summary>The sentence about it.</summary>
    public string Describe()
    {
        double own = (Spent() - _process).TotalSeconds
            / Stopwatch.GetElapsedTime(_start).TotalSeconds / Environment.ProcessorCount;
        (double busy, double all) = Machine();
        string text = string.Create(
            CultureInfo.InvariantCulture, $"The program used {own:P0} of the machine's processors");
        return all > _machine.All
            ? text + string.Create(
                CultureInfo.InvariantCulture,
                $"; with other work, {(busy - _machine.Busy) / (all - _machine.All):P0} were busy.")
            : text + ".";
    }

    private static TimeSpan Spent()
    {
        using Process process = Process.GetCurrentProcess();
        return process.TotalProcessorTime;
    }

    private static (double Busy, double All) Machine()
    {
        if (!File.Exists(Statistics))
        {
            return default;
        }

        double[] ticks =
        [
            .. File.ReadLines(Statistics).First().Split(' ', StringSplitOptions.RemoveEmptyEntries).Skip(1)
                .Select(number => double.Parse(number, CultureInfo.InvariantCulture)),
        ];
        return (ticks.Sum() - ticks[Idle] - ticks[WaitsForDisk], ticks.Sum());
    }
}

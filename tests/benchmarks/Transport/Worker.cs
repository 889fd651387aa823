using System.Diagnostics;
using System.Globalization;
using ProtoRpc.Benchmarks.Peers;

namespace ProtoRpc.Benchmarks.Transport;

/// <summary>This program, started once more as a server or client, or another one that takes part; see
/// <see cref="WorkerRole"/>.</summary>
internal sealed class Worker : IDisposable
{
    private static readonly TimeSpan StopTime = TimeSpan.FromSeconds(10);

    // A machine that is busy starts programs slowly.
    private static readonly TimeSpan AnswerTime = TimeSpan.FromSeconds(60);

    private readonly Process _process;

    private Worker(string program, IEnumerable<string> arguments)
    {
        ProcessStartInfo start = new(program, arguments)
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
        };
        _process = Process.Start(start) ?? throw new InvalidOperationException($"{program} did not start.");
        try
        {
            Told = Read("ready", TimeSpan.Zero);
        }
        catch
        {
            Dispose();
            throw;
        }
    }

    /// <summary>What it said when it was ready: a server's address.</summary>
    public string Told { get; }

    /// <summary>The memory that it has, in bytes.</summary>
    public long WorkingSet
    {
        get
        {
            _process.Refresh();
            return _process.WorkingSet64;
        }
    }

    /// <summary>The processor time that it has used.</summary>
    public TimeSpan ProcessorTime
    {
        get
        {
            _process.Refresh();
            return _process.TotalProcessorTime;
        }
    }

    public static Worker Server(string kind, string address, int records, WireSize size) => Own(
        WorkerRole.Server, kind, address, Text(records), Text(size.Request), Text(size.Reply));

    public static Worker Server(PeerProgram peer, string address, int records) => new(
        peer.Program, [.. peer.Arguments, WorkerRole.Server, address, Text(records)]);

    public static Worker Client(string kind, string address, int records, WireSize size, int callers) => Own(
        WorkerRole.Client, kind, address, Text(records), Text(size.Request), Text(size.Reply), Text(callers));

    public static Worker Client(PeerProgram peer, string address, int records, int callers) => new(
        peer.Program, [.. peer.Arguments, WorkerRole.Client, address, Text(records), Text(callers)]);

    /// <summary>Lets clients call at the same time.</summary>
    /// <returns>Their calls in a second, summed.</returns>
    public static double Call(IReadOnlyCollection<Worker> clients, TimeSpan time) =>
        Round(clients, time).CallsPerSecond;

    /// <summary>Lets clients call at the same time.</summary>
    /// <returns>What they did; nothing of the server.</returns>
    public static CallRound Round(IReadOnlyCollection<Worker> clients, TimeSpan time)
    {
        foreach (Worker client in clients)
        {
            client.Write(Text((int)time.TotalMilliseconds));
        }

        CallRound[] parts = [.. clients.Select(client => WorkerRole.ParseDone(client.Read("done", time)))];
        return new CallRound
        {
            Calls = parts.Sum(part => part.Calls),
            CallsPerSecond = parts.Sum(part => part.CallsPerSecond),
            CallerRates = [.. parts.SelectMany(part => part.CallerRates)],
            MedianMicroseconds = ResultTable.Median(parts.Select(part => part.MedianMicroseconds)),
            Percentile99Microseconds = parts.Max(part => part.Percentile99Microseconds),
            Clients = parts.Aggregate(default(ResourceUse), (sum, part) => sum + part.Clients),
        };
    }

    /// <summary>What a server used since it began.</summary>
    public ResourceUse Use()
    {
        Write(WorkerRole.Used);
        string[] used = Read(WorkerRole.Used, TimeSpan.Zero).Split(' ');
        return ResourceUse.Parse(used[0], used[1]);
    }

    public void Dispose()
    {
        _process.StandardInput.Close();
        if (!_process.WaitForExit(StopTime))
        {
            _process.Kill(entireProcessTree: true);
        }

        _process.Dispose();
    }

    private void Write(string line)
    {
        _process.StandardInput.WriteLine(line);
        _process.StandardInput.Flush();
    }

    private static string Text(int number) => number.ToString(CultureInfo.InvariantCulture);

    // This program once more.
    /// <summary>How this program is started once more.</summary>
    public static (string Program, string[] Arguments) Again(params string[] arguments)
    {
        string program = Environment.ProcessPath
            ?? throw new InvalidOperationException("The program has no path.");
        return Path.GetFileNameWithoutExtension(program) == "dotnet"
            ? (program, [Environment.GetCommandLineArgs()[0], .. arguments])
            : (program, arguments);
    }

    private static Worker Own(params string[] arguments)
    {
        (string program, string[] all) = Again(arguments);
        return new Worker(program, all);
    }

    private string Read(string word, TimeSpan busy)
    {
        Task<string?> reading = _process.StandardOutput.ReadLineAsync();
        if (!reading.Wait(busy + AnswerTime))
        {
            throw new InvalidOperationException(
                $"{_process.StartInfo.FileName} did not say '{word}' "
                + $"in {(busy + AnswerTime).TotalSeconds} s.");
        }

        string line = reading.Result ?? throw new InvalidOperationException(
            $"{_process.StartInfo.FileName} ended before it said '{word}'.");
        return line.Split(' ')[0] == word
            ? line[word.Length..].Trim()
            : throw new InvalidOperationException(
                $"{_process.StartInfo.FileName} said '{line}' and not '{word}'.");
    }
}

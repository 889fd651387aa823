using ProtoRpc.Benchmarks.Transport;

namespace ProtoRpc.Benchmarks.Gateway;

/// <summary>One way for calls to reach the server, with callers of its own and what was measured of
/// them.</summary>
internal sealed class Way : IDisposable
{
    private readonly Worker _entrance;
    private readonly List<Worker> _callers = [];
    private readonly List<double> _rates = [];
    private readonly List<double> _cpu = [];

    /// <param name="entrance">What the callers call: the server, or what stands before it.</param>
    /// <param name="records">How many records each message has.</param>
    /// <param name="clients">How many processes call.</param>
    /// <param name="callers">How many callers each has.</param>
    public Way(Worker entrance, int records, int clients, int callers)
    {
        _entrance = entrance;
        for (int i = 0; i < clients; i++)
        {
            _callers.Add(Worker.Client(WorkerRole.Rpc, entrance.Told, records, default, callers));
        }
    }

    /// <summary>Calls in a second, the median of the rounds.</summary>
    public double Rate => ResultTable.Median(_rates);

    /// <summary>Microseconds of processor time that the entrance used for a call.</summary>
    public double Cpu => ResultTable.Median(_cpu);

    public void WarmUp(TimeSpan time) => Worker.Call(_callers, time);

    /// <summary>Measures one round.</summary>
    public void Call(TimeSpan time)
    {
        TimeSpan before = _entrance.ProcessorTime;
        double rate = Worker.Call(_callers, time);
        _rates.Add(rate);
        _cpu.Add((_entrance.ProcessorTime - before).TotalMicroseconds / (rate * time.TotalSeconds));
    }

    /// <summary>The rates of the rounds as parts of those of another way.</summary>
    public double[] RatiosTo(Way other) => [.. _rates.Zip(other._rates, (own, others) => own / others)];

    public void Dispose() => _callers.ForEach(caller => caller.Dispose());
}

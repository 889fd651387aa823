using System.Diagnostics;
using ProtoRpc.Load;

namespace ProtoRpc;

/// <summary>Measures how fast servers answer: calls a second, latencies, failures.</summary>
/// <remarks>
/// <para>Several targets are called in turns, for a second or so each time, so that other work of the machine
/// concerns all of them.</para>
/// <para>Requests are encoded before they are sent, and of replies only the size is kept, so that the
/// measurement has little of the client in it. The first reply of each target is decoded, to see that it is
/// one.</para>
/// </remarks>
public sealed class RpcLoadTest
{
    private readonly RpcLoadOptions _options;
    private readonly TargetRun[] _runs;
    private volatile TargetRun? _current;
    private volatile bool _isWarmUp;
    private long _start;
    private int _started;

    /// <summary>Prepares a test.</summary>
    /// <param name="targets">What is called; at least one.</param>
    /// <param name="options">How, and for how long.</param>
    /// <exception cref="RpcException">InvalidArgument: a value is out of range, or the test has no
    /// end.</exception>
    public RpcLoadTest(IReadOnlyList<RpcLoadTarget> targets, RpcLoadOptions options)
    {
        ArgumentNullException.ThrowIfNull(targets);
        ArgumentOutOfRangeException.ThrowIfZero(targets.Count, nameof(targets));
        ArgumentNullException.ThrowIfNull(options);
        foreach (RpcLoadTarget target in targets)
        {
            ArgumentOutOfRangeException.ThrowIfZero(target.Clients.Count, nameof(targets));
        }

        _options = options with { };
        _options.Check();
        _runs = [.. targets.Select(target => new TargetRun(target, _options))];
    }

    /// <summary>How far the test is. Any thread may ask.</summary>
    public RpcLoadProgress Progress
    {
        get
        {
            long calls = _runs.Sum(run => run.Tally.Calls);
            return new RpcLoadProgress(
                _current?.Name ?? "", _isWarmUp, calls, _runs.Sum(run => run.Tally.Failed), ShareOf(calls));
        }
    }

    /// <summary>Runs the test, once.</summary>
    /// <param name="cancellationToken">Ends the test: the results are those so far, and calls that run then
    /// do not count.</param>
    /// <returns>A result for each target, in their order. Failures of calls are in there; a target whose
    /// first call failed as all would has only an <see cref="RpcLoadResult.Error"/>.</returns>
    /// <exception cref="InvalidOperationException">It was run before.</exception>
    public async Task<IReadOnlyList<RpcLoadResult>> RunAsync(CancellationToken cancellationToken = default)
    {
        if (Interlocked.Exchange(ref _started, 1) != 0)
        {
            throw new InvalidOperationException("A load test runs once. Make a new one.");
        }

        foreach (TargetRun run in _runs)
        {
            _current = run;
            await run.CallOnceAsync(cancellationToken).ConfigureAwait(false);
        }

        _isWarmUp = _options.WarmUp > TimeSpan.Zero;
        Volatile.Write(ref _start, Stopwatch.GetTimestamp());
        if (_isWarmUp)
        {
            await ForEachAsync(_runs, run => run.WarmUpAsync(cancellationToken), cancellationToken)
                .ConfigureAwait(false);
            _isWarmUp = false;
        }

        int rounds = LoadTurns.RoundsOf(_options, _runs.Length);
        for (int i = 0; i < rounds; i++)
        {
            int round = i;
            await ForEachAsync(
                LoadTurns.InRound(_runs, round),
                run => run.MeasureAsync(round, rounds, cancellationToken),
                cancellationToken).ConfigureAwait(false);
        }

        if (cancellationToken.IsCancellationRequested)
        {
            foreach (TargetRun run in _runs)
            {
                run.Stop("The test was cancelled.");
            }
        }

        return [.. _runs.Select(run => run.ToResult())];
    }

    private async Task ForEachAsync(
        IEnumerable<TargetRun> runs, Func<TargetRun, Task> call, CancellationToken cancellation)
    {
        foreach (TargetRun run in runs)
        {
            if (!run.HasEnded && !cancellation.IsCancellationRequested)
            {
                _current = run;
                await call(run).ConfigureAwait(false);
            }
        }
    }

    // Of calls or of time, whichever comes first.
    private double ShareOf(long calls)
    {
        double ofCount = _options.Count is { } count ? calls / ((double)count * _runs.Length) : 0;
        long start = Volatile.Read(ref _start);
        double ofTime = _options.Duration is { } duration && start > 0
            ? Stopwatch.GetElapsedTime(start) / ((duration + _options.WarmUp) * _runs.Length)
            : 0;
        return Math.Clamp(Math.Max(ofCount, ofTime), 0, 1);
    }
}

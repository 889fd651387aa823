using System.Diagnostics;
using ProtoRpc.Load;

namespace ProtoRpc;

/// <summary>Measures the speed of servers: calls per second, latencies and failures.</summary>
/// <remarks>
/// <para>Several targets are called in turns of about a second, so that other load on the machine affects all
/// of them.</para>
/// <para>Requests are encoded in advance, and only the size of replies is kept, so that the client hardly
/// affects the measurement. The first reply of each target is decoded to check it.</para>
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
    /// <param name="targets">The targets; at least one.</param>
    /// <param name="options">The options.</param>
    /// <exception cref="RpcException">InvalidArgument: an option is out of range, or the test has no
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

    /// <summary>The progress of the test. Any thread may read it.</summary>
    public RpcLoadProgress Progress
    {
        get
        {
            long calls = _runs.Sum(run => run.Tally.Calls);
            return new RpcLoadProgress(
                _current?.Name ?? "", _isWarmUp, calls, _runs.Sum(run => run.Tally.Failed), ShareOf(calls));
        }
    }

    /// <summary>Runs the test. Call it only once.</summary>
    /// <param name="cancellationToken">Ends the test early. The results are those so far; running calls do
    /// not count.</param>
    /// <returns>A result for each target, in order, including the failures of calls. If a target's first call
    /// fails with an error that all calls would have, only <see cref="RpcLoadResult.Error"/> is
    /// set.</returns>
    /// <exception cref="InvalidOperationException">The test has already run.</exception>
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

    // The share of calls or of time, whichever is further.
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

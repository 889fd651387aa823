using System.Diagnostics;
using ProtoRpc.LoadTesting;

namespace ProtoRpc;

/// <summary>Measures the speed of servers: calls per second, latencies and failures.</summary>
/// <remarks>
/// <para>Several targets are called in turns of about a second, so that other load on the machine affects all
/// of them.</para>
/// <para>Requests are encoded in advance, and only the size of replies is kept, so that the client hardly
/// affects the measurement. The first reply of each target is decoded to check it.</para>
/// </remarks>
/// <example><code>
/// RpcMethodInfo method = client.GetMethod("Place");
/// RpcLoadRequests requests = RpcLoadRequests.Same(method, new { order = new { id = "o1" } });
/// RpcLoadTest test = new(
///     [new RpcLoadTarget(client, method, requests)], new RpcLoadOptions { Count = 100 });
/// RpcLoadResult result = (await test.RunAsync())[0];
/// Console.WriteLine(result.ToText());
/// </code></example>
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

    // The completed share of the calls or of the time, whichever is larger.
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

/// <summary>A target of a load test: one method at one endpoint.</summary>
/// <example><code>
/// RpcLoadTest test = new(
///     [
///         new RpcLoadTarget("old", [old], method, requests),
///         new RpcLoadTarget("new", [planned], method, requests),
///     ],
///     new RpcLoadOptions { Count = 100 });
/// IReadOnlyList&lt;RpcLoadResult> results = await test.RunAsync();
/// </code></example>
/// <param name="Name">The name in results: the endpoint, or a more descriptive name.</param>
/// <param name="Clients">The clients that the callers share; at least one. They stay open.</param>
/// <param name="Method">The method.</param>
/// <param name="Requests">The requests.</param>
public sealed record RpcLoadTarget(
    string Name, IReadOnlyList<RpcClient> Clients, RpcMethodInfo Method, RpcLoadRequests Requests)
{
    /// <summary>Creates a target with one client.</summary>
    public RpcLoadTarget(RpcClient client, RpcMethodInfo method, RpcLoadRequests requests)
        : this(client.Endpoint.ToString(), [client], method, requests)
    {
    }
}

/// <summary>The options of a load test.</summary>
/// <example><code>
/// RpcLoadOptions options = new()
/// {
///     Duration = TimeSpan.FromSeconds(30),
///     WarmUp = TimeSpan.FromSeconds(5),
///     Concurrency = 20,
/// };
/// </code></example>
public sealed record RpcLoadOptions
{
    /// <summary>The maximum number of callers per target.</summary>
    public const int MaxConcurrency = 4096;

    /// <summary>The maximum number of calls per second for a target.</summary>
    public const double MaxRate = 1_000_000;

    /// <summary>The maximum number of calls per target.</summary>
    public const long MaxCount = 10_000_000_000;

    /// <summary>The maximum of <see cref="Duration"/> and <see cref="WarmUp"/>: 24 hours.</summary>
    public static TimeSpan MaxDuration { get; } = TimeSpan.FromHours(24);

    /// <summary>How long each target is called, without the warm-up. The test waits for calls that run at the
    /// end. If <see cref="Count"/> is also set, the first limit ends the test; one of them is
    /// required.</summary>
    public TimeSpan? Duration { get; init; }

    /// <summary>The number of calls per target, without the warm-up; null for no limit.</summary>
    public long? Count { get; init; }

    /// <summary>The number of parallel callers per target, 1 to 4,096: 10. A caller makes its next call when
    /// the previous one has ended.</summary>
    public int Concurrency { get; init; } = 10;

    /// <summary>How long each target is called before its measurement begins; zero for no warm-up.</summary>
    public TimeSpan WarmUp { get; init; }

    /// <summary>The number of calls per second for each target, even if the target is slower. The latency of
    /// a call counts from the time when it was due, even if all callers were busy then. If null, each caller
    /// calls as fast as it can.</summary>
    public double? Rate { get; init; }

    /// <summary>The number of failed calls that a target may have; the next failure ends its test. If null,
    /// the test ends if the first 100 calls all fail.</summary>
    public long? MaxErrors { get; init; }

    /// <summary>The deadline, headers and other options of each call. Without a timeout, calls have 30
    /// seconds, including streaming calls.</summary>
    public RpcCallOptions? CallOptions { get; init; }

    /// <summary>Whether results contain the distribution of the latencies.</summary>
    public bool Histogram { get; init; }

    /// <exception cref="RpcException">InvalidArgument: a value is out of range.</exception>
    internal void Check()
    {
        if (Duration is null && Count is null)
        {
            throw Invalid($"A load test must end. Set {nameof(Duration)} or {nameof(Count)}, or both.");
        }

        Require(Duration is null || (Duration > TimeSpan.Zero && Duration <= MaxDuration),
            nameof(Duration), Duration, "a time over 0 and up to 24 hours");
        Require(WarmUp >= TimeSpan.Zero && WarmUp <= MaxDuration,
            nameof(WarmUp), WarmUp, "a time from 0 to 24 hours");
        Require(Count is null or (>= 1 and <= MaxCount), nameof(Count), Count, $"1 to {MaxCount:N0} calls");
        Require(Concurrency is >= 1 and <= MaxConcurrency,
            nameof(Concurrency), Concurrency, $"1 to {MaxConcurrency:N0} callers");
        Require(Rate is null or (> 0 and <= MaxRate),
            nameof(Rate), Rate, $"over 0 and up to {MaxRate:N0} calls a second");
        Require(MaxErrors is null or >= 0, nameof(MaxErrors), MaxErrors, "0 or more calls");
    }

    private static void Require(bool holds, string name, object? value, string range)
    {
        if (!holds)
        {
            throw Invalid(FormattableString.Invariant(
                $"{nameof(RpcLoadOptions)}.{name} is {value}. It must be {range}."));
        }
    }

    private static RpcException Invalid(string message) => new(
        RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidLoadTest,
        message);
}

/// <summary>The progress of a load test.</summary>
/// <param name="Target">The name of the target that is being called.</param>
/// <param name="IsWarmUp">Whether the target is warming up; these calls do not count.</param>
/// <param name="Calls">The number of completed calls of all targets.</param>
/// <param name="Failed">The number of failed calls.</param>
/// <param name="Share">The completed share of the test, 0 to 1.</param>
public readonly record struct RpcLoadProgress(
    string Target, bool IsWarmUp, long Calls, long Failed, double Share);

/// <summary>In which order the targets of a test are called.</summary>
internal static class LoadTurns
{
    private const int MinRounds = 4;
    private const int MaxRounds = 100_000;

    // Short, because the load of a machine changes within seconds; but not shorter, because each turn has a
    // start and an end.
    private static readonly TimeSpan Turn = TimeSpan.FromSeconds(1);

    /// <summary>The number of rounds for measuring each target. A single target is measured in one round,
    /// without interruptions.</summary>
    public static int RoundsOf(RpcLoadOptions options, int targets)
    {
        if (targets == 1)
        {
            return 1;
        }

        double rounds = options.Duration is { } duration
            ? Math.Clamp(Math.Round(duration / Turn), MinRounds, MaxRounds)
            : MinRounds;
        return (int)Math.Min(rounds, options.Count ?? long.MaxValue);
    }

    /// <summary>The targets of a round. Every second round is in reverse order, so that a machine that
    /// becomes slower affects all of them.</summary>
    public static IEnumerable<T> InRound<T>(IReadOnlyList<T> targets, int round) =>
        round % 2 == 0 ? targets : targets.Reverse();

    /// <summary>How many calls a part has, so that all parts together have them all.</summary>
    public static long? ShareOf(long? count, int part, int parts) => count is { } all
        ? (long)((Int128)all * (part + 1) / parts) - (long)((Int128)all * part / parts)
        : null;
}

using System.Runtime.CompilerServices;
using ProtoRpc.Client.Balancing;
using ProtoRpc.Transports;

namespace ProtoRpc.Client.Retries;

/// <summary>Makes the calls of a client, on every transport, and repeats those that its <see
/// cref="RpcRetryPolicy"/> or that of the call covers. <see cref="RetryRules"/> decides.</summary>
internal sealed class RetryPolicy
{
    private readonly RetryRules _idempotent;

    /// <param name="endpoint">The endpoint, for errors.</param>
    /// <param name="policy">The policy of calls without their own; null for no retries.</param>
    /// <param name="log">Logs the attempts that are retried; null for none.</param>
    /// <param name="trace">Receives the retries; null for none.</param>
    /// <param name="random">Returns numbers from 0 to 1 for the jitter; null for random ones.</param>
    public RetryPolicy(
        RpcEndpoint endpoint, RpcRetryPolicy? policy, ClientLog? log, RpcTrace? trace = null,
        Func<double>? random = null)
    {
        Endpoint = endpoint;
        Log = log;
        Trace = trace;
        policy ??= RpcRetryPolicy.Default with { Count = 0 };
        Rules = new(policy, policy.Idempotent, random ?? Random.Shared.NextDouble);
        _idempotent = Rules with { IsIdempotent = true };
        Budget = RetryBudget.Create(policy);
    }

    /// <summary>The endpoint, for errors.</summary>
    public RpcEndpoint Endpoint { get; }

    /// <summary>The log; null for none.</summary>
    public ClientLog? Log { get; }

    /// <summary>The trace; null for none.</summary>
    public RpcTrace? Trace { get; }

    /// <summary>The rules of attempts that are not a call, and of calls without a policy of their
    /// own.</summary>
    public RetryRules Rules { get; }

    /// <summary>The retry budget of all calls; null for none.</summary>
    public RetryBudget? Budget { get; }

    /// <summary>Makes a call. A call that has only one attempt goes straight to the channel.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public ValueTask<TReply> InvokeAsync<TWait, TReply>(
        IChannelSource source, CallSpec call, IMessage request, ReplyReader<TReply> read,
        CancellationToken cancellation)
        where TWait : struct, IWaitMode => HasOneAttempt(source, call)
            ? ((IRpcChannel)source).InvokeAsync<TWait, TReply>(call, request, read, cancellation)
            : RepeatAsync<TWait, TReply>(source, call, request, read, cancellation);

    /// <summary>Makes a call whose request is read from a stream. The time applies to each part. It is only
    /// repeated if the stream can seek back.</summary>
    public ValueTask<TReply> UploadAsync<TWait, TReply>(
        IChannelSource source, CallSpec call, Stream request, ReplyReader<TReply> read,
        CancellationToken cancellation)
        where TWait : struct, IWaitMode
    {
        if (HasOneAttempt(source, call, request.CanSeek))
        {
            return ((IRpcChannel)source).UploadAsync<TWait, TReply>(call, request, read, cancellation);
        }

        long? start = request.CanSeek ? request.Position : null;
        CallAttempts attempts = Start(
            source, call, cancellation, canRepeat: start is not null, sharesTime: false);
        return attempts.RunAsync<TWait, TReply>(() =>
        {
            if (start is { } position)
            {
                request.Position = position;
            }

            return attempts.Channel.UploadAsync<TWait, TReply>(call, request, read, cancellation);
        });
    }

    /// <summary>Begins a streaming call. A stream of requests is not repeated, because the messages that were
    /// sent are not kept.</summary>
    public IRpcStream Open(IChannelSource source, CallSpec call, CancellationToken cancellation) =>
        HasOneAttempt(source, call, canRepeat: !call.Method.IsClientStreaming)
            ? ((IRpcChannel)source).Open(call, cancellation)
            : OpenRepeated(source, call, cancellation);

    /// <summary>Starts the attempts to connect, which have no time limit of their own and take nothing from
    /// the budget.</summary>
    /// <param name="source">The channels; null if there are none.</param>
    /// <param name="cancellation">Cancels connecting.</param>
    public CallAttempts StartConnecting(IChannelSource? source, CancellationToken cancellation) =>
        new(this, source, CallClock.Start(Timeout.InfiniteTimeSpan, cancellation)) { Budget = null };

    /// <summary>Starts the attempts of a call that is not retried: one for each server, until one is
    /// reached.</summary>
    /// <param name="source">The channels.</param>
    /// <param name="timeout">The time for all attempts.</param>
    /// <param name="cancellation">Cancels the call.</param>
    public CallAttempts StartOnce(
        IChannelSource source, TimeSpan timeout, CancellationToken cancellation) =>
        new(this, source, CallClock.Start(timeout, cancellation))
        {
            Rules = Rules with { Policy = Rules.Policy with { Count = 0 } },
            Budget = null,
        };

    /// <summary>The rules of a call.</summary>
    /// <param name="options">The options of the call; null for none.</param>
    /// <param name="method">The method; null for one whose effects are not known.</param>
    /// <exception cref="RpcException">InvalidArgument: a setting of the call's policy is out of its
    /// range.</exception>
    public RetryRules RulesOf(RpcCallOptions? options, RpcMethodInfo? method)
    {
        RetryRules usual = method is { IsIdempotent: true } ? _idempotent : Rules;
        if (options?.Retry is { } own)
        {
            own.Check();
            usual = usual with
            {
                Policy = own,
                IsIdempotent = own.Idempotent || method is { IsIdempotent: true },
            };
        }

        int count = RetriesOf(options);
        return usual.Policy.Count == count
            ? usual
            : usual with { Policy = usual.Policy with { Count = count } };
    }

    private int RetriesOf(RpcCallOptions? options) =>
        options?.RetryCount ?? options?.Retry?.Count ?? Rules.Policy.Count;

    private bool HasOneAttempt(IChannelSource source, CallSpec call, bool canRepeat = true) =>
        source is not BackendPicker
        && !(canRepeat && (RetriesOf(call.Options) > 0 || call.Options is { WaitForReady: true }));

    private CallAttempts Start(
        IChannelSource source, CallSpec call, CancellationToken cancellation, bool canRepeat = true,
        bool sharesTime = true) =>
        new(this, source, call.Clock.For(cancellation))
        {
            Rules = RulesOf(call.Options, call.Method),
            Waits = call.Options is { WaitForReady: true },
            Info = call.Options?.ReplyInfo,
            Method = call.Method.FullName,
            CanRepeat = canRepeat,
            SharesTime = sharesTime,
        };

    // Separate methods, so that a call that has only one attempt allocates no closure.
    private async ValueTask<TReply> RepeatAsync<TWait, TReply>(
        IChannelSource source, CallSpec call, IMessage request, ReplyReader<TReply> read,
        CancellationToken cancellation)
        where TWait : struct, IWaitMode
    {
        using ReplayBuffer replay = new();
        CallSpec repeated = call with { Replay = replay };
        CallAttempts attempts = Start(source, call, cancellation);
        return await attempts.RunAsync<TWait, TReply>(
            () => attempts.Channel.InvokeAsync<TWait, TReply>(
                attempts.Shared(repeated), request, read, cancellation))
            .ConfigureAwait(false);
    }

    private RepeatedStream OpenRepeated(
        IChannelSource source, CallSpec call, CancellationToken cancellation)
    {
        bool isKept = !call.Method.IsClientStreaming;
        ReplayBuffer? replay = isKept ? new() : null;
        CallSpec repeated = call with { Replay = replay };
        CallAttempts attempts = Start(source, call, cancellation, isKept);
        Func<IRpcStream> open = () => attempts.Channel.Open(attempts.Shared(repeated), cancellation);
        return new RepeatedStream(
            attempts.Open(open), failure => attempts.OpenNextAsync(failure, open), replay)
        {
            Began = attempts.Succeed,
            Server = () => attempts.Endpoint,
        };
    }
}

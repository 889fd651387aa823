using System.Threading.Channels;
using ProtoRpc.PowerShell.Cmdlets;

namespace ProtoRpc.PowerShell.Calls;

/// <summary>Many calls at the same time, so many at once. What they bring is handed out on the thread that
/// starts them and waits for them, in the order in which it comes.</summary>
internal sealed class FanOut : IDisposable
{
    // A slow reader holds the calls up, so that replies do not pile up in memory.
    private const int MaxWaiting = 256;

    private readonly int _limit;
    private readonly Action<FanOutResult> _take;
    private readonly WaitProgress? _progress;
    private readonly CancellationTokenSource _end;
    private readonly Channel<FanOutResult> _results =
        Channel.CreateBounded<FanOutResult>(new BoundedChannelOptions(MaxWaiting) { SingleReader = true });

    private int _running;
    private int _started;
    private int _failed;

    /// <param name="limit">How many calls run in parallel.</param>
    /// <param name="take">Receives the results of the calls.</param>
    /// <param name="progress">Shows the progress of the calls, and is disposed when all
    /// have ended; null for none.</param>
    /// <param name="cancellation">Cancels all of them.</param>
    public FanOut(
        int limit, Action<FanOutResult> take, WaitProgress? progress, CancellationToken cancellation)
    {
        _limit = limit;
        _take = take;
        _progress = progress;
        _end = CancellationTokenSource.CreateLinkedTokenSource(cancellation);
    }

    /// <summary>How many calls there will be, where that is known.</summary>
    public int? Total { get; set; }

    /// <summary>Starts a call, when there are not too many; hands out what is there meanwhile.</summary>
    /// <exception cref="OperationCanceledException">Cancelled.</exception>
    public void Start(FanOutCall call)
    {
        while (_running >= _limit)
        {
            TakeNext();
        }

        _running++;
        _started++;
        _ = Task.Run(() => RunAsync(call));
        while (_results.Reader.TryRead(out FanOutResult result))
        {
            Take(result);
        }
    }

    /// <summary>Waits until all calls have ended.</summary>
    /// <exception cref="OperationCanceledException">Cancelled.</exception>
    public void Finish()
    {
        while (_running > 0)
        {
            TakeNext();
        }

        _progress?.Dispose();
    }

    /// <summary>Cancels what still runs.</summary>
    public void Dispose()
    {
        _end.Cancel();
        _results.Writer.TryComplete();
    }

    /// <summary>What a call failed with.</summary>
    public static RpcException ErrorOf(Exception error, CallPlace place) =>
        error as RpcException ?? new RpcException(RpcStatusCode.Internal, error.Message, error)
        {
            Endpoint = place.Endpoint,
        };

    private void TakeNext()
    {
        Task<FanOutResult> next = _results.Reader.ReadAsync(_end.Token).AsTask();
        while (_progress is not null && Task.WaitAny([next], WaitProgress.Period) < 0)
        {
            ReportProgress();
        }

        Take(next.GetAwaiter().GetResult());
        ReportProgress();
    }

    private void ReportProgress()
    {
        int ended = _started - _running;
        int total = Total ?? _started;
        _progress?.Report(() => $"{ended:N0} of {total:N0} calls ended, {_failed:N0} failed", ended, total);
    }

    private void Take(FanOutResult result)
    {
        _failed += result.IsFailure ? 1 : 0;
        if (result.IsEnd)
        {
            _running--;
        }
        else
        {
            _take(result);
        }
    }

    private async Task RunAsync(FanOutCall call)
    {
        try
        {
            RpcException? error = await SendRepliesAsync(call).ConfigureAwait(false);
            if (error is not null)
            {
                await SendAsync(new FanOutResult(call.Place, Reply: null, error, call.Row))
                    .ConfigureAwait(false);
            }

            FanOutResult end = new(call.Place, Reply: null, Error: null);
            await SendAsync(end).ConfigureAwait(false);
        }
        catch (Exception e) when (e is OperationCanceledException or ChannelClosedException)
        {
            // The wait has already ended.
        }
    }

    private async Task<RpcException?> SendRepliesAsync(FanOutCall call)
    {
        try
        {
            await foreach (object reply in call.Replies(_end.Token).ConfigureAwait(false))
            {
                await SendAsync(new FanOutResult(call.Place, reply, Error: null)).ConfigureAwait(false);
            }

            return null;
        }
        catch (Exception e) when (e is not (OperationCanceledException or ChannelClosedException))
        {
            return ErrorOf(e, call.Place);
        }
    }

    private ValueTask SendAsync(FanOutResult result) => _results.Writer.WriteAsync(result, _end.Token);
}

/// <summary>Where one of many calls goes.</summary>
/// <param name="Name">What the user calls it: a registered name, or the text of the endpoint.</param>
/// <param name="Endpoint">The endpoint; null where the text is none.</param>
/// <param name="Target">What errors are about: a connection, or the name.</param>
internal sealed record CallPlace(string Name, RpcEndpoint? Endpoint, object Target)
{
    /// <summary>The place of an open connection.</summary>
    public static CallPlace Of(RpcConnection connection) =>
        new(connection.Endpoint.ToString(), connection.Endpoint, connection);
}

/// <summary>One of many calls: where it goes, what it brings, and the pipeline object that it
/// sends.</summary>
internal sealed record FanOutCall(
    CallPlace Place, Func<CancellationToken, IAsyncEnumerable<object>> Replies, PipelineRow? Row = null)
{
    /// <summary>A call that ended before it began.</summary>
    public static FanOutCall Failed(CallPlace place, RpcException error, PipelineRow? row = null) =>
        new(place, _ => Throw(error), row);

    private static async IAsyncEnumerable<object> Throw(RpcException error)
    {
        await Task.CompletedTask.ConfigureAwait(false);
        yield return error is null ? "" : throw error;
    }
}

/// <summary>What one of many calls brought: a reply, an error, or its end.</summary>
internal readonly record struct FanOutResult(
    CallPlace Place, object? Reply, RpcException? Error, PipelineRow? Row = null)
{
    /// <summary>Whether the call brings nothing more.</summary>
    public bool IsEnd => Reply is null && Error is null;

    /// <summary>Whether the call failed.</summary>
    public bool IsFailure => Error is not null || Reply is RpcCallResult { Error: not null };
}

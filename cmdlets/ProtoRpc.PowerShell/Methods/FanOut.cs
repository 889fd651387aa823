using System.Threading.Channels;
using ProtoRpc.PowerShell.Cmdlets;

namespace ProtoRpc.PowerShell.Methods;

/// <summary>Runs many calls in parallel, up to a limit. The thread that starts the calls and waits for them
/// also receives their results, in the order in which they arrive.</summary>
internal sealed class FanOut : IDisposable
{
    // Calls wait while this many results are unread, so that replies do not pile up in memory.
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

    /// <summary>The number of calls, if it is known.</summary>
    public int? Total { get; set; }

    /// <summary>Starts a call when fewer than the limit are running. Hands out results while it
    /// waits.</summary>
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

    /// <summary>Cancels the calls that are still running.</summary>
    public void Dispose()
    {
        _end.Cancel();
        _results.Writer.TryComplete();
    }

    /// <summary>The error of a failed call.</summary>
    public static RpcException ErrorOf(Exception error, CallPlace place) =>
        error as RpcException ?? new RpcException(
            RpcStatusCode.Internal,
            error.Message, place.Endpoint, error);

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

/// <summary>The destination of one of many calls.</summary>
/// <param name="Name">The registered name, or the text of the endpoint.</param>
/// <param name="Endpoint">The endpoint; null if the text is not an endpoint.</param>
/// <param name="Target">The target object of error records: a connection, or the name.</param>
internal sealed record CallPlace(string Name, RpcEndpoint? Endpoint, object Target)
{
    /// <summary>Has the server that answers, if a connection has several; otherwise null.</summary>
    public RpcReplyInfo? Info { get; private init; }

    /// <summary>The server that answered, or the endpoint.</summary>
    public RpcEndpoint? Server => Info?.Endpoint ?? Endpoint;

    /// <summary>The place of a call over an open connection.</summary>
    public static CallPlace From(RpcConnection connection) =>
        new(connection.Endpoint.ToString(), connection.Endpoint, connection)
        {
            Info = connection.IsBalanced ? new RpcReplyInfo() : null,
        };
}

/// <summary>One of many calls: its destination, its replies, and the pipeline object that it sends.</summary>
internal sealed record FanOutCall(
    CallPlace Place, Func<CancellationToken, IAsyncEnumerable<object>> Replies, PipelineRow? Row = null)
{
    /// <summary>A call that fails before it begins.</summary>
    public static FanOutCall Failed(CallPlace place, RpcException error, PipelineRow? row = null) =>
        new(place, _ => Throw(error), row);

    private static async IAsyncEnumerable<object> Throw(RpcException error)
    {
        await Task.CompletedTask.ConfigureAwait(false);
        yield return error is null ? "" : throw error;
    }
}

/// <summary>A result of one of many calls: a reply, an error, or the end of the call.</summary>
internal readonly record struct FanOutResult(
    CallPlace Place, object? Reply, RpcException? Error, PipelineRow? Row = null)
{
    /// <summary>Whether this is the last result of the call.</summary>
    public bool IsEnd => Reply is null && Error is null;

    /// <summary>Whether the call failed.</summary>
    public bool IsFailure => Error is not null || Reply is RpcCallResult { Error: not null };
}

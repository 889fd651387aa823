using System.Threading.Channels;
using ProtoRpc.PowerShell.Cmdlets;

namespace ProtoRpc.PowerShell.Method.FanOut;

/// <summary>Many calls at the same time, so many at once. What they bring is handed out on the thread that
/// starts them and waits for them, in the order in which it comes.</summary>
internal sealed class FanOut : IDisposable
{
    // Whoever reads slowly holds the calls up, instead of having everything in memory.
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

    /// <param name="limit">How many calls run at once.</param>
    /// <param name="take">Gets what the calls bring.</param>
    /// <param name="progress">Told how far the calls are while they are waited for, and disposed of when all
    /// have ended; null for nobody.</param>
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
    public int? Total { get; init; }

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
        _failed += result.Error is null ? 0 : 1;
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
                await SendAsync(new FanOutResult(call.Connection, Reply: null, error, call.Row))
                    .ConfigureAwait(false);
            }

            FanOutResult end = new(call.Connection, Reply: null, Error: null);
            await SendAsync(end).ConfigureAwait(false);
        }
        catch (Exception e) when (e is OperationCanceledException or ChannelClosedException)
        {
            // Nobody waits any more.
        }
    }

    private async Task<RpcException?> SendRepliesAsync(FanOutCall call)
    {
        try
        {
            await foreach (object reply in call.Replies(_end.Token).ConfigureAwait(false))
            {
                await SendAsync(new FanOutResult(call.Connection, reply, Error: null)).ConfigureAwait(false);
            }

            return null;
        }
        catch (RpcException e)
        {
            return e;
        }
        catch (Exception e) when (e is not (OperationCanceledException or ChannelClosedException))
        {
            return new RpcException(RpcStatusCode.Internal, e.Message, e)
            {
                Endpoint = call.Connection.Endpoint,
            };
        }
    }

    private ValueTask SendAsync(FanOutResult result) => _results.Writer.WriteAsync(result, _end.Token);
}

/// <summary>One of many calls: over which connection, what it brings, and the pipeline object that it
/// sends.</summary>
internal sealed record FanOutCall(
    RpcConnection Connection, Func<CancellationToken, IAsyncEnumerable<object>> Replies,
    PipelineRow? Row = null);

/// <summary>What one of many calls brought: a reply, an error, or its end.</summary>
internal readonly record struct FanOutResult(
    RpcConnection Connection, object? Reply, RpcException? Error, PipelineRow? Row = null)
{
    /// <summary>Whether the call brings nothing more.</summary>
    public bool IsEnd => Reply is null && Error is null;
}

using System.Threading.Channels;

namespace ProtoRpc.PowerShell;

/// <summary>Many calls at the same time, so many at once. What they bring is handed out on the thread that
/// starts them and waits for them, in the order in which it comes.</summary>
internal sealed class FanOut : IDisposable
{
    // Whoever reads slowly holds the calls up, instead of having everything in memory.
    private const int MaxWaiting = 256;

    private readonly int _limit;
    private readonly Action<FanOutResult> _take;
    private readonly CancellationTokenSource _end;
    private readonly Channel<FanOutResult> _results =
        Channel.CreateBounded<FanOutResult>(new BoundedChannelOptions(MaxWaiting) { SingleReader = true });

    private int _running;

    /// <param name="limit">How many calls run at once.</param>
    /// <param name="take">Gets what the calls bring.</param>
    /// <param name="cancellation">Cancels all of them.</param>
    public FanOut(int limit, Action<FanOutResult> take, CancellationToken cancellation)
    {
        _limit = limit;
        _take = take;
        _end = CancellationTokenSource.CreateLinkedTokenSource(cancellation);
    }

    /// <summary>Starts a call, when there are not too many; hands out what is there meanwhile.</summary>
    /// <exception cref="OperationCanceledException">Cancelled.</exception>
    public void Start(FanOutCall call)
    {
        while (_running >= _limit)
        {
            TakeNext();
        }

        _running++;
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
    }

    /// <summary>Cancels what still runs.</summary>
    public void Dispose()
    {
        _end.Cancel();
        _results.Writer.TryComplete();
    }

    private void TakeNext() => Take(_results.Reader.ReadAsync(_end.Token).AsTask().GetAwaiter().GetResult());

    private void Take(FanOutResult result)
    {
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
                await SendAsync(new FanOutResult(call.Connection, Reply: null, error)).ConfigureAwait(false);
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

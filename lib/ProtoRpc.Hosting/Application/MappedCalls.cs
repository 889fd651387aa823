using Microsoft.AspNetCore.Http;

namespace ProtoRpc.Hosting.Application;

/// <summary>The requests to a mapped server that run now, and their end when it stops.</summary>
internal sealed class MappedCalls : IDisposable
{
    // Handlers that heed the cancellation can still answer.
    private static readonly TimeSpan Grace = TimeSpan.FromSeconds(1);

    private readonly CancellationTokenSource _ends = new();
    private readonly TaskCompletionSource _idle = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly Lock _gate = new();
    private int _running;
    private bool _isStopping;

    /// <summary>Runs a request, unless the server stops.</summary>
    /// <param name="http">The request.</param>
    /// <param name="answer">Answers it, until its token is cancelled.</param>
    public async Task RunAsync(HttpContext http, Func<CancellationToken, Task> answer)
    {
        if (!TryBegin())
        {
            await StoppingReply.SendAsync(http).ConfigureAwait(false);
            return;
        }

        try
        {
            using CancellationTokenSource aborted =
                CancellationTokenSource.CreateLinkedTokenSource(http.RequestAborted, _ends.Token);
            await answer(aborted.Token).ConfigureAwait(false);
        }
        finally
        {
            End();
        }
    }

    /// <summary>Refuses new requests, waits for running ones, and cancels them when the time is
    /// over.</summary>
    public async Task StopAsync(TimeSpan drain)
    {
        lock (_gate)
        {
            _isStopping = true;
            if (_running == 0)
            {
                return;
            }
        }

        await WaitAsync(drain).ConfigureAwait(false);
        if (!_idle.Task.IsCompleted)
        {
            await _ends.CancelAsync().ConfigureAwait(false);
            await WaitAsync(Grace).ConfigureAwait(false);
        }
    }

    public void Dispose() => _ends.Dispose();

    private async Task WaitAsync(TimeSpan time)
    {
        try
        {
            await _idle.Task.WaitAsync(time).ConfigureAwait(false);
        }
        catch (TimeoutException)
        {
        }
    }

    private bool TryBegin()
    {
        lock (_gate)
        {
            _running += _isStopping ? 0 : 1;
            return !_isStopping;
        }
    }

    private void End()
    {
        lock (_gate)
        {
            if (--_running == 0 && _isStopping)
            {
                _idle.TrySetResult();
            }
        }
    }
}

using System.Runtime.ExceptionServices;
using Google.Protobuf;

namespace ProtoRpc.Gateway;

/// <summary>Passes the messages of a call on, both ways at the same time. Each side has one message on its
/// way, so that a side which does not take more holds up the other.</summary>
/// <param name="caller">The call as it came.</param>
/// <param name="next">The call of the other server.</param>
/// <param name="client">Who makes it.</param>
/// <param name="end">Ends the next call.</param>
internal sealed class ForwardedStream(
    RpcServerStream caller, RpcStreamingCall<object, IMessage> next, RpcClient client,
    CancellationTokenSource end)
{
    private volatile ExceptionDispatchInfo? _failure;
    private Task<bool>? _begun;

    /// <summary>Sends the headers alone: the caller may wait for them before its next request. Called while
    /// <see cref="RunAsync"/> waits for the first reply.</summary>
    public void Begin() => _begun ??= TryBeginAsync();

    /// <summary>Runs until the other server has ended the call.</summary>
    /// <param name="returnHeaders">Called before each reply is passed on.</param>
    /// <returns>What failed on the side of the caller; null for nothing.</returns>
    /// <exception cref="RpcException">The other server's call failed.</exception>
    public async Task<ExceptionDispatchInfo?> RunAsync(Action returnHeaders)
    {
        // Where the other server does not want the rest of the requests, this still waits for one when the
        // call ends, and ends with the call.
        _ = SendAllAsync();
        try
        {
            while (await next.ReadAsync(CancellationToken.None).ConfigureAwait(false))
            {
                returnHeaders();
                if ((_begun is { } begun && !await begun.ConfigureAwait(false))
                    || !await TryWriteAsync(next.Current).ConfigureAwait(false))
                {
                    break;
                }
            }
        }
        catch (Exception) when (_failure is not null)
        {
            // The caller's side has ended the call.
        }
        finally
        {
            if (_begun is { } begun)
            {
                await begun.ConfigureAwait(false);
            }
        }

        return _failure;
    }

    private async Task SendAllAsync()
    {
        try
        {
            while (await caller.ReadAsync().ConfigureAwait(false) is { } request)
            {
                if (!await next.SendAsync(client.Passed(request), cancellationToken: CancellationToken.None)
                    .ConfigureAwait(false))
                {
                    return;
                }
            }

            await next.CompleteAsync(CancellationToken.None).ConfigureAwait(false);
        }
        catch (Exception e)
        {
            Fail(e);
        }
    }

    private async Task<bool> TryBeginAsync()
    {
        try
        {
            await caller.BeginAsync().ConfigureAwait(false);
            return true;
        }
        catch (Exception e)
        {
            Fail(e);
            return false;
        }
    }

    private async ValueTask<bool> TryWriteAsync(IMessage reply)
    {
        try
        {
            await caller.WriteAsync(reply).ConfigureAwait(false);
            return true;
        }
        catch (Exception e)
        {
            Fail(e);
            return false;
        }
    }

    private void Fail(Exception error)
    {
        _failure ??= ExceptionDispatchInfo.Capture(error);
        try
        {
            end.Cancel();
        }
        catch (ObjectDisposedException)
        {
            // The call ended meanwhile.
        }
    }
}

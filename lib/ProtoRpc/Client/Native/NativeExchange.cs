using System.Buffers;
using ProtoRpc.Transports;

namespace ProtoRpc.Client.Native;

/// <summary>One raw call on the client: write the request, execute, read the reply, dispose.</summary>
internal sealed class NativeExchange : IDisposable
{
    private readonly NativeClient _client;
    private ClientSlot? _slot;
    private NativeConnection? _used;
    private bool _isExecuted;

    internal NativeExchange(NativeClient client, ClientSlot slot)
    {
        _client = client;
        _slot = slot;
    }

    /// <summary>The buffer for the request, before <see cref="Execute"/>.</summary>
    public IBufferWriter<byte> Request => Slot.Request;

    /// <summary>The size of the request in bytes.</summary>
    public int RequestLength => Slot.Request.Length;

    /// <summary>The reply, after <see cref="Execute"/> and until this is disposed.</summary>
    public ReadOnlyMemory<byte> Reply => _used is { } used && _slot is not null ? used.Reply : default;

    private ClientSlot Slot => _slot ?? throw new ObjectDisposedException(nameof(NativeExchange));

    /// <summary>Connects, so that an unreachable server is reported before the request is written.</summary>
    /// <exception cref="RpcException">Unavailable, DeadlineExceeded, Cancelled, or the reason why the server
    /// rejects the client.</exception>
    internal void Connect(CallClock clock) => BlockingWait.End(Slot.GetAsync<BlockingWait>(clock));

    /// <summary>Sends the request and blocks until the reply.</summary>
    /// <param name="timeout">How long to wait, including connecting; InfiniteTimeSpan for no limit.</param>
    /// <param name="cancellation">Cancels the call on both sides.</param>
    /// <returns>The interface's return code; 0 for success.</returns>
    /// <exception cref="RpcException">The status of a fault; Unavailable if the connection broke, with <see
    /// cref="RpcException.MayHaveExecuted"/>; DeadlineExceeded; Cancelled.</exception>
    /// <exception cref="OperationCanceledException">The token is already cancelled; nothing is
    /// sent.</exception>
    public int Execute(TimeSpan timeout, CancellationToken cancellation = default) =>
        BlockingWait.End(ExecuteAsync<BlockingWait>(CallClock.Start(timeout, cancellation)));

    /// <summary>Sends the request and waits for the reply, without blocking a thread.</summary>
    public ValueTask<int> ExecuteAsync(TimeSpan timeout, CancellationToken cancellation = default) =>
        ExecuteAsync<AsyncWait>(CallClock.Start(timeout, cancellation));

    /// <summary>Sends the request and waits for the reply, including connecting.</summary>
    public async ValueTask<int> ExecuteAsync<TWait>(CallClock clock)
        where TWait : struct, IWaitMode
    {
        ClientSlot slot = BeginExecution(clock);
        while (true)
        {
            (NativeConnection connection, bool isFresh) = await slot
                .GetAsync<TWait>(clock, _client.Limits.ConnectTimeout).ConfigureAwait(false);
            try
            {
                uint? answer = await connection.ExecuteAsync<TWait>(slot.Request, clock)
                    .ConfigureAwait(false);
                if (answer is { } returnCode)
                {
                    _used = connection;
                    return (int)returnCode;
                }
            }
            catch (RpcException)
            {
                slot.Drop(connection);
                throw;
            }

            GiveUpIfFresh(slot, connection, isFresh);
        }
    }

    /// <summary>Returns the connection for later calls. If the call has not ended, closes the
    /// connection.</summary>
    public void Dispose()
    {
        if (Interlocked.Exchange(ref _slot, null) is { } slot)
        {
            _used = null;
            _client.Return(slot);
        }
    }

    private ClientSlot BeginExecution(CallClock clock)
    {
        ClientSlot slot = Slot;
        if (_isExecuted)
        {
            throw new InvalidOperationException("An exchange is executed once. Begin another one.");
        }

        _isExecuted = true;
        clock.Caller.ThrowIfCancellationRequested();
        clock.RequireTime(_client.Endpoint);
        return slot;
    }

    private void GiveUpIfFresh(ClientSlot slot, NativeConnection connection, bool isFresh)
    {
        slot.Drop(connection);

        // The server may have closed an idle connection before the request arrived. Only in this case is the
        // request sent again.
        if (isFresh)
        {
            throw CallErrors.NotSent(_client.Endpoint);
        }
    }
}

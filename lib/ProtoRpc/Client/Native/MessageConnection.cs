using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Transports;

namespace ProtoRpc.Client.Native;

/// <summary>A connection on a transport of whole messages.</summary>
/// <remarks>The system cannot cancel a call that waits for its server. So a thread of the connection makes
/// the calls. A caller that stops waiting leaves the thread behind; it ends with the call.</remarks>
internal sealed class MessageConnection : NativeConnection
{
    private readonly NativeClient _client;
    private readonly IMessageConnection _messages;
    private readonly MessageCancel _cancel;
    private readonly SemaphoreSlim _wake = new(0);
    private readonly int _maxReply;
    private MessageWork? _next;
    private MessageWork? _waiting;
    private MessageWork? _last;
    private ReadOnlyMemory<byte> _reply;
    private volatile bool _canCancel;
    private int _isClosed;
    private bool _mustClose;

    private MessageConnection(NativeClient client, IMessageTransport transport)
    {
        _client = client;
        long maxReply = client.Limits.MaxMessageBytes
            + (long)ExecStub.ResponsePrefix + ExecStub.ResponseSuffix;
        _maxReply = (int)Math.Min(Array.MaxLength, maxReply);
        _messages = transport.Open(client.Endpoint, client.InterfaceId);
        _cancel = new MessageCancel(transport, client.Endpoint);
    }

    /// <inheritdoc/>
    public override ReadOnlyMemory<byte> Reply => _reply;

    /// <summary>Connects, and waits until the server answers.</summary>
    /// <exception cref="RpcException">Unavailable, DeadlineExceeded, Cancelled, Unimplemented,
    /// PermissionDenied, ResourceExhausted.</exception>
    public static async ValueTask<NativeConnection> ReachAsync<TWait>(
        NativeClient client, IMessageTransport transport, CallClock clock)
        where TWait : struct, IWaitMode
    {
        if (client.IsStuck)
        {
            throw CallErrors.AllStuck(client.Endpoint, client.Limits.MaxClientConnections);
        }

        MessageConnection connection = new(client, transport);
        try
        {
            connection.StartThread();
            MessageWork work = new(connection.Reach);
            if (!await connection.RunAsync<TWait>(work, clock).ConfigureAwait(false))
            {
                throw clock.Caller.IsCancellationRequested || work.IsInterrupted
                    ? EndpointErrors.ConnectCancelled(client.Endpoint)
                    : EndpointErrors.ConnectTimedOut(client.Endpoint, clock.Timeout);
            }

            return work.Failure is not null || work.Status != 0
                ? throw MessageFailures.NotReached(client, work)
                : connection;
        }
        catch
        {
            connection.Dispose();
            throw;
        }
    }

    /// <inheritdoc/>
    public override bool IsUsable() => !_mustClose;

    /// <inheritdoc/>
    public override void CancelCall() => Volatile.Read(ref _waiting)?.Interrupt();

    /// <inheritdoc/>
    public override void Release()
    {
        _reply = default;
        _last?.Release();
        _last = null;
    }

    /// <inheritdoc/>
    public override void Dispose()
    {
        if (Interlocked.Exchange(ref _isClosed, 1) == 0)
        {
            Release();
            _wake.Release();
        }
    }

    protected override ValueTask<uint?> Execute(PooledMessageBytes request, CallClock clock) =>
        CallAsync<BlockingWait>(request, clock);

    protected override ValueTask<uint?> ExecuteAsync(PooledMessageBytes request, CallClock clock) =>
        CallAsync<AsyncWait>(request, clock);

    private async ValueTask<uint?> CallAsync<TWait>(PooledMessageBytes request, CallClock clock)
        where TWait : struct, IWaitMode
    {
        Release();
        ExecStub.WriteRequestPrefix(request.Whole.Span[PduHeader.CallSize..], request.Length);
        MessageWork work = new(request, _maxReply, _canCancel ? Guid.NewGuid() : Guid.Empty);
        if (!await RunAsync<TWait>(work, clock).ConfigureAwait(false))
        {
            throw work.IsInterrupted
                ? CallErrors.Cancelled(_client.Endpoint, work.IsSent)
                : clock.Ended(_client.Endpoint, work.IsSent, isLate: true)!;
        }

        _last = work;
        if (work.Failure is not null || work.Status != 0 || work.IsReplyTooLarge)
        {
            _mustClose = true;
            return MessageFailures.OfCall(_client, work) is { } failure ? throw failure : null;
        }

        if (!ExecStub.TryReadResponse(
            work.Reply, work.IsLittleEndian, allowTrailing: true, out _reply, out uint returnCode))
        {
            _mustClose = true;
            throw NativeFault.BrokenProtocol(
                _client.Endpoint, "its reply cannot be decoded as the result of Exec", mayHaveExecuted: true);
        }

        return returnCode;
    }

    // Returns false if the work was abandoned.
    private async ValueTask<bool> RunAsync<TWait>(MessageWork work, CallClock clock)
        where TWait : struct, IWaitMode
    {
        Volatile.Write(ref _waiting, work);
        if (_client.IsDisposed)
        {
            work.Interrupt();
        }

        Volatile.Write(ref _next, work);
        _wake.Release();
        if (typeof(TWait) == typeof(BlockingWait))
        {
            Block(work.Ended, clock);
        }
        else
        {
            await work.Ended.WaitAsync(clock.Left, clock.Caller)
                .ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }

        Volatile.Write(ref _waiting, null);
        if (!work.TryGiveUp())
        {
            return true;
        }

        _mustClose = true;
        _client.BeginGivenUp();
        if (work.IsSent && work.CallId != Guid.Empty)
        {
            _cancel.Begin(work);
        }

        return false;
    }

    private uint Reach(IMessageConnection messages)
    {
        uint status = messages.Reach();
        _canCancel = status == 0 && _cancel.IsOffered();
        return status;
    }

    private static void Block(Task ended, CallClock clock)
    {
        try
        {
            ended.Wait(clock.IsEndless ? Timeout.Infinite : (int)clock.Left.TotalMilliseconds, clock.Caller);
        }
        catch (OperationCanceledException)
        {
            // The work is abandoned, unless it has just ended.
        }
    }

    private void StartThread()
    {
        try
        {
            new Thread(Work) { IsBackground = true, Name = "ProtoRpc messages" }.Start();
        }
        catch (OutOfMemoryException)
        {
            _messages.Dispose();
            throw;
        }
    }

    private void Work()
    {
        using IMessageConnection messages = _messages;
        while (true)
        {
            _wake.Wait();
            if (Interlocked.Exchange(ref _next, null) is not { } work)
            {
                return;
            }

            if (!work.Run(messages))
            {
                _client.EndGivenUp();
                return;
            }
        }
    }
}

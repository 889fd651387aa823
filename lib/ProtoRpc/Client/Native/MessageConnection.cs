using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Transports;

namespace ProtoRpc.Client.Native;

/// <summary>A connection on a transport of whole messages.</summary>
/// <remarks>The system cannot cancel a call that waits for its server. So a thread of the connection makes
/// the calls. If a caller stops waiting, the thread is abandoned and ends with the call.</remarks>
internal sealed class MessageConnection : NativeConnection
{
    private readonly NativeConnectionPool _client;
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

    private MessageConnection(NativeConnectionPool client, IMessageTransport transport)
    {
        _client = client;
        long maxReply = client.Limits.MaxMessageBytes
            + (long)ExecStub.ResponsePrefix + ExecStub.ResponseSuffix;
        _maxReply = (int)Math.Min(Array.MaxLength, maxReply);
        _messages = transport.Open(client.Endpoint, client.InterfaceId);
        _cancel = new MessageCancel(transport, client.Endpoint);
    }

    public override ReadOnlyMemory<byte> Reply => _reply;

    /// <summary>Connects, and waits until the server replies.</summary>
    /// <exception cref="RpcException">Unavailable, DeadlineExceeded, Cancelled, Unimplemented,
    /// PermissionDenied, ResourceExhausted.</exception>
    public static async ValueTask<NativeConnection> ReachAsync<TWait>(
        NativeConnectionPool client, IMessageTransport transport, CallClock clock)
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

    public override bool IsUsable() => !_mustClose;

    public override void CancelCall() => Volatile.Read(ref _waiting)?.Interrupt();

    public override void Release()
    {
        _reply = default;
        _last?.Release();
        _last = null;
    }

    public override void Dispose()
    {
        if (Interlocked.Exchange(ref _isClosed, 1) == 0)
        {
            Release();
            _wake.Release();
        }
    }

    /// <inheritdoc cref="DceConnection.CallAsync"/>
    public async ValueTask<uint?> CallAsync<TWait>(PooledMessageBytes request, CallClock clock)
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
            // The caller stops waiting. If the work has just ended, its result is used.
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

/// <summary>One task for the thread of a <see cref="MessageConnection"/>: to connect, or to make a
/// call.</summary>
/// <remarks>The caller may give it up. After that, the thread does not touch the caller's memory.</remarks>
/// <param name="request">The request, after a prefix for its PDU.</param>
/// <param name="maxReply">Octets of the largest stub that is taken as the reply.</param>
/// <param name="callId">The id of the call; empty if the server does not cancel calls.</param>
internal sealed class MessageWork(PooledMessageBytes? request, int maxReply, Guid callId) : IOutgoingMessage
{
    private readonly Func<IMessageConnection, uint>? _reach;
    private readonly Lock _gate = new();
    private readonly TaskCompletionSource _ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly int _end = ExecStub.RequestPrefix + (request?.Length ?? 0);
    private byte[] _reply = [];
    private int _replyLength;
    private bool _isGivenUp;
    private volatile bool _hasEnded;

    /// <summary>Connects.</summary>
    /// <param name="reach">Blocks until it has, and returns 0 or the status of the system.</param>
    public MessageWork(Func<IMessageConnection, uint> reach)
        : this(request: null, maxReply: 0, callId: Guid.Empty)
    {
        _reach = reach;
    }

    /// <summary>The id of the call.</summary>
    public Guid CallId => callId;

    /// <summary>Completes when the work ends, or when the caller stops waiting; never fails.</summary>
    public Task Ended => _ended.Task;

    /// <summary>Whether the work has ended, even if its caller did not wait for it.</summary>
    public bool HasEnded => _hasEnded;

    /// <summary>0, or the status of the system.</summary>
    public uint Status { get; private set; }

    /// <summary>The exception of the work; null for none.</summary>
    public Exception? Failure { get; private set; }

    /// <summary>Whether the server may have received the request.</summary>
    public bool IsSent { get; private set; }

    /// <summary>Whether another thread ended the wait.</summary>
    public bool IsInterrupted { get; private set; }

    /// <summary>Whether the reply was too large and was discarded.</summary>
    public bool IsReplyTooLarge { get; private set; }

    /// <summary>The byte order of the reply.</summary>
    public bool IsLittleEndian { get; private set; }

    /// <summary>The stub of the reply, until <see cref="Release"/>.</summary>
    public ReadOnlyMemory<byte> Reply => _reply.AsMemory(0, _replyLength);

    public int Length => _end + (callId == Guid.Empty ? 0 : CancelStub.TrailerSize);

    /// <summary>Does the work, and blocks the thread.</summary>
    /// <returns>False if it was abandoned.</returns>
    public bool Run(IMessageConnection connection)
    {
        try
        {
            Status = _reach is not null ? _reach(connection) : connection.Call(this);
        }
        catch (Exception e)
        {
            Failure = e;
        }

        lock (_gate)
        {
            _hasEnded = true;
        }

        _ended.TrySetResult();
        return !_isGivenUp;
    }

    /// <summary>Ends the caller's wait. Call it from any thread.</summary>
    public void Interrupt()
    {
        IsInterrupted = true;
        _ended.TrySetResult();
    }

    /// <summary>Abandons the work, unless it has ended.</summary>
    public bool TryGiveUp()
    {
        lock (_gate)
        {
            _isGivenUp = !_hasEnded;
            return _isGivenUp;
        }
    }

    public bool TryWrite(Span<byte> stub)
    {
        lock (_gate)
        {
            if (_isGivenUp)
            {
                return false;
            }

            request!.Whole.Span.Slice(PduHeader.CallSize, _end).CopyTo(stub);
            if (callId != Guid.Empty)
            {
                CancelStub.WriteTrailer(stub[_end..], callId);
            }

            IsSent = true;
            return true;
        }
    }

    public void Take(ReadOnlySpan<byte> stub, bool isLittleEndian)
    {
        if (stub.Length > maxReply)
        {
            IsReplyTooLarge = true;
            return;
        }

        _reply = ArrayPool<byte>.Shared.Rent(stub.Length);
        _replyLength = stub.Length;
        stub.CopyTo(_reply);
        IsLittleEndian = isLittleEndian;
    }

    /// <summary>Frees the reply.</summary>
    public void Release()
    {
        byte[] reply = _reply;
        _reply = [];
        _replyLength = 0;
        if (reply.Length > 0)
        {
            ArrayPool<byte>.Shared.Return(reply);
        }
    }
}

/// <summary>Asks a ProtoRpc server to cancel calls that their callers abandoned.</summary>
internal sealed class MessageCancel(IMessageTransport transport, RpcEndpoint endpoint)
{
    // The server may not have begun the call yet, and rejects the cancellation of an unknown call: try again.
    private const int Tries = 8;
    private static readonly TimeSpan FirstPause = TimeSpan.FromMilliseconds(10);

    /// <summary>Whether the server can cancel calls; blocks until it has replied.</summary>
    public bool IsOffered() => Ask(Guid.Empty);

    /// <summary>Begins to cancel an abandoned call.</summary>
    public void Begin(MessageWork work)
    {
        try
        {
            // Cancelling blocks the thread until the server replies.
            new Thread(() => Cancel(work)) { IsBackground = true, Name = "ProtoRpc cancel" }.Start();
        }
        catch (OutOfMemoryException)
        {
            // No thread can be started: the call ends when its handler returns.
        }
    }

    private void Cancel(MessageWork work)
    {
        try
        {
            TimeSpan pause = FirstPause;
            for (int i = 0; i < Tries && !work.HasEnded && !Ask(work.CallId); i++)
            {
                Thread.Sleep(pause);
                pause *= 2;
            }
        }
        catch (Exception)
        {
            // An exception of this thread would end the process. The call ends with its handler.
        }
    }

    private bool Ask(Guid call)
    {
        try
        {
            using IMessageConnection connection = transport.Open(endpoint, CancelStub.InterfaceId);
            Request request = new(call);
            return connection.Call(request) == 0 && request.IsAccepted;
        }
        catch (RpcException)
        {
            return false;
        }
    }

    private sealed class Request(Guid call) : IOutgoingMessage
    {
        public bool IsAccepted { get; private set; }

        public int Length => CancelStub.RequestSize;

        public bool TryWrite(Span<byte> stub)
        {
            CancelStub.WriteRequest(stub, call);
            return true;
        }

        // A server chooses the size of its reply. An answer has no payload.
        public void Take(ReadOnlySpan<byte> stub, bool isLittleEndian) =>
            IsAccepted = stub.Length <= CancelStub.ResponseSize
                && ExecStub.TryReadResponse(
                    stub.ToArray(), isLittleEndian, allowTrailing: true, out _, out uint code)
                && code == 0;
    }
}

/// <summary>Converts the errors of a transport of whole messages to exceptions.</summary>
internal static class MessageFailures
{
    /// <summary>The error for a server that cannot be reached, or that rejects the client.</summary>
    public static Exception NotReached(NativeConnectionPool client, MessageWork work)
    {
        RpcEndpoint endpoint = client.Endpoint;
        return work.Failure ?? work.Status switch
        {
            WindowsStatus.ServerUnavailable or WindowsStatus.EndpointNotRegistered =>
                EndpointErrors.NoSuchName(endpoint, "this machine"),
            WindowsStatus.UnknownInterface => BindRefusal.OfContext(
                endpoint, client.InterfaceId, client.InterfaceName,
                ContextResult.Refused(ContextResult.InterfaceNotSupported)),
            WindowsStatus.AccessDenied => new RpcException(
                RpcStatusCode.PermissionDenied,
                $"This account may not connect to '{endpoint}': only the account that listens may connect.")
            {
                Endpoint = endpoint,
                NativeStatus = work.Status,
            },
            _ => NativeFault.ToException(endpoint, work.Status, mayHaveExecuted: false),
        };
    }

    /// <summary>The error of a call.</summary>
    /// <returns>Null if the server cannot have received the request, so that it can be sent again.</returns>
    public static Exception? OfCall(NativeConnectionPool client, MessageWork work)
    {
        RpcEndpoint endpoint = client.Endpoint;
        if (work.Failure is { } failure)
        {
            return failure;
        }

        return work.IsReplyTooLarge
            ? CallErrors.ReplyTooLarge(endpoint, client.Limits.MaxMessageBytes)
            : work.Status switch
            {
                WindowsStatus.CallFailedDidNotExecute => null,
                WindowsStatus.ServerUnavailable when !work.IsSent => null,
                WindowsStatus.UnknownInterface or WindowsStatus.AccessDenied => NotReached(client, work),
                // ServerUnavailable for a sent request can also be the failure of a handler in another
                // program.
                WindowsStatus.CallFailed or WindowsStatus.ServerUnavailable when work.IsSent
                    => CallErrors.ConnectionLost(
                        endpoint, NativeFault.ToException(endpoint, work.Status, mayHaveExecuted: true)),
                _ => NativeFault.ToException(endpoint, work.Status, mayHaveExecuted: work.IsSent),
            };
    }
}

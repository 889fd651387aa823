using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Transports;
using ProtoRpc.Transports.Http;
using ProtoRpc.Transports.Tls;

namespace ProtoRpc.Client.Native;

/// <summary>A connection over a byte stream, bound to an interface.</summary>
internal sealed class DceConnection : NativeConnection
{
    private readonly Lock _gate = new();
    private readonly NativeConnectionPool _client;
    private readonly TransportConnection _transport;
    private readonly ClientAssociation _association;
    private readonly Timer _timer;
    private long _timerDue = long.MaxValue;
    private long _deadline;
    private long _lastUse;
    private uint _sentCall;
    private bool _inCall;
    private bool _mustClose;
    private bool _isServerChecked;
    private RpcStatusCode _ended;
    private CallClock _clock;

    private DceConnection(NativeConnectionPool client, TransportConnection transport)
    {
        _client = client;
        _transport = transport;
        _association = new ClientAssociation(client.Endpoint, client.InterfaceId, client.Limits)
        {
            InterfaceName = client.InterfaceName,
            DebugLog = client.Log is { } log ? log.Tolerate : null,
            Trace = client.Trace,
            Security = client.Login is { } login ? new ClientSecurity(client.Endpoint, login) : null,
        };
        _timer = new Timer(
            static state => ((DceConnection)state!).OnTimer(), this, Timeout.Infinite, Timeout.Infinite);
    }

    public override ReadOnlyMemory<byte> Reply => _association.Reply;

    public override uint AssociationGroup => _association.AssociationGroup;

    public static async ValueTask<NativeConnection> BindAsync<TWait>(
        NativeConnectionPool client, CallClock clock)
        where TWait : struct, IWaitMode
    {
        DceConnection connection = await TWait.RunAsync(() => Dial(client, clock)).ConfigureAwait(false);
        using BindProbe probe = connection.NewProbe();
        try
        {
            connection.CheckServer();
            using (connection.Watch(clock))
            {
                await connection.BindAsync<TWait>().ConfigureAwait(false);
            }
        }
        catch (Exception e)
        {
            connection.Dispose();
            throw connection.BindFailure(e, probe);
        }

        // The deadline may pass at the moment when the reply arrives.
        if (connection.EndWatch() is var ended && ended != RpcStatusCode.OK)
        {
            connection.Dispose();
            throw ended == RpcStatusCode.Cancelled
                ? CallErrors.Cancelled(client.Endpoint, sent: false)
                : clock.TimedOut(client.Endpoint, sent: false);
        }

        return connection;
    }

    public override bool IsUsable()
    {
        // Checked only after a pause: between the calls of a busy caller, the system call would cost too
        // much.
        const long RestMilliseconds = 1;
        Span<byte> one = stackalloc byte[1];
        return !_mustClose
            && (Environment.TickCount64 - _lastUse <= RestMilliseconds || _transport.Peek(one) < 0);
    }

    public override void Release() => _association.EndCall();

    public override void Dispose()
    {
        _timer.Dispose();
        _transport.Dispose();
        _association.Dispose();
    }

    /// <summary>Sends a request and waits for its reply.</summary>
    /// <returns>The return code; null if the connection broke before the server can have received the
    /// request.</returns>
    /// <exception cref="RpcException">The call failed; the connection must then be closed.</exception>
    public async ValueTask<uint?> CallAsync<TWait>(PooledMessageBytes request, CallClock clock)
        where TWait : struct, IWaitMode
    {
        try
        {
            CheckServer();
            using (Watch(clock))
            {
                if (_client.IsDisposed)
                {
                    // Dispose looked for a running call before this call began, so it did not cancel it.
                    CancelCall();
                }

                // Not in methods of their own, because each async method costs every call time and memory.
                _association.BeginCall(request);
                while (_association.TryTakeOutput(out ReadOnlyMemory<byte> bytes))
                {
                    await TWait.SendAsync(_transport, bytes).ConfigureAwait(false);
                }

                Volatile.Write(ref _sentCall, _association.CallId);
                while (!Reached(ClientStep.Reply))
                {
                    Receive(await TWait.ReceiveAsync(_transport, _association.GetFreeMemory())
                        .ConfigureAwait(false));
                }
            }

            uint returnCode = _association.ReturnCode;
            EndCall();
            return returnCode;
        }
        catch (Exception e) when (TransportConnection.IsBroken(e))
        {
            FailCall(e, sent: _sentCall != 0);
            return null;
        }
        catch (RpcException)
        {
            // Many servers close the connection after a fault, immediately or a little later. The next call
            // would fail on it.
            EndCall();
            _mustClose = true;
            throw;
        }
    }

    // The account that listens on a name may have changed, so each connection is checked.
    private void CheckServer()
    {
        if (_client.ChecksServer && !_isServerChecked)
        {
            _transport.RequireServer(_client.Endpoint, _client.ServerUser);
            _isServerChecked = true;
        }
    }

    private static DceConnection Dial(NativeConnectionPool client, CallClock clock)
    {
        TransportConnection transport = NativeTransports.Get(client.Endpoint).Connect(
            client.Endpoint, client.ServerUser, clock.Timeout, clock.Caller);
        if (client.Tls is { } tls)
        {
            transport = TlsConnection.ForClient(transport, client.Endpoint, tls);
        }

        try
        {
            return new DceConnection(client, transport);
        }
        catch
        {
            transport.Dispose();
            throw;
        }
    }

    // Sends the bind and the tokens that authenticate the client, and receives the answers.
    private async ValueTask BindAsync<TWait>()
        where TWait : struct, IWaitMode
    {
        await TWait.SendAsync(_transport, _association.Bind(_client.AssociationGroup)).ConfigureAwait(false);
        while (true)
        {
            bool isReached = Reached(ClientStep.Bound);
            while (_association.TryTakeOutput(out ReadOnlyMemory<byte> bytes))
            {
                await TWait.SendAsync(_transport, bytes).ConfigureAwait(false);
            }

            if (isReached)
            {
                return;
            }

            Receive(await TWait.ReceiveAsync(_transport, _association.GetFreeMemory()).ConfigureAwait(false));
        }
    }

    private void Receive(int count)
    {
        if (count == 0)
        {
            throw new IOException("the peer closed the connection");
        }

        _association.Advance(count);
    }

    private bool Reached(ClientStep wanted)
    {
        ClientStep step = _association.Step();
        while (step == ClientStep.Shutdown)
        {
            // The server is shutting down: its reply may follow, or be in the same read. The next call uses
            // another connection.
            _mustClose = true;
            step = _association.Step();
        }

        switch (step)
        {
            case ClientStep.Fault:
                throw _association.FaultToException();
            case ClientStep.Receive or ClientStep.Send:
                return false;
            default:
                return step == wanted;
        }
    }

    // Begins to watch the deadline and the token. If the timer fires early enough, it is not changed, and
    // checks the deadline when it fires. So a busy caller rarely sets the timer.
    private CancellationTokenRegistration Watch(CallClock clock)
    {
        long now = Environment.TickCount64;
        long deadline = clock.IsEndless
            ? long.MaxValue
            : now + (long)Math.Ceiling(clock.Left.TotalMilliseconds);
        lock (_gate)
        {
            _inCall = true;
            _ended = RpcStatusCode.OK;
            _sentCall = 0;
            _clock = clock;
            _deadline = deadline;
            if (_deadline < _timerDue)
            {
                SetTimer(now);
            }
        }

        return clock.Caller.UnsafeRegister(static state => ((DceConnection)state!).CancelCall(), this);
    }

    private void SetTimer(long now)
    {
        _timerDue = _deadline;
        _timer.Change(Math.Clamp(_deadline - now, 0, int.MaxValue), Timeout.Infinite);
    }

    private void OnTimer()
    {
        lock (_gate)
        {
            _timerDue = long.MaxValue;
            if (!_inCall || _deadline == long.MaxValue || _ended != RpcStatusCode.OK)
            {
                return;
            }

            long now = Environment.TickCount64;
            if (now < _deadline)
            {
                SetTimer(now);
                return;
            }

            _ended = RpcStatusCode.DeadlineExceeded;
        }

        CutOff();
    }

    public override void CancelCall()
    {
        lock (_gate)
        {
            if (!_inCall || _ended != RpcStatusCode.OK)
            {
                return;
            }

            _ended = RpcStatusCode.Cancelled;
        }

        CutOff();
    }

    // Cancels the call on the server, and wakes the thread that waits for it here.
    private void CutOff()
    {
        uint call = Volatile.Read(ref _sentCall);
        if (call != 0)
        {
            _transport.TrySendNow(PduHeader.HeaderOnly(PduType.Orphaned, call));
        }

        _transport.Abort();
    }

    private RpcStatusCode EndWatch()
    {
        lock (_gate)
        {
            _inCall = false;
            _lastUse = Environment.TickCount64;
            _mustClose |= _ended != RpcStatusCode.OK;
            return _ended;
        }
    }

    // If data is left after the call, the connection is out of step and is closed.
    private void EndCall()
    {
        EndWatch();
        _mustClose |= _association.HasInput;
    }

    private void FailCall(Exception cause, bool sent)
    {
        RpcStatusCode ended = EndWatch();
        _mustClose = true;
        RpcEndpoint endpoint = _client.Endpoint;
        if (ended != RpcStatusCode.OK)
        {
            throw ended == RpcStatusCode.Cancelled
                ? CallErrors.Cancelled(endpoint, sent)
                : _clock.TimedOut(endpoint, sent);
        }

        if (sent)
        {
            throw CallErrors.ConnectionLost(endpoint, cause);
        }

        ReadFaultOfUnsentCall();
    }

    // A server that rejects a request halfway sends a fault before it closes.
    private void ReadFaultOfUnsentCall()
    {
        try
        {
            Span<byte> one = stackalloc byte[1];
            while (_transport.Peek(one) > 0 && !Reached(ClientStep.Reply))
            {
                Receive(_transport.Receive(_association.GetFreeMemory()));
            }

            Reached(ClientStep.Reply);
        }
        catch (Exception e) when (TransportConnection.IsBroken(e))
        {
            // The server closed without a fault.
        }
    }

    private BindProbe NewProbe() => new(_client.Endpoint, _client.Tls is not null, _transport.Abort);

    private Exception BindFailure(Exception e, BindProbe probe)
    {
        RpcStatusCode ended = EndWatch();
        RpcEndpoint endpoint = _client.Endpoint;
        if (probe.Explain(e, isOver: ended != RpcStatusCode.OK) is { } other)
        {
            return other;
        }

        return ended switch
        {
            RpcStatusCode.Cancelled => EndpointErrors.ConnectCancelled(endpoint, e),
            RpcStatusCode.DeadlineExceeded => CallErrors.BindTimedOut(endpoint, _clock.Timeout),
            _ => TransportConnection.IsBroken(e) ? CallErrors.BindLost(endpoint, _client.Tls, e) : e,
        };
    }
}

/// <summary>Finds out why a server on TCP does not reply to a bind. For example, an HTTP server waits for the
/// end of a line, and would only reply when the connect timeout has passed.</summary>
internal sealed class BindProbe : IDisposable
{
    private static readonly TimeSpan SilentAfter = TimeSpan.FromMilliseconds(500);

    private readonly RpcEndpoint _endpoint;
    private readonly bool _isOfUse;
    private readonly CancellationTokenSource _end = new();
    private readonly Action _abort;
    private readonly Timer? _timer;
    private volatile RpcException? _found;

    /// <param name="endpoint">The server.</param>
    /// <param name="hasTls">Whether the connection uses TLS. Servers without TLS reject that
    /// immediately.</param>
    /// <param name="abort">Ends the wait for the reply.</param>
    public BindProbe(RpcEndpoint endpoint, bool hasTls, Action abort)
    {
        _endpoint = endpoint;
        _abort = abort;
        _isOfUse = endpoint.Kind.HasPort && !hasTls;
        if (_isOfUse)
        {
            _timer = new Timer(
                static state => _ = ((BindProbe)state!).AskAsync(), this, SilentAfter,
                Timeout.InfiniteTimeSpan);
        }
    }

    /// <summary>The protocol that the server uses instead, if it can be found out; otherwise null.</summary>
    /// <param name="failure">Why the bind failed.</param>
    /// <param name="isOver">Whether no time is left to probe.</param>
    public RpcException? Explain(Exception failure, bool isOver)
    {
        bool isOther =
            TransportConnection.IsBroken(failure) || failure is RpcException
            { ErrorId: RpcErrorIds.ProtocolError };
        if (_found is null && _isOfUse && isOther && !isOver)
        {
            FindAsync().GetAwaiter().GetResult();
        }

        return _found;
    }

    public void Dispose()
    {
        _timer?.Dispose();
        _end.Cancel();
    }

    private async Task AskAsync()
    {
        await FindAsync().ConfigureAwait(false);
        if (_found is not null && !_end.IsCancellationRequested)
        {
            _abort();
        }
    }

    private async Task FindAsync()
    {
        SpokenProtocol found = await ProtocolProbe.FindAsync(_endpoint, _end.Token).ConfigureAwait(false);
        if (found is not (SpokenProtocol.Unknown or SpokenProtocol.Native))
        {
            _found = WrongProtocolErrors.Other(_endpoint, found, null);
        }
    }
}

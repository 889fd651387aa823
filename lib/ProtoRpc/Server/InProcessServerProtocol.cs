using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Security.Principal;
using System.Threading.Channels;
using ProtoRpc.Messages;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Native;
using ProtoRpc.Server;
using ProtoRpc.Server.Calls;
using ProtoRpc.Server.Native;
using ProtoRpc.Transports;

[assembly: ServerProtocol<InProcessServerProtocol>]

namespace ProtoRpc.Server;

/// <summary>Serves methods to clients of the same process, without a socket.</summary>
internal sealed class InProcessServerProtocol : IServerProtocol
{
    public bool Serves(EndpointKindAttribute kind) => kind.Transport == RpcTransport.InProcess;

    public IServedEndpoint Bind(RpcEndpoint endpoint, ServerHost host)
    {
        InProcessListener listener = new(endpoint, host);
        return InProcessNames.TryTake(endpoint.Name, listener)
            ? listener
            : throw EndpointErrors.InUse(endpoint);
    }
}

/// <summary>A name of this process under which a server listens.</summary>
internal sealed class InProcessListener(RpcEndpoint endpoint, ServerHost host)
    : IServedEndpoint, IInProcessServer
{
    private readonly Dictionary<string, (ServerService Service, BuiltInMethods BuiltIns)> _services =
        host.Services.Append(ServerPing.ServiceOf(host))
            .DistinctBy(service => service.Info.FullName)
            .ToDictionary(
                service => service.Info.FullName,
                service => (service, new BuiltInMethods(host, service)));

    private readonly CancellationTokenSource _stopped = new();
    private readonly TaskCompletionSource _drained = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly Lock _gate = new();
    private int _connections;
    private int _running;
    private long _accepted;

    public RpcEndpoint Endpoint => endpoint;

    public ServerHost Host => host;

    public int Connections => Volatile.Read(ref _connections);

    public long Accepted => Volatile.Read(ref _accepted);

    public bool IsStopping { get; private set; }

    public CancellationToken Stopped => _stopped.Token;

    public IReadOnlyList<RpcServiceInfo> Services => [.. host.Services.Select(service => service.Info)];

    /// <summary>The caller of every call: the user of this process.</summary>
    public PeerIdentity Peer { get; } = new(IdentityOfProcess(), "", Environment.ProcessId, IsLocal: true)
    {
        ProtectionLevel = RpcProtectionLevel.Privacy,
    };

    public IInProcessConnection Connect()
    {
        lock (_gate)
        {
            if (IsStopping)
            {
                throw CallErrors.NotSent(endpoint);
            }

            if (_connections >= host.Options.Limits.MaxConnections)
            {
                throw new RpcException(
                    RpcStatusCode.ResourceExhausted,
                    $"'{endpoint}' has {_connections} clients, which is its limit "
                    + $"({nameof(RpcLimits)}.{nameof(RpcLimits.MaxConnections)}). Close some.", endpoint);
            }

            _connections++;
            _accepted++;
            return new Connection(this);
        }
    }

    public ServerMethod Find(string service, string method, out RpcSchema schema)
    {
        if (!_services.TryGetValue(service, out (ServerService Service, BuiltInMethods BuiltIns) served))
        {
            throw new RpcException(
                RpcStatusCode.Unimplemented,
                $"'{endpoint}' does not serve '{service}'. It serves "
                + $"{string.Join(", ", host.Services.Select(s => s.Info.FullName))}.");
        }

        schema = served.Service.Info.Schema;
        return BuiltInNames.Has(method) ? served.BuiltIns.Get(method) : served.Service.Get(method);
    }

    /// <summary>The method of a call that may run on the thread of its caller; null for another
    /// call.</summary>
    public ServerMethod? FindHere(InProcessExchange exchange) =>
        _services.TryGetValue(exchange.Service, out (ServerService Service, BuiltInMethods BuiltIns) served)
        && served.Service.GetOrNull(exchange.Method) is { } method
        && (method.EndsAtOnce || (exchange.CanRunHere && !host.Options.UsesOwnThreads))
            ? method
            : null;

    public async Task StopAsync(TimeSpan drain)
    {
        InProcessNames.Release(endpoint.Name, this);
        lock (_gate)
        {
            IsStopping = true;
            if (_running == 0)
            {
                _drained.TrySetResult();
            }
        }

        await _drained.Task.WaitAsync(drain).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        await _stopped.CancelAsync().ConfigureAwait(false);
    }

    private static IIdentity IdentityOfProcess()
    {
        if (!OperatingSystem.IsWindows())
        {
            return new GenericIdentity(Environment.UserName, UnixPeer.AuthenticationType);
        }

        using WindowsIdentity process = WindowsIdentity.GetCurrent();
        return new WindowsIdentity(process.Token, UnixPeer.AuthenticationType);
    }

    private bool TryEnter()
    {
        lock (_gate)
        {
            _running += IsStopping ? 0 : 1;
            return !IsStopping;
        }
    }

    private void Leave()
    {
        lock (_gate)
        {
            if (--_running == 0 && IsStopping)
            {
                _drained.TrySetResult();
            }
        }
    }

    private sealed class Connection : IInProcessConnection
    {
        // The execution context of a new thread: handlers must not see the caller's AsyncLocal values, user
        // or culture.
        private static readonly ExecutionContext Blank = CaptureBlank();

        private readonly InProcessListener _listener;
        private readonly SemaphoreSlim _calls;
        private readonly CancellationTokenSource _ended;
        private readonly CancellationToken _end;
        private int _isReleased;
        private int _isLeft;

        public Connection(InProcessListener listener)
        {
            _listener = listener;
            _calls = new SemaphoreSlim(listener.Host.Options.Limits.MaxStreamsPerConnection);
            _ended = CancellationTokenSource.CreateLinkedTokenSource(listener.Stopped);
            _end = _ended.Token;
        }

        public bool IsClosed => _listener.IsStopping;

        public bool IsLeft => Volatile.Read(ref _isLeft) != 0;

        public ValueTask CallAsync(InProcessExchange exchange)
        {
            if (!_listener.TryEnter())
            {
                throw CallErrors.NotSent(_listener.Endpoint);
            }

            // Handlers that call each other recursively could overflow the stack; then the call runs on the
            // thread pool.
            return _listener.FindHere(exchange) is { } method
                && TaskScheduler.Current == TaskScheduler.Default
                && RuntimeHelpers.TryEnsureSufficientExecutionStack()
                    ? RunAsync(exchange, method)
                    : new ValueTask(RunOnPoolAsync(exchange));
        }

        public void Begin(InProcessCall call)
        {
            if (!_listener.TryEnter())
            {
                throw CallErrors.NotSent(_listener.Endpoint);
            }

            // The unsafe form does not pass on the caller's execution context: a handler must not see its
            // AsyncLocal values.
            ThreadPool.UnsafeQueueUserWorkItem(
                static state => _ = state.Connection.RunAsync(state.Call), (Connection: this, Call: call),
                preferLocal: false);
        }

        public void Release()
        {
            if (Interlocked.Exchange(ref _isReleased, 1) == 0)
            {
                lock (_listener._gate)
                {
                    _listener._connections--;
                }
            }
        }

        public void Dispose()
        {
            Release();
            if (Interlocked.Exchange(ref _isLeft, 1) == 0)
            {
                _ = EndAsync();
            }
        }

        private static ExecutionContext CaptureBlank()
        {
            ExecutionContext? blank = null;
            Thread thread = new(() => blank = ExecutionContext.Capture());
            thread.UnsafeStart();
            thread.Join();
            return blank!;
        }

        // CancelAsync runs the callbacks of running calls on another thread, so Dispose does not wait for
        // them.
        private async Task EndAsync()
        {
            await _ended.CancelAsync().ConfigureAwait(false);
            _ended.Dispose();
        }

        private Task RunOnPoolAsync(InProcessExchange exchange)
        {
            TaskCompletionSource served = new(TaskCreationOptions.RunContinuationsAsynchronously);
            ThreadPool.UnsafeQueueUserWorkItem(
                static async state =>
                {
                    await state.Connection.RunAsync(state.Exchange, method: null).ConfigureAwait(false);
                    state.Served.SetResult();
                },
                (Connection: this, Exchange: exchange, Served: served), preferLocal: false);
            return served.Task;
        }

        // Throws nothing: a failure is reported to the caller in the exchange.
        private async ValueTask RunAsync(InProcessExchange exchange, ServerMethod? method)
        {
            // An async method restores the caller's context when it returns.
            ExecutionContext.Restore(Blank);
            SynchronizationContext.SetSynchronizationContext(null);
            try
            {
                using CancellationTokenSource? both = exchange.Caller.CanBeCanceled
                    ? CancellationTokenSource.CreateLinkedTokenSource(exchange.Caller, _end)
                    : null;
                CancellationToken aborted = both?.Token ?? _end;
                if (!_calls.Wait(0, CancellationToken.None))
                {
                    await _calls.WaitAsync(aborted).ConfigureAwait(false);
                }

                try
                {
                    InProcessExchangeProtocol protocol = new(_listener, this, exchange, method, aborted);
                    await ServerCall.RunAsync(protocol).ConfigureAwait(false);
                }
                finally
                {
                    _calls.Release();
                }
            }
            catch (Exception)
            {
                // The caller cancelled while it waited for a turn, or the failure could not be encoded. The
                // caller then reads the reply in the exchange, if it has one.
            }
            finally
            {
                exchange.Request.Dispose();
                _listener.Leave();
            }
        }

        private async Task RunAsync(InProcessCall call)
        {
            try
            {
                await _calls.WaitAsync(call.Aborted).ConfigureAwait(false);
                try
                {
                    using InProcessCallProtocol protocol = new(_listener, this, call);
                    await ServerCall.RunAsync(protocol).ConfigureAwait(false);
                }
                finally
                {
                    _calls.Release();
                }
            }
            catch (OperationCanceledException)
            {
                // The caller cancelled while it waited for a turn.
            }
            finally
            {
                call.Requests.Writer.TryComplete();
                call.Replies.Writer.TryComplete();
                _listener.Leave();
            }
        }
    }
}

/// <summary>Carries a call with one request and one reply from a client of the same process.</summary>
internal sealed class InProcessExchangeProtocol(
    InProcessListener listener, IInProcessConnection connection, InProcessExchange exchange,
    ServerMethod? found, CancellationToken aborted)
    : CallProtocol(listener.Host, listener.Endpoint)
{
    private int _bytesOut;

    public override PeerIdentity Peer => listener.Peer;

    public override long BytesIn => exchange.Request.Length;

    public override long BytesOut => _bytesOut;

    public override bool IsAbandoned => exchange.IsAbandoned || connection.IsLeft;

    public override object SharedConnection => connection;

    public override string? GetCalledName(RpcServerCallContext? context) =>
        $"{exchange.Service}/{exchange.Method}";

    public override ActivityContext ReadParent(RpcServerCallContext? context) =>
        ServerHeaders.ReadParent(context, exchange.Header, Limits);

    public override CallHead ReadHead()
    {
        if (exchange.Header is { } header)
        {
            ServerMethod called = listener.Find(exchange.Service, exchange.Method, out RpcSchema schema);
            return ServerHeaders.Read(this, header, called, schema, aborted);
        }

        return new CallHead(
            found ?? listener.Find(exchange.Service, exchange.Method, out _), exchange.Context,
            ServerHeaders.GetDeadline(exchange.TimeoutMs), aborted);
    }

    public override ValueTask<IMessage> ReadAsync(ServerMethod method, RpcServerCallContext context)
    {
        ReadOnlyMemory<byte> body = exchange.Request.Own();
        return body.Length <= Limits.MaxMessageBytes
            ? new(method.ReadRequest(body, context))
            : throw MessageErrors.OverServerLimit(Limits.MaxMessageBytes);
    }

    public override ValueTask ReplyAsync(RpcServerCallContext context, IMessage reply)
    {
        // Encode first: if encoding fails, the exchange must not have a reply yet.
        EncodedMessage body = EncodedMessage.From(reply, Limits.MaxMessageBytes, "reply");
        body.Own();
        exchange.ReplyHeader = ServerHeaders.IsEmpty(context) ? null : ServerHeaders.Success(context);
        exchange.Reply = body;
        _bytesOut = body.Length;
        return default;
    }

    public override CallFailure Translate(Exception error, RpcServerCallContext? context) =>
        base.Translate(ServerHeaders.MakeSendable(error, Limits), context);

    public override ValueTask FailAsync(CallFailure failure, RpcServerCallContext? context)
    {
        exchange.Reply = null;
        exchange.ReplyHeader = ServerHeaders.Failure(failure, context, Limits);
        return default;
    }

    private RpcLimits Limits => Host.Options.Limits;
}

/// <summary>Carries a streaming call from a client of the same process.</summary>
internal sealed class InProcessCallProtocol(
    InProcessListener listener, object connection, InProcessCall call)
    : CallProtocol(listener.Host, listener.Endpoint), IDisposable
{
    private readonly CancellationTokenSource _aborted =
        CancellationTokenSource.CreateLinkedTokenSource(call.Aborted, listener.Stopped);

    private MessageStream? _stream;
    private long _bytesIn;
    private long _bytesOut;

    public override PeerIdentity Peer => listener.Peer;

    public override string? GetCalledName(RpcServerCallContext? context) =>
        $"{call.Service}/{call.Header.MethodName}";

    public override ActivityContext ReadParent(RpcServerCallContext? context) =>
        ServerHeaders.ReadParent(context, call.Header, Limits);

    public override long BytesIn => _bytesIn;

    public override long BytesOut => _bytesOut;

    public override bool IsAbandoned => call.Aborted.IsCancellationRequested;

    public override object SharedConnection => connection;

    public void Dispose() => _aborted.Dispose();

    public override CallHead ReadHead() => ServerHeaders.Read(
        this,
        call.Header,
        listener.Find(call.Service, call.Header.MethodName, out RpcSchema schema),
        schema,
        _aborted.Token);

    public override ValueTask<RpcServerStream?> OpenStreamAsync(
        ServerMethod method, RpcServerCallContext context)
    {
        _stream = new MessageStream(method, context, this);
        return new(method.Info.IsUnary ? null : _stream);
    }

    public override async ValueTask<IMessage> ReadAsync(
        ServerMethod method, RpcServerCallContext context) =>
        await _stream!.ReceiveAsync().ConfigureAwait(false)
        ?? throw new RpcException(
            RpcStatusCode.InvalidArgument, $"{method.Info.FullName} takes one request, and received none.");

    public override async ValueTask ReplyAsync(RpcServerCallContext context, IMessage reply)
    {
        // Encode first: if encoding fails, the failure can still be sent as the last reply.
        byte[] body = Encode(reply);
        await EndAsync(new InProcessReply(ServerHeaders.Success(context), body, IsLast: true))
            .ConfigureAwait(false);
    }

    public override ValueTask CompleteAsync(RpcServerCallContext context) =>
        EndAsync(new InProcessReply(ServerHeaders.Success(context), Body: null, IsLast: true));

    public override CallFailure Translate(Exception error, RpcServerCallContext? context) =>
        base.Translate(ServerHeaders.MakeSendable(error, Limits), context);

    public override ValueTask FailAsync(CallFailure failure, RpcServerCallContext? context) => EndAsync(
        new InProcessReply(ServerHeaders.Failure(failure, context, Limits), Body: null, IsLast: true));

    public override ValueTask CloseAsync()
    {
        _stream?.Close();
        return default;
    }

    private RpcLimits Limits => Host.Options.Limits;

    private byte[] Encode(IMessage reply)
    {
        using EncodedMessage body = EncodedMessage.From(reply, Limits.MaxMessageBytes, "reply");
        _bytesOut += body.Length;
        return body.ToArray();
    }

    // If the caller stops reading, the write waits until the caller cancels or the server stops.
    private ValueTask EndAsync(InProcessReply reply) => call.Replies.Writer.TryWrite(reply)
        ? default
        : call.Replies.Writer.WriteAsync(reply, _aborted.Token);

    /// <summary>The messages of a call, for its handler.</summary>
    private sealed class MessageStream(
        ServerMethod method, RpcServerCallContext context, InProcessCallProtocol owner)
        : RpcServerStream(method)
    {
        private bool _began;
        private bool _received;
        private volatile bool _closed;

        private ChannelReader<byte[]> Requests => owner.Requests;

        /// <summary>Ends reads and writes of an abandoned handler.</summary>
        public void Close() => _closed = true;

        internal override async ValueTask<IMessage?> ReceiveAsync()
        {
            RequireOpen();

            // The handler asks for the next request, so it no longer needs the memory of the previous one.
            owner.Memory.Release();
            if (_received && !Method.Info.IsClientStreaming)
            {
                return null;
            }

            while (await Requests.WaitToReadAsync(Cancellation).ConfigureAwait(false))
            {
                if (Requests.TryRead(out byte[]? body))
                {
                    _received = true;
                    return Read(body);
                }
            }

            return null;
        }

        internal override ValueTask SendAsync(IMessage reply, bool compress)
        {
            RequireOpen();
            byte[] body = owner.Encode(reply);
            InProcessReply sent = new(_began ? null : ServerHeaders.Success(context), body, IsLast: false);
            _began = true;
            return owner.Replies.WriteAsync(sent, Cancellation);
        }

        internal override ValueTask BeginAsync()
        {
            RequireOpen();
            if (_began)
            {
                return default;
            }

            _began = true;
            InProcessReply begun = new(ServerHeaders.Success(context), Body: null, IsLast: false);
            return owner.Replies.WriteAsync(begun, Cancellation);
        }

        // A timer for the deadline would cost a call without streams more than the call itself.
        private CancellationToken Cancellation =>
            Method.Info.IsUnary ? context.Clock.Aborted : context.CancellationToken;

        private IMessage Read(byte[] body)
        {
            try
            {
                owner._bytesIn += body.Length;
                if (body.Length > owner.Limits.MaxMessageBytes)
                {
                    throw MessageErrors.OverServerLimit(owner.Limits.MaxMessageBytes);
                }

                IMessage request = Method.ReadRequest(body, context);
                if (_closed)
                {
                    // The call ended while this request was decoded. Nothing would release its memory later.
                    owner.Memory.Release();
                }

                return request;
            }
            catch (RpcException e)
            {
                // CallFailure compares this error with the handler's: its text is about the request, so the
                // caller receives it.
                context.Refusal = e;
                throw;
            }
        }

        private void RequireOpen()
        {
            if (_closed)
            {
                throw new OperationCanceledException("The call has ended.");
            }
        }
    }

    private ChannelReader<byte[]> Requests => call.Requests.Reader;

    private ChannelWriter<InProcessReply> Replies => call.Replies.Writer;
}

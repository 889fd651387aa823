using System.Diagnostics;
using System.Threading.Channels;
using ProtoRpc.Client;
using ProtoRpc.Client.Native;
using ProtoRpc.Messages;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;
using ProtoRpc.Transports;

[assembly: RpcChannel<InProcessChannel>]

namespace ProtoRpc.Client;

/// <summary>Calls services of a server in the same process, without a socket.</summary>
internal sealed class InProcessChannel(RpcEndpoint endpoint, RpcClientOptions options)
    : IRpcChannel, IRpcChannelMaker
{
    private static readonly TimeSpan CloseTimeout = TimeSpan.FromSeconds(1);

    private readonly Lock _gate = new();
    private readonly CancellationTokenSource _closed = new();
    private RpcCallContext _context = new();
    private IInProcessConnection? _connection;
    private bool _disposed;

    public RpcEndpoint Endpoint => endpoint;

    /// <summary>Cancelled when the client is closed.</summary>
    public CancellationToken Closed => _closed.Token;

    public RpcClientOptions Options => options;

    // The object is immutable, so parallel calls see either the old or the new context.
    public RpcCallContext Context
    {
        get => Volatile.Read(ref _context);
        set => Volatile.Write(ref _context, value);
    }

    public static bool Reaches(EndpointKindAttribute kind) => kind.Transport == RpcTransport.InProcess;

    public static IRpcChannel Create(
        RpcEndpoint endpoint, RpcServiceInfo? service, RpcClientOptions options) =>
        new InProcessChannel(endpoint, options);

    public ValueTask ConnectAsync<TWait>(CancellationToken cancellation)
        where TWait : struct, IWaitMode
    {
        Reach();
        return default;
    }

    /// <summary>The connection to the server that listens now. If the previous server has stopped, this may
    /// be another one.</summary>
    public IInProcessConnection Reach()
    {
        lock (_gate)
        {
            ObjectDisposedException.ThrowIf(_disposed, this);
            if (_connection is { IsClosed: true })
            {
                // The server ends the calls that still run on the old connection.
                _connection.Release();
                _connection = null;
            }

            return _connection ??= Find().Connect();
        }
    }

    public async ValueTask<TReply> InvokeAsync<TWait, TReply>(
        CallSpec call, IMessage request, ReplyReader<TReply> read, CancellationToken cancellation)
        where TWait : struct, IWaitMode
    {
        RequireUnary(call.Method);
        EncodedMessage body = ReplayBuffer.Encode(
            call, request, MultiPartSender.MaxRequestBytes(options.Limits));
        if (!MultiPartSender.IsFor(options.Limits, body.Length))
        {
            return await CallAsync<TWait, TReply>(
                call.Method.Service.FullName, call.Method.Name, call, body, read, cancellation)
                .ConfigureAwait(false);
        }

        using (body)
        {
            using Stream parts = body.OpenRead();
            return await UploadAsync<TWait, TReply>(call, parts, read, cancellation).ConfigureAwait(false);
        }
    }

    public ValueTask<TReply> UploadAsync<TWait, TReply>(
        CallSpec call, Stream request, ReplyReader<TReply> read, CancellationToken cancellation)
        where TWait : struct, IWaitMode => TWait.RunAsync(() => Upload(call, request, read, cancellation));

    private TReply Upload<TReply>(
        CallSpec call, Stream request, ReplyReader<TReply> read, CancellationToken cancellation)
    {
        RequireUnary(call.Method);
        MultiPartSender sender = new(
            MultiPartSender.PartBytes(options.Limits),
            part => CallBuiltIn(
                call.Method.Service.FullName, BuiltInNames.Multi, part,
                call with { Clock = call.Clock.Again() },
                MultiPartSender.Read, cancellation),
            part => CallBuiltIn(
                call.Method.Service.FullName, BuiltInNames.Multi, part,
                call with { Clock = CallClock.Start(MultiPartSender.CancelTimeout) },
                MultiPartSender.Read, CancellationToken.None));
        ReplyBody reply = new(sender.Send(call.Method.Name, request, call.Progress).Memory);
        return read(reply.Of(call.Clock.Again().For(cancellation), endpoint));
    }

    public IRpcStream Open(CallSpec call, CancellationToken cancellation) => new InProcessStream(
        this, call.Method.Service.FullName, call.Method.Name, call, cancellation);

    public ValueTask<RpcSchema> FetchSchemaAsync<TWait>(CancellationToken cancellation)
        where TWait : struct, IWaitMode => TWait.RunAsync(FetchSchema);

    public ValueTask<RpcSchema?> FetchSchemaAsync<TWait>(
        IReadOnlyList<RpcServiceInfo> services, CancellationToken cancellation)
        where TWait : struct, IWaitMode => TWait.RunAsync<RpcSchema?>(FetchSchema);

    private RpcSchema FetchSchema()
    {
        RpcSchema[] schemas = [.. Find().Services.Select(service => service.Schema).Distinct()];
        return schemas.Aggregate((all, other) => all.CompleteWith(other, "server"));
    }

    public ValueTask<RpcPingResult> PingAsync<TWait>(PingSpec ping, CancellationToken cancellation)
        where TWait : struct, IWaitMode => TWait.RunAsync(() => Ping(ping, cancellation));

    private RpcPingResult Ping(PingSpec ping, CancellationToken cancellation)
    {
        long start = Stopwatch.GetTimestamp();
        CallSpec call = new(PingProtocol.Info, ping.Timeout);
        RpcPingResponse reply = CallBuiltIn(
            PingProtocol.Info.Service.FullName, BuiltInNames.Ping, ping.Message, call, PingResults.Read,
            cancellation);
        return PingResults.ResultOf(endpoint, Stopwatch.GetElapsedTime(start), reply)
            .Require(ping.Service ?? ping.Through?.FullName);
    }

    public void Dispose()
    {
        CloseSession();
        lock (_gate)
        {
            _disposed = true;
            _connection?.Dispose();
            _connection = null;
        }

        _closed.Cancel();
    }

    private IInProcessServer Find() => InProcessNames.Find(endpoint.Name) ?? throw new RpcException(
        RpcStatusCode.Unavailable,
        $"Cannot connect to '{endpoint}': no server of this process listens under that name. Start the "
        + "listener in this process, or check the name; another shell or job is another process.", endpoint);

    private TReply CallBuiltIn<TReply>(
        string service, string method, IMessage request, CallSpec call, ReplyReader<TReply> read,
        CancellationToken cancellation) => BlockingWait.End(CallAsync<BlockingWait, TReply>(
            service, method, call,
            EncodedMessage.From(request, options.Limits.MaxMessageBytes, "request"), read, cancellation));

    // From here on, the server owns the body and disposes it.
    private async ValueTask<TReply> CallAsync<TWait, TReply>(
        string service, string method, CallSpec call, EncodedMessage body, ReplyReader<TReply> read,
        CancellationToken cancellation)
        where TWait : struct, IWaitMode
    {
        CallClock clock = call.Clock.For(cancellation);
        InProcessExchange exchange;
        ValueTask served;
        try
        {
            if (clock.Ended(endpoint, sent: false) is { } end)
            {
                throw end;
            }

            body.Own();
            exchange = CreateExchange(service, method, call, body, cancellation);
            IInProcessConnection server = Reach();
            Record(call, isSent: true, body.Length);
            served = server.CallAsync(exchange);
        }
        catch
        {
            body.Dispose();
            throw;
        }

        if (served.IsCompleted)
        {
            served.GetAwaiter().GetResult();
        }
        else
        {
            await WaitAsync<TWait>(served.AsTask(), exchange, clock).ConfigureAwait(false);
        }

        if (exchange.ReplyHeader is { } header)
        {
            SaveReply(header, call);
        }

        using EncodedMessage? reply = exchange.Reply;
        if (reply is null)
        {
            throw _closed.IsCancellationRequested ? CallErrors.Cancelled(endpoint, sent: true)
                : clock.Ended(endpoint, sent: true) ?? CallErrors.ConnectionLost(endpoint);
        }

        if (exchange.ReplyHeader is null && call.Options?.ReplyInfo is not null)
        {
            SaveReply(new RpcResponseHeader(), call);
        }

        Record(call, isSent: false, reply.Length);
        MessageChecks.RequireSize(reply.Length, options.Limits.MaxMessageBytes, "reply");
        return read(new ReplyBody(reply.Own()).Of(clock, endpoint));
    }

    private InProcessExchange CreateExchange(
        string service, string method, CallSpec call, EncodedMessage body, CancellationToken cancellation)
    {
        RpcCallOptions? own = call.Options;
        TimeSpan left = call.Clock.Left;

        // The context is copied, because the caller may change it during the call. The client's context is
        // never changed, only replaced.
        RpcCallContext context = own?.Context is { } given ? given.Clone() : Context;
        bool isPlain =
            options.Headers.Count == 0 && own is null or { Headers: null, Extensions: null };
        return new(service, method, body)
        {
            Context = context,
            Header = isPlain ? null : CallHeaders.Request(method, context, left, call, options),
            TimeoutMs = CallHeaders.Timeout(left),
            Caller = cancellation,
            CanRunHere = own is null or { Timeout: null, Deadline: null } && !cancellation.CanBeCanceled,
        };
    }

    private async ValueTask WaitAsync<TWait>(Task served, InProcessExchange exchange, CallClock clock)
        where TWait : struct, IWaitMode
    {
        using CancellationTokenSource end =
            CancellationTokenSource.CreateLinkedTokenSource(clock.Caller, _closed.Token);
        try
        {
            await TWait.WaitAsync(served, clock.Left, end.Token).ConfigureAwait(false);
            if (!TWait.IsBlocking)
            {
                // Continues on another thread: the code of the server that cancelled the call could otherwise
                // wait for the caller's next lines.
                await Task.CompletedTask.ConfigureAwait(ConfigureAwaitOptions.ForceYielding);
            }
        }
        catch (Exception e) when (e is TimeoutException or OperationCanceledException)
        {
            exchange.IsAbandoned = true;
            throw _closed.IsCancellationRequested
                ? CallErrors.Cancelled(endpoint, sent: true, e)
                : clock.Ended(endpoint, sent: true, e, isLate: true)
                    ?? CallErrors.Cancelled(endpoint, sent: true, e);
        }
    }

    /// <summary>Counts and traces a message of a call.</summary>
    public void Record(CallSpec call, bool isSent, int bytes)
    {
        call.Options?.ReplyInfo?.Count(isSent, bytes);
        if (options.Trace is { IsEnabled: true } trace)
        {
            trace.Add(isSent, endpoint, $"{call.Method.FullName}: message of {bytes} bytes");
        }
    }

    /// <summary>Stores the contents of a reply's header.</summary>
    /// <exception cref="RpcException">The call failed.</exception>
    public void SaveReply(RpcResponseHeader header, CallSpec call)
    {
        if (header.CallContext is { } context)
        {
            CallSideChannel.Save(this, call.Options, context);
        }

        if (CallHeaders.ReadResponse(header, call.Method.FullName, call, options) is { } failure)
        {
            throw failure;
        }
    }

    private static void RequireUnary(RpcMethodInfo method)
    {
        if (!method.IsUnary)
        {
            throw new RpcException(RpcStatusCode.InvalidArgument, RpcChannels.StreamingHint(method));
        }
    }

    // Ends the session on the server now. Otherwise it would expire later.
    private void CloseSession()
    {
        if (!Context.HasSessionId || _connection is null or { IsClosed: true })
        {
            return;
        }

        try
        {
            CallBuiltIn(
                PingProtocol.Info.Service.FullName, BuiltInNames.Close, new RpcVoid(),
                new CallSpec(PingProtocol.Info, CloseTimeout), static _ => true, CancellationToken.None);
            Context = new RpcCallContext();
        }
        catch (RpcException)
        {
            // The server may be stopping, which also ends the session.
        }
    }
}

/// <summary>A streaming call of a service in the same process.</summary>
internal sealed class InProcessStream : IRpcStream
{
    private readonly InProcessChannel _channel;
    private readonly CallSpec _spec;
    private readonly InProcessCall _call;
    private readonly CallClock _clock;
    private readonly CancellationTokenSource _end;
    private bool _over;
    private bool _sent;

    public InProcessStream(
        InProcessChannel channel, string service, string method, CallSpec spec,
        CancellationToken cancellation)
    {
        _channel = channel;
        _spec = spec;
        _clock = spec.Clock.For(cancellation);
        _clock.RequireTime(channel.Endpoint);
        _end = CancellationTokenSource.CreateLinkedTokenSource(cancellation, channel.Closed);
        try
        {
            _call = new InProcessCall(
                service,
                CallHeaders.Request(
                    method, CallSideChannel.CreateContext(channel, spec.Options), spec.Clock.Left, spec,
                    channel.Options),
                _end.Token);
            channel.Reach().Begin(_call);
        }
        catch
        {
            _end.Dispose();
            throw;
        }

        if (!spec.Clock.IsEndless)
        {
            _end.CancelAfter(spec.Clock.Left);
        }
    }

    /// <inheritdoc/>
    public ReplyBody Current { get; private set; }

    /// <inheritdoc/>
    public async ValueTask<bool> SendAsync(IMessage message, bool compress)
    {
        if (_sent && !_spec.Method.IsClientStreaming)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, "The method takes one request, which was already sent.");
        }

        _sent = true;
        using EncodedMessage body = ReplayBuffer.Encode(
            _spec, message, _channel.Options.Limits.MaxMessageBytes);
        return await SendAsync(body).ConfigureAwait(false);
    }

    /// <summary>Sends a message that is already encoded.</summary>
    public async ValueTask<bool> SendAsync(EncodedMessage body)
    {
        if (_over)
        {
            return false;
        }

        try
        {
            _channel.Record(_spec, isSent: true, body.Length);
            await _call.Requests.Writer.WriteAsync(body.ToArray(), _end.Token).ConfigureAwait(false);
            return true;
        }
        catch (Exception e) when (e is OperationCanceledException or ChannelClosedException)
        {
            // The server ended the call, or the call was cancelled. The reading side reports why.
            return false;
        }
    }

    /// <inheritdoc/>
    public ValueTask CompleteAsync()
    {
        _call.Requests.Writer.TryComplete();
        return default;
    }

    /// <inheritdoc/>
    public async ValueTask<bool> ReadAsync()
    {
        if (_over)
        {
            return false;
        }

        try
        {
            InProcessReply reply = await ReceiveAsync().ConfigureAwait(false);
            if (reply is { Body: null, IsLast: false })
            {
                _spec.Options?.ReplyInfo?.Began?.Invoke();
                reply = await ReceiveAsync().ConfigureAwait(false);
            }

            if (reply.Body is not { } body)
            {
                return false;
            }

            _channel.Record(_spec, isSent: false, body.Length);
            MessageChecks.RequireSize(body.Length, _channel.Options.Limits.MaxMessageBytes, "reply");
            Current = new ReplyBody(body).Of(_clock, _channel.Endpoint);
            return true;
        }
        catch (Exception e)
        {
            _over = true;
            RpcException failure = Explain(e);
            await _end.CancelAsync().ConfigureAwait(false);
            throw failure;
        }
    }

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        if (!_over)
        {
            _over = true;
            await _end.CancelAsync().ConfigureAwait(false);
        }

        _end.Dispose();
    }

    private async ValueTask<InProcessReply> ReceiveAsync()
    {
        InProcessReply reply = await _call.Replies.Reader.ReadAsync(_end.Token).ConfigureAwait(false);
        _over = reply.IsLast;
        if (reply.Header is { } header)
        {
            _channel.SaveReply(header, _spec);
        }

        return reply;
    }

    private RpcException Explain(Exception exception) => exception switch
    {
        RpcException known => known,

        // A server that reads the last request may close the call before this side observes the end.
        ChannelClosedException when !_end.IsCancellationRequested =>
            CallErrors.ConnectionLost(_channel.Endpoint, exception),
        _ when _channel.Closed.IsCancellationRequested =>
            CallErrors.Cancelled(_channel.Endpoint, sent: true, exception),
        _ => _clock.Ended(
            _channel.Endpoint, sent: true, exception,
            isLate: exception is OperationCanceledException or ChannelClosedException)
            ?? CallErrors.Cancelled(_channel.Endpoint, sent: true, exception),
    };
}

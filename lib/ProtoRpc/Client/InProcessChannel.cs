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
                _connection.Dispose();
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
        using EncodedMessage body = ReplayBuffer.Encode(
            call, request,
            options.MultiPartThreshold is null ? options.Limits.MaxMessageBytes : Array.MaxLength);
        if (body.Length < (options.MultiPartThreshold ?? int.MaxValue))
        {
            return await TWait.WaitAsync(CallAsync(
                call.Method.Service.FullName, call.Method.Name, call, body, read, cancellation))
                .ConfigureAwait(false);
        }

        using Stream parts = body.OpenRead();
        return await UploadAsync<TWait, TReply>(call, parts, read, cancellation).ConfigureAwait(false);
    }

    public ValueTask<TReply> UploadAsync<TWait, TReply>(
        CallSpec call, Stream request, ReplyReader<TReply> read, CancellationToken cancellation)
        where TWait : struct, IWaitMode => TWait.RunAsync(() => Upload(call, request, read, cancellation));

    private TReply Upload<TReply>(
        CallSpec call, Stream request, ReplyReader<TReply> read, CancellationToken cancellation)
    {
        RequireUnary(call.Method);
        MultiPartSender sender = new(
            options.MultiPartThreshold ?? options.Limits.MaxMessageBytes,
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
        CancellationToken cancellation)
    {
        using EncodedMessage body = EncodedMessage.From(request, options.Limits.MaxMessageBytes, "request");
        return CallAsync(service, method, call, body, read, cancellation).GetAwaiter().GetResult();
    }

    private async Task<TReply> CallAsync<TReply>(
        string service, string method, CallSpec call, EncodedMessage body, ReplyReader<TReply> read,
        CancellationToken cancellation)
    {
        await using InProcessStream stream = new(this, service, method, call, cancellation);
        await stream.SendAsync(body).ConfigureAwait(false);
        return await stream.ReadAsync().ConfigureAwait(false)
            ? read(stream.Current)
            : throw new RpcException(
                RpcStatusCode.Internal, $"The server ended {service}.{method} without a reply.")
            {
                ErrorId = RpcErrorIds.BadReply,
                MayHaveExecuted = true,
            };
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
            Record(isSent: true, body.Length);
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

            Record(isSent: false, body.Length);
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
            Save(header);
        }

        return reply;
    }

    private void Record(bool isSent, int bytes)
    {
        if (_spec.Options?.ReplyInfo is { } info)
        {
            info.BytesSent += isSent ? bytes : 0;
            info.BytesReceived += isSent ? 0 : bytes;
        }

        if (_channel.Options.Trace is { IsEnabled: true } trace)
        {
            trace.Add(isSent, _channel.Endpoint, $"{_spec.Method.FullName}: message of {bytes} bytes");
        }
    }

    private void Save(RpcResponseHeader header)
    {
        if (header.CallContext is { } context)
        {
            CallSideChannel.Save(_channel, _spec.Options, context);
        }

        if (CallHeaders.ReadResponse(header, _spec.Method.FullName, _spec, _channel.Options) is { } failure)
        {
            throw failure;
        }
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

using System.Runtime.CompilerServices;
using Google.Protobuf;
using ProtoRpc.Client;
using ProtoRpc.Messages;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Protocols.Native;
using ProtoRpc.Transports;

namespace ProtoRpc;

/// <summary>Calls services at one endpoint. Safe for use by many threads.</summary>
/// <remarks>
/// A connection that broke is made anew by the next call.
/// A call that may have reached the server is never sent twice.
/// With a token that is already cancelled, every method throws <see cref="OperationCanceledException"/> with
/// that token, and sends nothing. A token that is cancelled later fails the call with an
/// <see cref="RpcException"/> of status Cancelled,
/// whose <see cref="RpcException.MayHaveExecuted"/> says whether the server may have run it.
/// A deadline that passes is always an <see cref="RpcException"/> of status DeadlineExceeded.
/// </remarks>
public sealed partial class RpcClient : IDisposable
{
    private readonly IRpcChannel _channel;
    private readonly RpcLimits _limits;
    private readonly RpcClientOptions _options;
    private readonly RpcSchema? _given;
    private RpcSchema? _schema;
    private RpcServiceInfo? _service;
    private long _calls;
    private int _closed;

    private RpcClient(
        RpcEndpoint endpoint, RpcSchema? schema, RpcServiceInfo? service,
        IRpcChannel channel, RpcClientOptions options)
    {
        Endpoint = endpoint;
        _options = options;
        _service = service;
        _schema = _given = schema;
        _channel = channel;
        _limits = options.Limits;
    }

    /// <summary>The endpoint.</summary>
    public RpcEndpoint Endpoint { get; }

    /// <summary>The schema that names are looked up in; null before the first typed call of a client that was
    /// given none.</summary>
    public RpcSchema? Schema => _schema;

    /// <summary>The service of bare method names, where there is one.</summary>
    public RpcServiceInfo? Service => _service;

    /// <summary>The side channel: sent with every call; what a reply brings back replaces it. Its fields
    /// are the extensions of <c>google.protobuf.rpc_messages.RpcCallContext</c> that the schema declares.
    /// Change a copy and set it.</summary>
    public DynamicMessage CallContext
    {
        get => SideChannel.ToDynamic(_channel.Context, _schema);
        set => _channel.Context = SideChannel.ToWire(value);
    }

    /// <summary>False after it was disposed.</summary>
    public bool IsOpen => Volatile.Read(ref _closed) == 0;

    /// <summary>Calls that ended, failed ones included.</summary>
    public long CallCount => Volatile.Read(ref _calls);

    /// <summary>Asks the server for its schema, which names are looked up in from then on:
    /// gRPC servers tell it by their reflection service. A schema that the client was given is kept,
    /// and gets the services that it lacks.</summary>
    /// <exception cref="RpcException">Unimplemented where the server or the protocol cannot tell;
    /// Internal when what it tells makes no sense.</exception>
    public RpcSchema FetchSchema(CancellationToken cancellation = default) =>
        FetchSchema(options: null, cancellation);

    /// <summary>The same, for as long as the options say that a server is waited for.</summary>
    /// <exception cref="RpcException">As there, and DeadlineExceeded
    /// when the server did not come.</exception>
    public RpcSchema FetchSchema(RpcCallOptions? options, CancellationToken cancellation = default)
    {
        RequireOpen(cancellation);
        CallRetries retries = new(
            Endpoint, _options.RetryCount, options is { WaitForReady: true },
            options?.Timeout ?? _limits.CallTimeout, cancellation);
        try
        {
            using CancellationTokenSource time = Within(options?.Timeout, cancellation);
            RpcSchema told = retries.Run(_ => AskForSchema(options?.Timeout, time.Token, cancellation));
            RpcSchema schema = _given is null ? told : _given.CompleteWith(told, "reflection");
            _service = ServiceOf(schema, _options.Service);
            _schema = schema;
            return schema;
        }
        catch (RpcException e)
        {
            e.Endpoint ??= Endpoint;
            throw;
        }
    }

    /// <summary>A method by bare or full name.</summary>
    /// <exception cref="RpcException">NotFound, with the nearest names.</exception>
    public RpcMethodInfo GetMethod(string name)
    {
        ArgumentNullException.ThrowIfNull(name);
        return Service?.FindMethod(name) ?? RequireSchema().GetMethod(name);
    }

    /// <summary>Calls a method and blocks for the reply.</summary>
    /// <param name="method">The method.</param>
    /// <param name="request">Its request, dynamic or generated.</param>
    /// <param name="timeout">Null for the limit's call timeout; InfiniteTimeSpan for none.</param>
    /// <param name="cancellation">Cancels the call on both sides.</param>
    /// <exception cref="RpcException">The call failed; never sent twice when it may have run.</exception>
    public DynamicMessage Invoke(
        RpcMethodInfo method, IMessage request, TimeSpan? timeout = null,
        CancellationToken cancellation = default) =>
        Call(method, request, body => ReplyParser.Parse(method, body, _limits), OptionsOf(timeout),
            cancellation);

    /// <summary>Calls a method with headers and other options, and blocks for the reply.</summary>
    /// <exception cref="RpcException">The call failed; never sent twice when it may have run.</exception>
    public DynamicMessage Invoke(
        RpcMethodInfo method, IMessage request, RpcCallOptions options,
        CancellationToken cancellation = default) =>
        Call(method, request, body => ReplyParser.Parse(method, body, _limits), options, cancellation);

    /// <summary>Calls a method with generated message types and blocks for the reply.</summary>
    /// <param name="method">The bare or full name of the method.</param>
    /// <param name="request">Its request.</param>
    /// <param name="timeout">Null for the limit's call timeout; InfiniteTimeSpan for none.</param>
    /// <param name="cancellation">Cancels the call on both sides.</param>
    /// <exception cref="RpcException">The call failed; never sent twice when it may have run.</exception>
    public TReply Invoke<TReply>(
        string method, IMessage request, TimeSpan? timeout = null, CancellationToken cancellation = default)
        where TReply : class, IMessage<TReply>, new()
    {
        RpcMethodInfo info = MethodOf<TReply>(method, request);
        return Call(
            info, request, body => ReplyParser.Parse<TReply>(info, body), OptionsOf(timeout), cancellation);
    }

    /// <summary>Begins a call whose messages go and come one at a time, of any kind of method.</summary>
    /// <param name="method">The method.</param>
    /// <param name="options">Headers, deadline and the like.</param>
    /// <param name="cancellation">Cancels the call on both sides.</param>
    /// <exception cref="RpcException">Unimplemented where the transport carries no streams.</exception>
    public RpcStreamingCall Open(
        RpcMethodInfo method, RpcCallOptions? options = null, CancellationToken cancellation = default)
    {
        ArgumentNullException.ThrowIfNull(method);
        RequireOpen(cancellation);
        try
        {
            IRpcStream stream = Cancellable(
                () => _channel.Open(SpecOf(method, options), cancellation), cancellation);
            return new RpcStreamingCall(method, stream, Endpoint, _limits, CountCall);
        }
        catch (RpcException e)
        {
            CountCall();
            throw Locate(e, method);
        }
    }

    /// <summary>Calls a method that streams: requests go as they come, replies come as they are.</summary>
    /// <param name="method">The method, of any kind.</param>
    /// <param name="requests">The requests; read while replies come.</param>
    /// <param name="options">Headers, deadline and the like.</param>
    /// <param name="cancellation">Cancels the call on both sides, as does leaving the loop early.</param>
    public async IAsyncEnumerable<DynamicMessage> InvokeStreamAsync(
        RpcMethodInfo method,
        IAsyncEnumerable<IMessage> requests,
        RpcCallOptions? options = null,
        [EnumeratorCancellation] CancellationToken cancellation = default)
    {
        ArgumentNullException.ThrowIfNull(requests);
        cancellation.ThrowIfCancellationRequested();
        using CancellationTokenSource end = CancellationTokenSource.CreateLinkedTokenSource(cancellation);
        await using RpcStreamingCall call = Open(method, options, end.Token);
        Task sending = call.SendAllAsync(requests, end);
        try
        {
            while (await call.ReadAsync().ConfigureAwait(false))
            {
                yield return call.Current;
            }
        }
        finally
        {
            // Ends the source of the requests too; what went wrong there is what the caller wants to know.
            await end.CancelAsync().ConfigureAwait(false);
            await sending.ConfigureAwait(false);
        }
    }

    /// <summary>Calls a method without holding a thread.</summary>
    /// <exception cref="RpcException">The call failed; never sent twice when it may have run.</exception>
    public Task<DynamicMessage> InvokeAsync(
        RpcMethodInfo method, IMessage request, TimeSpan? timeout = null,
        CancellationToken cancellation = default) =>
        CallAsync(method, request, body => ReplyParser.Parse(method, body, _limits), OptionsOf(timeout),
            cancellation);

    /// <summary>Calls a method with headers and other options, without holding a thread.</summary>
    /// <exception cref="RpcException">The call failed; never sent twice when it may have run.</exception>
    public Task<DynamicMessage> InvokeAsync(
        RpcMethodInfo method, IMessage request, RpcCallOptions options,
        CancellationToken cancellation = default) =>
        CallAsync(method, request, body => ReplyParser.Parse(method, body, _limits), options, cancellation);

    /// <summary>Calls a method with generated message types, without holding a thread;
    /// the method is named by the bare or full name.</summary>
    /// <exception cref="RpcException">The call failed; never sent twice when it may have run.</exception>
    public async Task<TReply> InvokeAsync<TReply>(
        string method, IMessage request, TimeSpan? timeout = null, CancellationToken cancellation = default)
        where TReply : class, IMessage<TReply>, new()
    {
        RpcMethodInfo info = MethodOf<TReply>(method, request);
        return await CallAsync(
            info, request, body => ReplyParser.Parse<TReply>(info, body), OptionsOf(timeout), cancellation)
            .ConfigureAwait(false);
    }

    /// <summary>Calls a method with a request whose bytes, a serialized message,
    /// come from a stream: for requests that are too large for memory. They go in parts;
    /// the timeout is that of each part.</summary>
    /// <param name="method">The method.</param>
    /// <param name="request">Read from its position to its end;
    /// must know its length, 2 GiB less one at most.</param>
    /// <param name="progress">Told after each part how far it has come; null for nobody.</param>
    /// <param name="timeout">For each part; null for the limit's call timeout.</param>
    /// <param name="cancellation">Cancels the call on both sides.</param>
    public DynamicMessage Upload(
        RpcMethodInfo method,
        Stream request,
        IProgress<RpcProgress>? progress = null,
        TimeSpan? timeout = null,
        CancellationToken cancellation = default)
    {
        ArgumentNullException.ThrowIfNull(method);
        ArgumentNullException.ThrowIfNull(request);
        RequireOpen(cancellation);
        if (request.Length - request.Position > int.MaxValue)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, "A message has at most 2 GiB less one byte.");
        }

        return Located(
            method,
            () => _channel.Upload(
                new CallSpec(method, timeout ?? _limits.CallTimeout) { Progress = progress },
                request,
                body => ReplyParser.Parse(method, body, _limits),
                cancellation),
            cancellation);
    }

    /// <summary>Closes the connections; calls that run fail.</summary>
    public void Dispose()
    {
        if (Interlocked.Exchange(ref _closed, 1) == 0)
        {
            _channel.Dispose();
        }
    }

    private CallSpec SpecOf(RpcMethodInfo method, RpcCallOptions? options) =>
        options is { Extensions: not null } && !Endpoint.IsNative
            ? throw HeaderExtensions.NotCarried(Endpoint)
            : CallSpec.Of(method, options, _limits);

    private void CountCall() => Interlocked.Increment(ref _calls);

    private static RpcCallOptions? OptionsOf(TimeSpan? timeout) =>
        timeout is null ? null : new RpcCallOptions { Timeout = timeout };

    private TReply Call<TReply>(
        RpcMethodInfo method,
        IMessage request,
        ReplyReader<TReply> read,
        RpcCallOptions? options,
        CancellationToken cancellation)
    {
        CheckRequest(method, request);
        RequireOpen(cancellation);
        return Located(
            method, () => _channel.Invoke(SpecOf(method, options), request, read, cancellation),
            cancellation);
    }

    private async Task<TReply> CallAsync<TReply>(
        RpcMethodInfo method,
        IMessage request,
        ReplyReader<TReply> read,
        RpcCallOptions? options,
        CancellationToken cancellation)
    {
        CheckRequest(method, request);
        RequireOpen(cancellation);
        try
        {
            return await _channel.InvokeAsync(SpecOf(method, options), request, read, cancellation)
                .ConfigureAwait(false);
        }
        catch (RpcException e)
        {
            throw Locate(e, method);
        }
        catch (OperationCanceledException e) when (cancellation.IsCancellationRequested)
        {
            throw Locate(CallErrors.Cancelled(Endpoint, sent: false, e), method);
        }
        finally
        {
            CountCall();
        }
    }

    // Generated messages bring their schema along.
    private RpcMethodInfo MethodOf<TReply>(string name, IMessage request)
        where TReply : class, IMessage<TReply>, new()
    {
        ArgumentNullException.ThrowIfNull(request);
        _schema ??= RpcSchema.FromDescriptors(request.Descriptor.File);
        RpcMethodInfo method = GetMethod(name);
        string wanted = new TReply().Descriptor.FullName;
        return wanted == method.ReplyType.FullName ? method : throw new RpcException(
            RpcStatusCode.InvalidArgument,
            $"{method.FullName} returns {method.ReplyType.FullName}, not {wanted}. "
            + $"Call {nameof(Invoke)} with that type.");
    }

    private void RequireOpen(CancellationToken cancellation)
    {
        ObjectDisposedException.ThrowIf(!IsOpen, this);
        cancellation.ThrowIfCancellationRequested();
    }

    // The parts of a call throw for a token that was cancelled between two of them; the call has begun then.
    private TResult Cancellable<TResult>(Func<TResult> call, CancellationToken cancellation)
    {
        try
        {
            return call();
        }
        catch (OperationCanceledException e) when (cancellation.IsCancellationRequested)
        {
            throw CallErrors.Cancelled(Endpoint, sent: false, e);
        }
    }

    private TReply Located<TReply>(RpcMethodInfo method, Func<TReply> call, CancellationToken cancellation)
    {
        try
        {
            return Cancellable(call, cancellation);
        }
        catch (RpcException e)
        {
            throw Locate(e, method);
        }
        finally
        {
            CountCall();
        }
    }

    private void CheckRequest(RpcMethodInfo method, IMessage request)
    {
        ArgumentNullException.ThrowIfNull(method);
        ArgumentNullException.ThrowIfNull(request);
        if (request.Descriptor.FullName != method.RequestType.FullName)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"{method.FullName} takes a {method.RequestType.FullName}, "
                + $"not a {request.Descriptor.FullName}.");
        }

        MessageChecks.RequireInitialized(request, method.RequestType);
    }

    private RpcException Locate(RpcException error, RpcMethodInfo method)
    {
        error.Endpoint ??= Endpoint;
        error.MethodName ??= method.FullName;
        error.Details = GrpcStatusDetails.Complete(error.Details, method.Service.Schema);
        return error;
    }

    private RpcSchema RequireSchema() => _schema
        ?? throw new RpcException(
            RpcStatusCode.FailedPrecondition,
            $"The connection to {Endpoint} has no schema to look names up in.");
}

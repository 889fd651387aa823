using System.Runtime.CompilerServices;
using ProtoRpc.Client;
using ProtoRpc.Messages;
using ProtoRpc.Protocols.Native;
using ProtoRpc.Transports;

namespace ProtoRpc;

public sealed partial class RpcClient
{
    // How long a call that has ended waits for the source of its requests.
    private static readonly TimeSpan SourceGrace = TimeSpan.FromMilliseconds(100);

    private TReply Call<TReply>(
        RpcMethodInfo method, object request, ReplyReader<TReply> read, RpcCallOptions? options,
        CancellationToken cancellation)
        where TReply : class, IMessage =>
        BlockingWait.End(CallAsync<BlockingWait, TReply>(method, request, read, options, cancellation));

    private Task<TReply> CallAsync<TReply>(
        RpcMethodInfo method, object request, ReplyReader<TReply> read, RpcCallOptions? options,
        CancellationToken cancellation)
        where TReply : class, IMessage =>
        CallAsync<AsyncWait, TReply>(method, request, read, options, cancellation).AsTask();

    // A single async method, because each one allocates memory while a call waits. Without interceptors,
    // nothing else is allocated here: allocations would make a call ten percent slower.
    private async ValueTask<TReply> CallAsync<TWait, TReply>(
        RpcMethodInfo method, object request, ReplyReader<TReply> read, RpcCallOptions? options,
        CancellationToken cancellation)
        where TWait : struct, IWaitMode
        where TReply : class, IMessage
    {
        IMessage message = RequestOf(method, request);
        RequireOpen(cancellation);
        CallSpec call = SpecOf(method, options);
        ClientTelemetry? telemetry = Observe(call);
        RpcException? failure = null;
        RpcStatusCode status = RpcStatusCode.Unknown;
        try
        {
            TReply reply = await (_interceptors is { } chain
                ? InterceptedAsync<TWait, TReply>(chain, call, message, read, cancellation)
                : _retry.InvokeAsync<TWait, TReply>(_channels, Traced(call), message, read, cancellation))
                .ConfigureAwait(false);
            status = RpcStatusCode.OK;
            return reply;
        }
        catch (OperationCanceledException e) when (cancellation.IsCancellationRequested)
        {
            failure = CallErrors.Cancelled(Endpoint, sent: false, e);
            status = RpcStatusCode.Cancelled;
            throw Locate(failure, method);
        }
        catch (RpcException e)
        {
            status = e.Code;
            failure = e;
            throw Locate(e, method);
        }
        finally
        {
            telemetry?.End(status, failure);
            CountCall();
        }
    }

    private ValueTask<TReply> InterceptedAsync<TWait, TReply>(
        ClientInterceptors chain, CallSpec call, IMessage message, ReplyReader<TReply> read,
        CancellationToken cancellation)
        where TWait : struct, IWaitMode
        where TReply : class, IMessage => ClientInterceptors.RunAsync<TWait, TReply>(() => chain.InvokeAsync(
            call, message,
            (spec, sent) => _retry.InvokeAsync<TWait, TReply>(
                _channels, Traced(spec), sent, read, cancellation),
            RequestOf, read, cancellation));

    private ReplyReader<DynamicMessage> DynamicReader(RpcMethodInfo method)
    {
        KnownReader<DynamicMessage>? known = _lastReader;
        if (known?.Method != method)
        {
            _lastReader = known = MakeDynamicReader(method);
        }

        return known.Read;
    }

    private KnownReader<DynamicMessage> MakeDynamicReader(RpcMethodInfo method) =>
        new(method, _limits, body => ReplyParser.Parse(method, body, _limits));

    private ReplyReader<TReply> TypedReader<TReply>(RpcMethodInfo method)
        where TReply : class, IMessage<TReply>, new()
    {
        KnownReader<TReply>? known = Generated<TReply>.LastReader;
        if (known?.Method != method
            || known.Limits.MaxMessageElements != _limits.MaxMessageElements
            || known.Limits.MaxGeneratedMapEntries != _limits.MaxGeneratedMapEntries)
        {
            Generated<TReply>.LastReader = known = MakeTypedReader<TReply>(method);
        }

        return known.Read;
    }

    private KnownReader<TReply> MakeTypedReader<TReply>(RpcMethodInfo method)
        where TReply : class, IMessage<TReply>, new()
    {
        // Without 'this', which a static field would keep alive.
        RpcLimits limits = _limits;
        return new(method, limits, body => ReplyParser.Parse<TReply>(method, body, limits));
    }

    private CallSpec SpecOf(RpcMethodInfo method, RpcCallOptions? options)
    {
        if (options is { Extensions: not null } && !Endpoint.Has(EndpointFeatures.HeaderExtensions))
        {
            throw HeaderExtensions.NotCarried(Endpoint);
        }

        CallSpec call = CallSpec.Create(method, Counted(options), _limits, Endpoint);
        if (call.Options?.ReplyInfo is { } info)
        {
            info.Endpoint = Endpoint;
        }

        return call;
    }

    // The log contains the sizes of calls, so they are counted.
    private RpcCallOptions? Counted(RpcCallOptions? options) =>
        _log is { LogsCalls: true } && options?.ReplyInfo is null
            ? (options ?? new RpcCallOptions()) with { ReplyInfo = new RpcReplyInfo() }
            : options;

    private ClientTelemetry? Observe(in CallSpec call) => ClientTelemetry.Begin(
        Endpoint.IsGrpc ? "grpc" : "protorpc", call.Method.FullName, Endpoint, _log, call.Options?.ReplyInfo);

    private IMessage RequestOf(RpcMethodInfo method, object request)
    {
        ArgumentNullException.ThrowIfNull(request);
        if (request is not IMessage message)
        {
            return request is not IAsyncEnumerable<object>
                ? _mapper.ToMessage(method.RequestType, request)
                : throw new RpcException(
                    RpcStatusCode.InvalidArgument,
                    $"A call of {method.FullName} got a stream of requests (IAsyncEnumerable) instead of a "
                    + $"{method.RequestType.FullName}. Pass a stream to {nameof(InvokeClientStreamAsync)} or "
                    + $"{nameof(InvokeDuplexStreamAsync)}, or one request at a time.");
        }

        if (message.Descriptor.FullName != method.RequestType.FullName)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"{method.FullName} takes the message {method.RequestType.FullName}, "
                + $"not {message.Descriptor.FullName}.");
        }

        MessageChecks.RequireInitialized(message, method.RequestType);
        return message;
    }

    private CallSpec Traced(CallSpec call) => ClientTelemetry.Trace(call, _options.Headers);

    private void CountCall() => Interlocked.Increment(ref _calls);

    private async ValueTask<TReply> RunAsync<TReply>(
        CallSpec spec, Func<ValueTask<TReply>> call, CancellationToken cancellation)
    {
        ClientTelemetry? telemetry = Observe(spec);
        RpcException? failure = null;
        RpcStatusCode status = RpcStatusCode.Unknown;
        try
        {
            TReply reply = await CancellableAsync(call, cancellation).ConfigureAwait(false);
            status = RpcStatusCode.OK;
            return reply;
        }
        catch (RpcException e)
        {
            status = e.Code;
            failure = e;
            throw Locate(e, spec.Method);
        }
        finally
        {
            telemetry?.End(status, failure);
            CountCall();
        }
    }

    // A token that is cancelled between two parts of a call makes them throw, but the call has begun then:
    // the error must be an RpcException.
    private async ValueTask<TResult> CancellableAsync<TResult>(
        Func<ValueTask<TResult>> call, CancellationToken cancellation)
    {
        try
        {
            return await call().ConfigureAwait(false);
        }
        catch (OperationCanceledException e) when (cancellation.IsCancellationRequested)
        {
            throw CallErrors.Cancelled(Endpoint, sent: false, e);
        }
    }

    /// <summary>Begins a streaming call of any kind of method.</summary>
    /// <param name="method">The method, or its bare or full name.</param>
    /// <param name="options">The deadline, headers and other options; null for the defaults.</param>
    /// <param name="cancellationToken">Cancels the call on both sides, at any time.</param>
    /// <exception cref="RpcException">Unimplemented: the transport does not support streams. NotFound: the
    /// method does not exist. FailedPrecondition: there is no schema for the name.</exception>
    public RpcStreamingCall Open(
        string method, RpcCallOptions? options = null, CancellationToken cancellationToken = default) =>
        Open(GetMethod(method), options, cancellationToken);

    /// <inheritdoc cref="Open(string, RpcCallOptions?, CancellationToken)"/>
    public RpcStreamingCall Open(
        RpcMethodInfo method, RpcCallOptions? options = null, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(method);
        return new(BlockingWait.End(BeginAsync<BlockingWait, DynamicMessage>(
            method, DynamicReader(method), options, cancellationToken)));
    }

    /// <summary>Begins a streaming call with generated messages.</summary>
    /// <typeparam name="TRequest">The generated class of the method's request type.</typeparam>
    /// <typeparam name="TReply">The generated class of the method's reply type.</typeparam>
    /// <inheritdoc cref="Open(string, RpcCallOptions?, CancellationToken)"/>
    public RpcStreamingCall<TRequest, TReply> Open<TRequest, TReply>(
        string method, RpcCallOptions? options = null, CancellationToken cancellationToken = default)
        where TRequest : class, IMessage<TRequest>, new()
        where TReply : class, IMessage<TReply>, new() =>
        Open<TRequest, TReply>(MethodOf<TRequest, TReply>(method), options, cancellationToken);

    /// <inheritdoc cref="Open{TRequest, TReply}(string, RpcCallOptions?, CancellationToken)"/>
    public RpcStreamingCall<TRequest, TReply> Open<TRequest, TReply>(
        RpcMethodInfo method, RpcCallOptions? options = null, CancellationToken cancellationToken = default)
        where TRequest : class, IMessage<TRequest>, new()
        where TReply : class, IMessage<TReply>, new()
    {
        RequireRequest(method, Generated<TRequest>.Descriptor);
        RequireReply<TReply>(method);
        return new(BlockingWait.End(BeginAsync<BlockingWait, TReply>(
            method, TypedReader<TReply>(method), options, cancellationToken)));
    }

    /// <summary>Begins a streaming call, without blocking a thread while the client's interceptors
    /// wait.</summary>
    /// <inheritdoc cref="Open(string, RpcCallOptions?, CancellationToken)"/>
    public Task<RpcStreamingCall> OpenAsync(
        string method, RpcCallOptions? options = null, CancellationToken cancellationToken = default) =>
        OpenAsync(GetMethod(method), options, cancellationToken);

    /// <inheritdoc cref="OpenAsync(string, RpcCallOptions?, CancellationToken)"/>
    public async Task<RpcStreamingCall> OpenAsync(
        RpcMethodInfo method, RpcCallOptions? options = null, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(method);
        return new(await BeginAsync<AsyncWait, DynamicMessage>(
            method, DynamicReader(method), options, cancellationToken).ConfigureAwait(false));
    }

    /// <inheritdoc cref="Open{TRequest, TReply}(string, RpcCallOptions?, CancellationToken)"/>
    public Task<RpcStreamingCall<TRequest, TReply>> OpenAsync<TRequest, TReply>(
        string method, RpcCallOptions? options = null, CancellationToken cancellationToken = default)
        where TRequest : class, IMessage<TRequest>, new()
        where TReply : class, IMessage<TReply>, new() =>
        OpenAsync<TRequest, TReply>(MethodOf<TRequest, TReply>(method), options, cancellationToken);

    /// <inheritdoc cref="Open{TRequest, TReply}(string, RpcCallOptions?, CancellationToken)"/>
    public async Task<RpcStreamingCall<TRequest, TReply>> OpenAsync<TRequest, TReply>(
        RpcMethodInfo method, RpcCallOptions? options = null, CancellationToken cancellationToken = default)
        where TRequest : class, IMessage<TRequest>, new()
        where TReply : class, IMessage<TReply>, new()
    {
        RequireRequest(method, Generated<TRequest>.Descriptor);
        RequireReply<TReply>(method);
        return new(await BeginAsync<AsyncWait, TReply>(
            method, TypedReader<TReply>(method), options, cancellationToken).ConfigureAwait(false));
    }

    /// <summary>Server streaming: sends one request, and reads the replies as they arrive.</summary>
    /// <param name="method">The method, or its bare or full name.</param>
    /// <param name="request">The request: a message, or an object or dictionary with its fields.</param>
    /// <param name="options">The deadline, headers and other options; null for the defaults.</param>
    /// <param name="cancellationToken">Cancels the call on both sides. Leaving the loop early also cancels
    /// it.</param>
    /// <exception cref="RpcException">The call failed, with the server's status. Unimplemented: the transport
    /// does not support streams. InvalidArgument: the request does not fit the method, or is a stream of
    /// requests. NotFound: the method does not exist. FailedPrecondition: there is no schema for the
    /// name.</exception>
    public IAsyncEnumerable<DynamicMessage> InvokeServerStreamAsync(
        string method, object request, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default) =>
        InvokeServerStreamAsync(MethodOf(method, request), request, options, cancellationToken);

    /// <inheritdoc cref="InvokeServerStreamAsync(string, object, RpcCallOptions?, CancellationToken)"/>
    public IAsyncEnumerable<DynamicMessage> InvokeServerStreamAsync(
        RpcMethodInfo method, object request, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default) =>
        InvokeDuplexStreamAsync(method, One(request), options, cancellationToken);

    /// <summary>Server streaming with generated messages: sends one request, and reads the replies as they
    /// arrive.</summary>
    /// <typeparam name="TReply">The generated class of the method's reply type.</typeparam>
    /// <inheritdoc cref="InvokeServerStreamAsync(string, object, RpcCallOptions?, CancellationToken)"/>
    public IAsyncEnumerable<TReply> InvokeServerStreamAsync<TReply>(
        string method, object request, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default)
        where TReply : class, IMessage<TReply>, new() => InvokeServerStreamAsync<TReply>(
            MethodOf<TReply>(method, request), request, options, cancellationToken);

    /// <inheritdoc
    /// cref="InvokeServerStreamAsync{TReply}(string, object, RpcCallOptions?, CancellationToken)"/>
    public IAsyncEnumerable<TReply> InvokeServerStreamAsync<TReply>(
        RpcMethodInfo method, object request, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default)
        where TReply : class, IMessage<TReply>, new() =>
        InvokeDuplexStreamAsync<TReply>(method, One(request), options, cancellationToken);

    /// <summary>Client streaming: sends requests as the source returns them, and returns the only
    /// reply.</summary>
    /// <param name="method">The method, or its bare or full name.</param>
    /// <param name="requests">The requests: messages, or objects or dictionaries with their fields.</param>
    /// <param name="options">The deadline, headers and other options; null for the defaults.</param>
    /// <param name="cancellationToken">Cancels the call on both sides.</param>
    /// <exception cref="RpcException">The call failed, with the server's status. Unimplemented: the transport
    /// does not support streams of requests. InvalidArgument: a request does not fit the method, or the
    /// method streams its replies. NotFound: the method does not exist. FailedPrecondition: there is no
    /// schema for the name.</exception>
    public Task<DynamicMessage> InvokeClientStreamAsync(
        string method, IAsyncEnumerable<object> requests, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default) =>
        InvokeClientStreamAsync(GetMethod(method), requests, options, cancellationToken);

    /// <inheritdoc
    /// cref="InvokeClientStreamAsync(string, IAsyncEnumerable{object}, RpcCallOptions?, CancellationToken)"/>
    public Task<DynamicMessage> InvokeClientStreamAsync(
        RpcMethodInfo method, IAsyncEnumerable<object> requests, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default) =>
        OnlyAsync(method, InvokeDuplexStreamAsync(method, requests, options, cancellationToken));

    /// <summary>Client streaming with generated messages: sends requests as the source returns them, and
    /// returns the only reply.</summary>
    /// <typeparam name="TReply">The generated class of the method's reply type.</typeparam>
    /// <inheritdoc
    /// cref="InvokeClientStreamAsync(string, IAsyncEnumerable{object}, RpcCallOptions?, CancellationToken)"/>
    public Task<TReply> InvokeClientStreamAsync<TReply>(
        string method, IAsyncEnumerable<object> requests, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default)
        where TReply : class, IMessage<TReply>, new() => InvokeClientStreamAsync<TReply>(
            MethodOf(method, null, Generated<TReply>.Descriptor), requests, options, cancellationToken);

    /// <inheritdoc cref=
    /// "InvokeClientStreamAsync{TReply}(string, IAsyncEnumerable{object}, RpcCallOptions?,
    /// CancellationToken)"/>
    public Task<TReply> InvokeClientStreamAsync<TReply>(
        RpcMethodInfo method, IAsyncEnumerable<object> requests, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default)
        where TReply : class, IMessage<TReply>, new() =>
        OnlyAsync(method, InvokeDuplexStreamAsync<TReply>(method, requests, options, cancellationToken));

    /// <summary>Duplex streaming: sends requests as the source returns them, and reads the replies as they
    /// arrive. A direction that does not stream has one message.</summary>
    /// <param name="method">The method, or its bare or full name.</param>
    /// <param name="requests">The requests: messages, or objects or dictionaries with their fields. They are
    /// read while replies arrive. The token of their enumerator is cancelled when the call ends. The call
    /// does not wait for a source that ignores it.</param>
    /// <param name="options">The deadline, headers and other options; null for the defaults.</param>
    /// <param name="cancellationToken">Cancels the call on both sides. Leaving the loop early also cancels
    /// it.</param>
    /// <exception cref="RpcException">The statuses of a call with one request.</exception>
    public IAsyncEnumerable<DynamicMessage> InvokeDuplexStreamAsync(
        string method, IAsyncEnumerable<object> requests, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default) =>
        InvokeDuplexStreamAsync(GetMethod(method), requests, options, cancellationToken);

    /// <inheritdoc
    /// cref="InvokeDuplexStreamAsync(string, IAsyncEnumerable{object}, RpcCallOptions?, CancellationToken)"/>
    public IAsyncEnumerable<DynamicMessage> InvokeDuplexStreamAsync(
        RpcMethodInfo method, IAsyncEnumerable<object> requests, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(method);
        return StreamAsync(method, requests, DynamicReader(method), options, cancellationToken);
    }

    /// <summary>Duplex streaming with generated messages: sends requests as the source returns them, and
    /// reads the replies as they arrive. A direction that does not stream has one message.</summary>
    /// <typeparam name="TReply">The generated class of the method's reply type.</typeparam>
    /// <inheritdoc
    /// cref="InvokeDuplexStreamAsync(string, IAsyncEnumerable{object}, RpcCallOptions?, CancellationToken)"/>
    public IAsyncEnumerable<TReply> InvokeDuplexStreamAsync<TReply>(
        string method, IAsyncEnumerable<object> requests, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default)
        where TReply : class, IMessage<TReply>, new() => InvokeDuplexStreamAsync<TReply>(
            MethodOf(method, null, Generated<TReply>.Descriptor), requests, options, cancellationToken);

    /// <inheritdoc cref=
    /// "InvokeDuplexStreamAsync{TReply}(string, IAsyncEnumerable{object}, RpcCallOptions?,
    /// CancellationToken)"/>
    public IAsyncEnumerable<TReply> InvokeDuplexStreamAsync<TReply>(
        RpcMethodInfo method, IAsyncEnumerable<object> requests, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default)
        where TReply : class, IMessage<TReply>, new()
    {
        RequireReply<TReply>(method);
        return StreamAsync(method, requests, TypedReader<TReply>(method), options, cancellationToken);
    }

    private async ValueTask<StreamingCallParts<TReply>> BeginAsync<TWait, TReply>(
        RpcMethodInfo method, ReplyReader<TReply> read, RpcCallOptions? options,
        CancellationToken cancellation)
        where TWait : struct, IWaitMode
        where TReply : class, IMessage
    {
        RequireOpen(cancellation);
        CallSpec call = SpecOf(method, options);
        ClientTelemetry? telemetry = Observe(call);
        try
        {
            return PartsOf(method, read, telemetry, await CancellableAsync(
                () => _interceptors is { } chain
                    ? ClientInterceptors.RunAsync<TWait, RpcClientStream>(() => chain.OpenAsync(
                        call, spec => OpenChannel(spec, read, cancellation), cancellation))
                    : new(OpenChannel(call, read, cancellation)),
                cancellation).ConfigureAwait(false));
        }
        catch (Exception e)
        {
            throw NotBegun(method, telemetry, e);
        }
    }

    private ClientStream OpenChannel<TReply>(
        CallSpec call, ReplyReader<TReply> read, CancellationToken cancellation)
        where TReply : class, IMessage
    {
        RpcMethodInfo method = call.Method;
        CancellationTokenSource end = CancellationTokenSource.CreateLinkedTokenSource(cancellation);
        try
        {
            IRpcStream stream = _retry.Open(_channels, Traced(call), end.Token);
            return new ClientStream(
                stream, end,
                _interceptors is null ? null : request => RequestOf(method, request),
                read,
                error => Locate(error, method, stream.Endpoint))
            {
                Endpoint = Endpoint,
                Clock = call.Clock,
            };
        }
        catch
        {
            end.Dispose();
            throw;
        }
    }

    private StreamingCallParts<TReply> PartsOf<TReply>(
        RpcMethodInfo method, ReplyReader<TReply> read, ClientTelemetry? telemetry, RpcClientStream stream)
        where TReply : class, IMessage => new(
            method,
            stream,
            request => RequestOf(method, request),
            reply => ClientInterceptors.ReplyOf(Endpoint, method, reply, read),
            error => Locate(error, method),
            (status, error) =>
            {
                telemetry?.End(status, error);
                CountCall();
            });

    private Exception NotBegun(RpcMethodInfo method, ClientTelemetry? telemetry, Exception error)
    {
        telemetry?.End((error as RpcException)?.Code ?? RpcStatusCode.Unknown, error);
        CountCall();
        return error is RpcException failure ? Locate(failure, method) : error;
    }

    private async IAsyncEnumerable<TReply> StreamAsync<TReply>(
        RpcMethodInfo method,
        IAsyncEnumerable<object> requests,
        ReplyReader<TReply> read,
        RpcCallOptions? options,
        [EnumeratorCancellation] CancellationToken cancellation)
        where TReply : class, IMessage
    {
        ArgumentNullException.ThrowIfNull(requests);
        cancellation.ThrowIfCancellationRequested();
        using CancellationTokenSource end = CancellationTokenSource.CreateLinkedTokenSource(cancellation);
        await using RpcStreamingCall<object, TReply> call = new(
            await BeginAsync<AsyncWait, TReply>(method, read, options, end.Token).ConfigureAwait(false));
        Task sending = call.SendAllAsync(requests, end);
        try
        {
            while (await call.ReadAsync(CancellationToken.None).ConfigureAwait(false))
            {
                yield return call.Current;
            }
        }
        finally
        {
            // Cancelling ends the source of the requests. If the source fails, its error is thrown.
            await end.CancelAsync().ConfigureAwait(false);
            await LeaveAsync(sending).ConfigureAwait(false);
        }
    }

    // Waits for the source of the requests, so that it does not run on after the call. The wait is short,
    // because a source may ignore its cancellation.
    private static async Task LeaveAsync(Task sending)
    {
        await Task.WhenAny(sending, Task.Delay(SourceGrace)).ConfigureAwait(false);
        if (sending.IsCompleted)
        {
            await sending.ConfigureAwait(false);
            return;
        }

        _ = sending.ContinueWith(
            static ended => _ = ended.Exception, CancellationToken.None,
            TaskContinuationOptions.OnlyOnFaulted | TaskContinuationOptions.ExecuteSynchronously,
            TaskScheduler.Default);
    }

    // Reads the reply of a method that has only one.
    private static async Task<TReply> OnlyAsync<TReply>(
        RpcMethodInfo method, IAsyncEnumerable<TReply> replies)
        where TReply : class, IMessage
    {
        if (method.IsServerStreaming)
        {
            throw new RpcException(RpcStatusCode.InvalidArgument, RpcChannels.StreamingHint(method));
        }

        TReply? only = null;
        await foreach (TReply reply in replies.ConfigureAwait(false))
        {
            only = only is null ? reply : throw ReplyParser.NotOne("more than one reply");
        }

        return only ?? throw ReplyParser.NotOne("no reply, but the status OK");
    }

    private static async IAsyncEnumerable<object> One(object request)
    {
        await Task.CompletedTask.ConfigureAwait(false);
        yield return request;
    }
}

using Google.Protobuf;
using ProtoRpc.Client;
using ProtoRpc.Client.Interceptors;
using ProtoRpc.Messages;
using ProtoRpc.Protocols.Native;
using ProtoRpc.Transports;

namespace ProtoRpc;

// Runs calls: converts the request, sends it through the channel, and converts the reply.
public sealed partial class RpcClient
{
    // Without interceptors, nothing is allocated here: allocations would make a call ten percent slower.
    private TReply Call<TReply>(
        RpcMethodInfo method, object request, ReplyReader<TReply> read, RpcCallOptions? options,
        CancellationToken cancellation)
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
            TReply reply = _interceptors is { } chain
                ? Intercepted(chain, call, message, read, cancellation)
                : _channel.Invoke(Traced(call), message, read, cancellation);
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

    private TReply Intercepted<TReply>(
        ClientInterceptors chain, CallSpec call, IMessage message, ReplyReader<TReply> read,
        CancellationToken cancellation)
        where TReply : class, IMessage => ClientInterceptors.Wait(() => chain.InvokeAsync(
            call, message,
            (spec, sent) => Task.FromResult(_channel.Invoke(Traced(spec), sent, read, cancellation)),
            RequestOf, read, cancellation));

    // A single async method, because each one allocates memory while a call waits.
    private async Task<TReply> CallAsync<TReply>(
        RpcMethodInfo method, object request, ReplyReader<TReply> read, RpcCallOptions? options,
        CancellationToken cancellation)
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
                ? InterceptedAsync(chain, call, message, read, cancellation)
                : _channel.InvokeAsync(Traced(call), message, read, cancellation)).ConfigureAwait(false);
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

    private Task<TReply> InterceptedAsync<TReply>(
        ClientInterceptors chain, CallSpec call, IMessage message, ReplyReader<TReply> read,
        CancellationToken cancellation)
        where TReply : class, IMessage => chain.InvokeAsync(
            call, message,
            (spec, sent) => _channel.InvokeAsync(Traced(spec), sent, read, cancellation),
            RequestOf, read, cancellation);

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

    private CallSpec SpecOf(RpcMethodInfo method, RpcCallOptions? options) =>
        options is { Extensions: not null } && !Endpoint.Has(EndpointFeatures.HeaderExtensions)
            ? throw HeaderExtensions.NotCarried(Endpoint)
            : CallSpec.Of(method, Counted(options), _limits, Endpoint);

    // The log contains the sizes of calls, so they are counted.
    private RpcCallOptions? Counted(RpcCallOptions? options) =>
        _log is { LogsCalls: true } && options?.Response is null
            ? (options ?? new RpcCallOptions()) with { Response = new RpcResponseInfo() }
            : options;

    private ClientTelemetry? Observe(in CallSpec call) => ClientTelemetry.Begin(
        Endpoint.IsGrpc ? "grpc" : "protorpc", call.Method.FullName, Endpoint, _log, call.Options?.Response);

    private IMessage RequestOf(RpcMethodInfo method, object request)
    {
        ArgumentNullException.ThrowIfNull(request);
        if (request is not IMessage message)
        {
            return _mapper.ToMessage(method.RequestType, request);
        }

        if (message.Descriptor.FullName != method.RequestType.FullName)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"{method.FullName} takes a {method.RequestType.FullName}, "
                + $"not a {message.Descriptor.FullName}.");
        }

        MessageChecks.RequireInitialized(message, method.RequestType);
        return message;
    }

    private CallSpec Traced(CallSpec call) => ClientTelemetry.Trace(call, _options.Headers);

    private void CountCall() => Interlocked.Increment(ref _calls);

    private TReply Run<TReply>(in CallSpec spec, Func<TReply> call, CancellationToken cancellation)
    {
        ClientTelemetry? telemetry = Observe(spec);
        RpcException? failure = null;
        RpcStatusCode status = RpcStatusCode.Unknown;
        try
        {
            TReply reply = Cancellable(call, cancellation);
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

    private async Task<TReply> RunAsync<TReply>(
        CallSpec spec, Func<Task<TReply>> call, CancellationToken cancellation)
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

    private async Task<TResult> CancellableAsync<TResult>(
        Func<Task<TResult>> call, CancellationToken cancellation)
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
}

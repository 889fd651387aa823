using System.Runtime.CompilerServices;
using Google.Protobuf;
using ProtoRpc.Client;
using ProtoRpc.Client.Interceptors;

namespace ProtoRpc;

// Streaming calls.
public sealed partial class RpcClient
{
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
        return new(Begin(method, DynamicReader(method), options, cancellationToken));
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
        return new(Begin(method, TypedReader<TReply>(method), options, cancellationToken));
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
        return new(await BeginAsync(method, DynamicReader(method), options, cancellationToken)
            .ConfigureAwait(false));
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
        return new(await BeginAsync(method, TypedReader<TReply>(method), options, cancellationToken)
            .ConfigureAwait(false));
    }

    /// <summary>Calls a method with one request, and reads its replies as they arrive.</summary>
    /// <param name="method">The method, or its bare or full name.</param>
    /// <param name="request">The request: a message, or an object or dictionary with its fields.</param>
    /// <param name="options">The deadline, headers and other options; null for the defaults.</param>
    /// <param name="cancellationToken">Cancels the call on both sides. Leaving the loop early also cancels
    /// it.</param>
    /// <exception cref="RpcException">The call failed, with the server's status. Unimplemented: the transport
    /// does not support streams. InvalidArgument: the request does not fit the method. NotFound: the method
    /// does not exist. FailedPrecondition: there is no schema for the name.</exception>
    public IAsyncEnumerable<DynamicMessage> InvokeStreamAsync(
        string method, object request, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default) =>
        InvokeStreamAsync(MethodOf(method, request), request, options, cancellationToken);

    /// <inheritdoc cref="InvokeStreamAsync(string, object, RpcCallOptions?, CancellationToken)"/>
    public IAsyncEnumerable<DynamicMessage> InvokeStreamAsync(
        RpcMethodInfo method, object request, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default) =>
        InvokeStreamAsync(method, One(request), options, cancellationToken);

    /// <summary>Calls a streaming method. Sends requests as the source returns them, and reads replies as
    /// they arrive.</summary>
    /// <param name="method">The method, or its bare or full name.</param>
    /// <param name="requests">The requests: messages, or objects or dictionaries with their fields. They are
    /// read while replies arrive.</param>
    /// <param name="options">The deadline, headers and other options; null for the defaults.</param>
    /// <param name="cancellationToken">Cancels the call on both sides. Leaving the loop early also cancels
    /// it.</param>
    /// <exception cref="RpcException">The statuses of a call with one request.</exception>
    public IAsyncEnumerable<DynamicMessage> InvokeStreamAsync(
        string method, IAsyncEnumerable<object> requests, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default) =>
        InvokeStreamAsync(GetMethod(method), requests, options, cancellationToken);

    /// <inheritdoc
    /// cref="InvokeStreamAsync(string, IAsyncEnumerable{object}, RpcCallOptions?, CancellationToken)"/>
    public IAsyncEnumerable<DynamicMessage> InvokeStreamAsync(
        RpcMethodInfo method, IAsyncEnumerable<object> requests, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(method);
        return StreamAsync(method, requests, DynamicReader(method), options, cancellationToken);
    }

    /// <summary>Calls a method with one request, and reads its replies as generated messages, as they
    /// arrive.</summary>
    /// <typeparam name="TReply">The generated class of the method's reply type.</typeparam>
    /// <inheritdoc cref="InvokeStreamAsync(string, object, RpcCallOptions?, CancellationToken)"/>
    public IAsyncEnumerable<TReply> InvokeStreamAsync<TReply>(
        string method, object request, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default)
        where TReply : class, IMessage<TReply>, new() =>
        InvokeStreamAsync<TReply>(MethodOf<TReply>(method, request), request, options, cancellationToken);

    /// <inheritdoc cref="InvokeStreamAsync{TReply}(string, object, RpcCallOptions?, CancellationToken)"/>
    public IAsyncEnumerable<TReply> InvokeStreamAsync<TReply>(
        RpcMethodInfo method, object request, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default)
        where TReply : class, IMessage<TReply>, new() =>
        InvokeStreamAsync<TReply>(method, One(request), options, cancellationToken);

    /// <summary>Calls a streaming method. Sends requests as the source returns them, and reads replies as
    /// generated messages, as they arrive.</summary>
    /// <typeparam name="TReply">The generated class of the method's reply type.</typeparam>
    /// <inheritdoc
    /// cref="InvokeStreamAsync(string, IAsyncEnumerable{object}, RpcCallOptions?, CancellationToken)"/>
    public IAsyncEnumerable<TReply> InvokeStreamAsync<TReply>(
        string method, IAsyncEnumerable<object> requests, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default)
        where TReply : class, IMessage<TReply>, new() =>
        InvokeStreamAsync<TReply>(
            MethodOf(method, null, Generated<TReply>.Descriptor), requests, options, cancellationToken);

    /// <inheritdoc cref=
    /// "InvokeStreamAsync{TReply}(string, IAsyncEnumerable{object}, RpcCallOptions?, CancellationToken)"/>
    public IAsyncEnumerable<TReply> InvokeStreamAsync<TReply>(
        RpcMethodInfo method, IAsyncEnumerable<object> requests, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default)
        where TReply : class, IMessage<TReply>, new()
    {
        RequireReply<TReply>(method);
        return StreamAsync(method, requests, TypedReader<TReply>(method), options, cancellationToken);
    }

    private StreamingCallParts<TReply> Begin<TReply>(
        RpcMethodInfo method, ReplyReader<TReply> read, RpcCallOptions? options,
        CancellationToken cancellation)
        where TReply : class, IMessage
    {
        RequireOpen(cancellation);
        CallSpec call = SpecOf(method, options);
        ClientTelemetry? telemetry = Observe(call);
        try
        {
            return PartsOf(method, read, telemetry, Cancellable(
                () => _interceptors is { } chain
                    ? ClientInterceptors.Wait(
                        () => chain.OpenAsync(
                            call, spec => OpenChannel(spec, read, cancellation), cancellation))
                    : OpenChannel(call, read, cancellation),
                cancellation));
        }
        catch (Exception e)
        {
            throw NotBegun(method, telemetry, e);
        }
        finally
        {
            telemetry?.Leave();
        }
    }

    private async Task<StreamingCallParts<TReply>> BeginAsync<TReply>(
        RpcMethodInfo method, ReplyReader<TReply> read, RpcCallOptions? options,
        CancellationToken cancellation)
        where TReply : class, IMessage
    {
        if (_interceptors is not { } chain)
        {
            // Beginning a call does not block without interceptors.
            return Begin(method, read, options, cancellation);
        }

        RequireOpen(cancellation);
        CallSpec call = SpecOf(method, options);
        ClientTelemetry? telemetry = Observe(call);
        try
        {
            return PartsOf(method, read, telemetry, await CancellableAsync(
                () => chain.OpenAsync(call, spec => OpenChannel(spec, read, cancellation), cancellation),
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
            return new ClientStream(
                _channel.Open(Traced(call), end.Token), end,
                _interceptors is null ? null : request => RequestOf(method, request),
                read,
                error => Locate(error, method))
            {
                Endpoint = Endpoint,
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
            await BeginAsync(method, read, options, end.Token).ConfigureAwait(false));
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
            // Also ends the source of the requests, whose error the caller gets.
            await end.CancelAsync().ConfigureAwait(false);
            await sending.ConfigureAwait(false);
        }
    }

    private static async IAsyncEnumerable<object> One(object request)
    {
        await Task.CompletedTask.ConfigureAwait(false);
        yield return request;
    }
}

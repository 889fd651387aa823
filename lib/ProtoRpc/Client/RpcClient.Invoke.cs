using Google.Protobuf;
using ProtoRpc.Client;
using ProtoRpc.Client.Interceptors;

namespace ProtoRpc;

// Unary calls.
public sealed partial class RpcClient
{
    /// <summary>Calls a method and blocks until the reply.</summary>
    /// <param name="method">The method, or its bare or full name.</param>
    /// <param name="request">The request: a message, or an object or dictionary with its fields.</param>
    /// <param name="options">The deadline, headers and other options; null for the defaults.</param>
    /// <param name="cancellationToken">Cancels the call on both sides.</param>
    /// <exception cref="RpcException">The call failed, with the server's status. InvalidArgument: the request
    /// does not fit the method. NotFound: the method does not exist. FailedPrecondition: there is no schema
    /// for the name.</exception>
    public DynamicMessage Invoke(
        string method, object request, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default) =>
        Invoke(MethodOf(method, request), request, options, cancellationToken);

    /// <inheritdoc cref="Invoke(string, object, RpcCallOptions?, CancellationToken)"/>
    public DynamicMessage Invoke(
        RpcMethodInfo method, object request, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(method);
        return Call(method, request, DynamicReader(method), options, cancellationToken);
    }

    /// <summary>Calls a method that replies with a generated message, and blocks until the reply.</summary>
    /// <typeparam name="TReply">The generated class of the method's reply type.</typeparam>
    /// <inheritdoc cref="Invoke(string, object, RpcCallOptions?, CancellationToken)"/>
    public TReply Invoke<TReply>(
        string method, object request, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default)
        where TReply : class, IMessage<TReply>, new() =>
        Invoke<TReply>(MethodOf<TReply>(method, request), request, options, cancellationToken);

    /// <inheritdoc cref="Invoke{TReply}(string, object, RpcCallOptions?, CancellationToken)"/>
    public TReply Invoke<TReply>(
        RpcMethodInfo method, object request, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default)
        where TReply : class, IMessage<TReply>, new()
    {
        RequireReply<TReply>(method);
        return Call(method, request, TypedReader<TReply>(method), options, cancellationToken);
    }

    /// <summary>Calls a method without blocking a thread.</summary>
    /// <inheritdoc cref="Invoke(string, object, RpcCallOptions?, CancellationToken)"/>
    public Task<DynamicMessage> InvokeAsync(
        string method, object request, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default) =>
        InvokeAsync(MethodOf(method, request), request, options, cancellationToken);

    /// <inheritdoc cref="InvokeAsync(string, object, RpcCallOptions?, CancellationToken)"/>
    public Task<DynamicMessage> InvokeAsync(
        RpcMethodInfo method, object request, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(method);
        return CallAsync(method, request, DynamicReader(method), options, cancellationToken);
    }

    /// <summary>Calls a method that replies with a generated message, without blocking a thread.</summary>
    /// <inheritdoc cref="Invoke{TReply}(string, object, RpcCallOptions?, CancellationToken)"/>
    public Task<TReply> InvokeAsync<TReply>(
        string method, object request, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default)
        where TReply : class, IMessage<TReply>, new() =>
        InvokeAsync<TReply>(MethodOf<TReply>(method, request), request, options, cancellationToken);

    /// <inheritdoc cref="InvokeAsync{TReply}(string, object, RpcCallOptions?, CancellationToken)"/>
    public Task<TReply> InvokeAsync<TReply>(
        RpcMethodInfo method, object request, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default)
        where TReply : class, IMessage<TReply>, new()
    {
        RequireReply<TReply>(method);
        return CallAsync(method, request, TypedReader<TReply>(method), options, cancellationToken);
    }

    /// <summary>Calls a method with a serialized request from a stream, and blocks until the reply. Use it
    /// for requests that are too large for memory. Native endpoints send the request in parts, and the
    /// timeout applies to each part.</summary>
    /// <param name="method">The method.</param>
    /// <param name="request">The stream, which is read from its position to its end. Its length must be
    /// known, and be less than 2 GiB.</param>
    /// <param name="options">The deadline, headers and other options; null for the defaults. <see
    /// cref="RpcCallOptions.Progress"/> receives the progress after each part.</param>
    /// <param name="cancellationToken">Cancels the call on both sides.</param>
    /// <exception cref="RpcException">The call failed. InvalidArgument: the request is too large.
    /// Unimplemented: gRPC sends a message in one piece.</exception>
    public DynamicMessage Upload(
        RpcMethodInfo method, Stream request, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        CallSpec call = BeginUpload(method, request, options, cancellationToken);
        ReplyReader<DynamicMessage> read = DynamicReader(method);
        return Run(
            call,
            () => _interceptors is { } chain
                ? ClientInterceptors.Wait(() => chain.UploadAsync(
                    call, request, spec => Task.FromResult(Send(spec)), read, cancellationToken))
                : Send(call),
            cancellationToken);

        DynamicMessage Send(CallSpec spec) => _channel.Upload(Traced(spec), request, read, cancellationToken);
    }

    /// <summary>Calls a method with a serialized request from a stream, without blocking a thread. Use it for
    /// requests that are too large for memory. Native endpoints send the request in parts, and the timeout
    /// applies to each part.</summary>
    /// <inheritdoc cref="Upload"/>
    public Task<DynamicMessage> UploadAsync(
        RpcMethodInfo method, Stream request, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(method);
        return UploadAsync(method, request, DynamicReader(method), options, cancellationToken);
    }

    private async Task<TReply> UploadAsync<TReply>(
        RpcMethodInfo method, Stream request, ReplyReader<TReply> read, RpcCallOptions? options,
        CancellationToken cancellationToken)
        where TReply : class, IMessage
    {
        CallSpec call = BeginUpload(method, request, options, cancellationToken);
        return await RunAsync(
            call,
            () => _interceptors is { } chain
                ? chain.UploadAsync(call, request, SendAsync, read, cancellationToken)
                : SendAsync(call),
            cancellationToken).ConfigureAwait(false);

        Task<TReply> SendAsync(CallSpec spec) =>
            _channel.UploadAsync(Traced(spec), request, read, cancellationToken);
    }

    private CallSpec BeginUpload(
        RpcMethodInfo method, Stream request, RpcCallOptions? options, CancellationToken cancellation)
    {
        ArgumentNullException.ThrowIfNull(method);
        ArgumentNullException.ThrowIfNull(request);
        RequireOpen(cancellation);
        return request.Length - request.Position <= int.MaxValue
            ? SpecOf(method, options)
            : throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"The request has {request.Length - request.Position:N0} bytes. A message of "
                + "Protocol Buffers has at most 2 GiB less one byte.");
    }
}

namespace ProtoRpc;

/// <summary>The context of a call in a client's interceptors.</summary>
public sealed class RpcClientCallContext
{
    /// <summary>Creates a context without a transport, for tests of interceptors.</summary>
    /// <param name="method">The method.</param>
    /// <param name="endpoint">The endpoint.</param>
    /// <param name="options">The deadline, headers and other options, which are copied; null for the
    /// defaults.</param>
    /// <param name="cancellationToken">Cancels the call.</param>
    public RpcClientCallContext(
        RpcMethodInfo method, RpcEndpoint endpoint, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(method);
        ArgumentNullException.ThrowIfNull(endpoint);
        Method = method;
        Endpoint = endpoint;
        CancellationToken = cancellationToken;
        options ??= new RpcCallOptions();
        Options = options with
        {
            Headers = options.Headers?.Copy() ?? new RpcMetadata(),
            Response = options.Response ?? new RpcResponseInfo(),
        };
    }

    /// <summary>The method.</summary>
    public RpcMethodInfo Method { get; }

    /// <summary>The endpoint. If the client has several, the first.</summary>
    public RpcEndpoint Endpoint { get; }

    /// <summary>The headers of the call, without the headers that the client sends with every call. Changes
    /// before <c>next</c> are sent.</summary>
    public RpcMetadata Headers => Options.Headers!;

    /// <summary>When the call must have ended, including all attempts; null for no limit.</summary>
    public DateTimeOffset? Deadline => Options.Deadline;

    /// <summary>A copy of the caller's options. <see cref="RpcCallOptions.Deadline"/> contains the deadline
    /// of the call; for uploads, that of each part. Changes before <c>next</c> apply to the call.</summary>
    public RpcCallOptions Options { get; }

    /// <summary>The headers and trailers of the latest reply; empty before it arrives.</summary>
    public RpcResponseInfo Response => Options.Response!;

    /// <summary>The stream with the request's bytes for <see cref="RpcClient.Upload"/>; null for other calls.
    /// To call <c>next</c> again, the stream must be seekable.</summary>
    public Stream? Upload { get; internal init; }

    /// <summary>Cancels the call.</summary>
    public CancellationToken CancellationToken { get; }

    internal RpcClientHandler Send { get; init; } = static (context, _) => throw context.NotOfACall();

    internal RpcClientStreamHandler Open { get; init; } = static context => throw context.NotOfACall();

    private InvalidOperationException NotOfACall() => new(
        $"The context of {Method.FullName} does not belong to a call of a client. "
        + "Pass on the context that the interceptor received.");
}

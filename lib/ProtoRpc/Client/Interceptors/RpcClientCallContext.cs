namespace ProtoRpc;

/// <summary>A call, as interceptors of clients see it.</summary>
public sealed class RpcClientCallContext
{
    /// <summary>A context for tests of interceptors, without a transport.</summary>
    /// <param name="method">The method.</param>
    /// <param name="endpoint">The endpoint.</param>
    /// <param name="options">Deadline, headers and the like, copied; null for the defaults.</param>
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

    /// <summary>The endpoint; of a client of several, the first.</summary>
    public RpcEndpoint Endpoint { get; }

    /// <summary>The headers of the call, without those that the client sends with every call. What is changed
    /// before <c>next</c> goes with the call.</summary>
    public RpcMetadata Headers => Options.Headers!;

    /// <summary>When the call is over, all tries included; null for never.</summary>
    public DateTimeOffset? Deadline => Options.Deadline;

    /// <summary>How the call is made: a copy of what the caller asked for, with the time of the call as
    /// <see cref="RpcCallOptions.Deadline"/>, or for uploads as that of each part. What is changed before
    /// <c>next</c> holds for the call.</summary>
    public RpcCallOptions Options { get; }

    /// <summary>Headers and trailers of the latest reply, once it has come; empty before.</summary>
    public RpcResponseInfo Response => Options.Response!;

    /// <summary>The stream that the request's bytes come from, for <see cref="RpcClient.Upload"/>;
    /// null for other calls. A second call of <c>next</c> needs one that can seek.</summary>
    public Stream? Upload { get; internal init; }

    /// <summary>Cancels the call.</summary>
    public CancellationToken CancellationToken { get; }

    internal RpcClientHandler Send { get; init; } = static (context, _) => throw context.NotOfACall();

    internal RpcClientStreamHandler Open { get; init; } = static context => throw context.NotOfACall();

    private InvalidOperationException NotOfACall() => new(
        $"The context of {Method.FullName} does not belong to a call of a client. "
        + "Pass on the context that the interceptor received.");
}

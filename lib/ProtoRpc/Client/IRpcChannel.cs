using Google.Protobuf;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Transports;

namespace ProtoRpc.Client;

/// <summary>One way for a client to reach an endpoint: the native protocol, HTTP, gRPC.</summary>
/// <remarks>An asynchronous method that a channel does not have of its own runs the blocking one on the
/// thread pool: the system's calls that connect and look up names have no other form.</remarks>
internal interface IRpcChannel : IDisposable, IAsyncDisposable
{
    /// <summary>The side channel: sent with every call, and replaced by what a reply brings.</summary>
    RpcCallContext Context { get; set; }

    /// <summary>Reaches the server, so that it is found out now when it is not there. Without, the first call
    /// connects.</summary>
    /// <exception cref="RpcException">Unavailable, DeadlineExceeded, and what the server refuses.</exception>
    void Connect(CancellationToken cancellation);

    /// <inheritdoc cref="Connect"/>
    Task ConnectAsync(CancellationToken cancellation) =>
        Task.Run(() => Connect(cancellation), CancellationToken.None);

    /// <summary>Makes one call and blocks for the reply.</summary>
    TReply Invoke<TReply>(
        CallSpec call, IMessage request, ReplyReader<TReply> read, CancellationToken cancellation);

    /// <summary>Makes one call without holding a thread.</summary>
    Task<TReply> InvokeAsync<TReply>(
        CallSpec call, IMessage request, ReplyReader<TReply> read, CancellationToken cancellation);

    /// <summary>Makes one call whose request's bytes come from a stream.</summary>
    TReply Upload<TReply>(
        CallSpec call, Stream request, ReplyReader<TReply> read, CancellationToken cancellation);

    /// <inheritdoc cref="Upload"/>
    Task<TReply> UploadAsync<TReply>(
        CallSpec call, Stream request, ReplyReader<TReply> read, CancellationToken cancellation) =>
        Task.Run(() => Upload(call, request, read, cancellation), CancellationToken.None);

    /// <summary>Begins a call whose messages go and come one at a time.</summary>
    IRpcStream Open(CallSpec call, CancellationToken cancellation);

    /// <summary>Reads the schema of the server.</summary>
    /// <exception cref="RpcException">Unimplemented: the server or protocol has no reflection.</exception>
    RpcSchema FetchSchema(CancellationToken cancellation);

    /// <inheritdoc cref="FetchSchema(CancellationToken)"/>
    Task<RpcSchema> FetchSchemaAsync(CancellationToken cancellation) =>
        Task.Run(() => FetchSchema(cancellation), CancellationToken.None);

    /// <summary>Reads the server's declaration of services in the client's schema.</summary>
    /// <returns>A schema that may have some of them; null if the server has no reflection.</returns>
    RpcSchema? FetchSchema(IReadOnlyList<RpcServiceInfo> services, CancellationToken cancellation);

    /// <inheritdoc cref="FetchSchema(IReadOnlyList{RpcServiceInfo}, CancellationToken)"/>
    Task<RpcSchema?> FetchSchemaAsync(
        IReadOnlyList<RpcServiceInfo> services, CancellationToken cancellation) =>
        Task.Run(() => FetchSchema(services, cancellation), CancellationToken.None);

    /// <summary>Pings the server.</summary>
    /// <exception cref="RpcException">The server did not answer; NotFound when it does not serve the service
    /// that is asked for.</exception>
    RpcPingResult Ping(PingSpec ping, CancellationToken cancellation);

    /// <inheritdoc cref="Ping"/>
    Task<RpcPingResult> PingAsync(PingSpec ping, CancellationToken cancellation) =>
        Task.Run(() => Ping(ping, cancellation), CancellationToken.None);

    ValueTask IAsyncDisposable.DisposeAsync() => new(Task.Run(Dispose));
}

/// <summary>What a ping asks.</summary>
/// <param name="Through">The service that native endpoints are pinged through; null asks only whether a
/// server is there.</param>
/// <param name="Service">The full name of the service that the server must have; null for any.</param>
/// <param name="Timeout">How long the caller waits.</param>
internal readonly record struct PingSpec(RpcServiceInfo? Through, string? Service, TimeSpan Timeout)
{
    /// <summary>What the server's ping handlers are sent; null for nothing.</summary>
    public IMessage? Request { get; init; }

    /// <summary>Whether the caller wants an answer of the ping handlers,
    /// and so is told why there is none.</summary>
    public bool IsAsking => Request is not null;

    /// <summary>The message that is sent.</summary>
    public IMessage Message => Request ?? new RpcPingRequest();
}

/// <summary>What is called, and how long the caller waits.</summary>
/// <param name="Method">The method.</param>
/// <param name="Clock">The call's time, which runs from the first try on.</param>
internal readonly record struct CallSpec(RpcMethodInfo Method, CallClock Clock)
{
    /// <summary>A call whose time begins now.</summary>
    public CallSpec(RpcMethodInfo method, TimeSpan timeout)
        : this(method, CallClock.Start(timeout))
    {
    }

    /// <summary>Receives the progress of a large request, or null.</summary>
    public IProgress<RpcProgress>? Progress { get; init; }

    /// <summary>Headers, compression and what else the caller asked for; null for nothing.</summary>
    public RpcCallOptions? Options { get; init; }

    /// <summary>Keeps the request for further tries, where there may be some.</summary>
    public KeptRequest? Kept { get; init; }

    /// <summary>A call of a method with options; without a timeout, unary calls have the limit's.</summary>
    /// <exception cref="RpcException">DeadlineExceeded: its deadline has passed already.</exception>
    public static CallSpec Of(
        RpcMethodInfo method, RpcCallOptions? options, RpcLimits limits, RpcEndpoint endpoint) =>
        new(method, CallDeadline.Of(options, method.IsUnary ? limits.CallTimeout : null, endpoint))
        {
            Options = options,
            Progress = options?.Progress,
        };
}

/// <summary>A call that runs, seen from the client.
/// Disposing it before its end cancels it on the server.</summary>
/// <remarks>You can send and read in parallel, but not send or read twice at a time.</remarks>
internal interface IRpcStream : IAsyncDisposable
{
    /// <summary>The message that was read, until the next one is.</summary>
    ReplyBody Current { get; }

    /// <summary>Sends a message; waits while the server does not take it.</summary>
    /// <param name="message">The message.</param>
    /// <param name="compress">Whether it is compressed where the call's messages are.</param>
    /// <returns>False if the server has ended the call; reading returns or throws how.</returns>
    ValueTask<bool> SendAsync(IMessage message, bool compress);

    /// <summary>Ends the request stream.</summary>
    ValueTask CompleteAsync();

    /// <summary>Waits for the next message.</summary>
    /// <returns>False when the call has ended well.</returns>
    /// <exception cref="RpcException">The call failed.</exception>
    ValueTask<bool> ReadAsync();
}

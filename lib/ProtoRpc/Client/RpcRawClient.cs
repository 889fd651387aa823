using ProtoRpc.Client;
using ProtoRpc.Client.Native;
using ProtoRpc.Client.Retries;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Protocols.Native;
using ProtoRpc.Transports;

namespace ProtoRpc;

/// <summary>Calls one raw interface: bytes in, bytes out. Thread-safe.</summary>
/// <remarks>If a connection breaks, the next call reconnects. A call that may have reached the server is
/// not sent twice, unless its <see cref="RpcRetryPolicy"/> names the status. If a token is already cancelled,
/// <see cref="OperationCanceledException"/> is thrown, and nothing is sent. If it is cancelled later, the
/// call fails with the status Cancelled.</remarks>
/// <example><code>
/// await using RpcRawClient client = await RpcRawClient.ConnectAsync(
///     "ncacn_ip_tcp:127.0.0.1[8080]", interfaceId);
/// byte[] reply = await client.ExecuteAsync("hello"u8.ToArray());
/// </code></example>
public sealed class RpcRawClient : IDisposable, IAsyncDisposable
{
    private readonly NativeConnectionPool _client;
    private readonly RpcLimits _limits;
    private readonly string _name;
    private readonly ClientLog? _log;
    private readonly RetryPolicy _retry;
    private long _calls;
    private int _closed;

    private RpcRawClient(
        Guid interfaceId, NativeConnectionPool client, RpcClientOptions options, ClientLog? log)
    {
        InterfaceId = interfaceId;
        _name = interfaceId.ToString();
        _client = client;
        _limits = options.Limits;
        _log = log;
        _retry = new RetryPolicy(client.Endpoint, options.Retry, log, options.Trace);
    }

    /// <summary>The endpoint.</summary>
    public RpcEndpoint Endpoint => _client.Endpoint;

    /// <summary>The interface.</summary>
    public Guid InterfaceId { get; }

    /// <summary>False after the client is disposed.</summary>
    public bool IsOpen => Volatile.Read(ref _closed) == 0;

    /// <summary>The number of completed calls, including failed ones.</summary>
    public long CallCount => Volatile.Read(ref _calls);

    /// <summary>Connects and binds, so that a wrong endpoint or interface is reported immediately.</summary>
    /// <param name="endpoint">An endpoint of the native protocol.</param>
    /// <param name="interfaceId">The UUID of the interface, whose version is 1.0.</param>
    /// <param name="limits">The limits; null for the defaults. The call timeout is the default
    /// deadline.</param>
    /// <param name="security">How the client authenticates; null for anonymous calls.</param>
    /// <param name="tls">The TLS options of an endpoint on TCP; null for no TLS.</param>
    /// <param name="cancellationToken">Cancels connecting.</param>
    /// <exception cref="RpcException">Unavailable or DeadlineExceeded. Unimplemented: the interface is not
    /// served there, or the endpoint does not use the native protocol. InvalidArgument: TLS is only supported
    /// on TCP.</exception>
    public static RpcRawClient Connect(
        RpcEndpoint endpoint,
        Guid interfaceId,
        RpcLimits? limits = null,
        RpcClientSecurity? security = null,
        RpcTlsOptions? tls = null,
        CancellationToken cancellationToken = default)
    {
        limits ??= RpcLimits.Default;
        return Connect(
            endpoint,
            interfaceId,
            new RpcClientOptions
            {
                Limits = limits,
                Security = security ?? RpcClientSecurity.Anonymous,
                UseTls = tls is not null,
                Tls = tls ?? new RpcTlsOptions(),
            },
            cancellationToken);
    }

    /// <summary>Connects and binds with options: limits, security, TLS, retries, and whether to connect with
    /// the first call. The other options apply only to messages.</summary>
    /// <param name="endpoint">An endpoint of the native protocol.</param>
    /// <param name="interfaceId">The UUID of the interface, whose version is 1.0.</param>
    /// <param name="options">The client's options.</param>
    /// <param name="cancellationToken">Cancels connecting.</param>
    /// <exception cref="RpcException">Unavailable or DeadlineExceeded. Unimplemented: the interface is not
    /// served there, or the endpoint does not use the native protocol. InvalidArgument: TLS is only supported
    /// on TCP.</exception>
    public static RpcRawClient Connect(
        RpcEndpoint endpoint, Guid interfaceId, RpcClientOptions options,
        CancellationToken cancellationToken = default)
    {
        RpcRawClient client = Create(endpoint, interfaceId, options, cancellationToken);
        if (options.Lazy)
        {
            return client;
        }

        try
        {
            CallAttempts attempts = client._retry.StartConnecting(source: null, cancellationToken);
            BlockingWait.End(attempts.RunAsync<BlockingWait, bool>(() =>
            {
                client._client.Reach(options.Limits.ConnectTimeout, cancellationToken);
                return new(true);
            }));
            return client;
        }
        catch (OperationCanceledException e) when (cancellationToken.IsCancellationRequested)
        {
            client.Dispose();
            throw EndpointErrors.ConnectCancelled(endpoint, e);
        }
        catch
        {
            client.Dispose();
            throw;
        }
    }

    /// <inheritdoc cref="Connect(RpcEndpoint, Guid, RpcClientOptions, CancellationToken)"/>
    public static RpcRawClient Connect(
        string endpoint, Guid interfaceId, RpcClientOptions? options = null,
        CancellationToken cancellationToken = default) =>
        Connect(RpcEndpoint.Parse(endpoint), interfaceId, options ?? new(), cancellationToken);

    /// <summary>Connects and binds with options, without blocking the caller's thread.</summary>
    /// <inheritdoc cref="Connect(RpcEndpoint, Guid, RpcClientOptions, CancellationToken)"/>
    public static Task<RpcRawClient> ConnectAsync(
        string endpoint, Guid interfaceId, RpcClientOptions? options = null,
        CancellationToken cancellationToken = default) =>
        ConnectAsync(RpcEndpoint.Parse(endpoint), interfaceId, options ?? new(), cancellationToken);

    /// <summary>Connects and binds with options, without blocking the caller's thread.</summary>
    /// <inheritdoc cref="Connect(RpcEndpoint, Guid, RpcClientOptions, CancellationToken)"/>
    public static Task<RpcRawClient> ConnectAsync(
        RpcEndpoint endpoint, Guid interfaceId, RpcClientOptions options,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(endpoint);
        ArgumentNullException.ThrowIfNull(options);

        // On the thread pool, because the system calls for connecting block.
        return cancellationToken.IsCancellationRequested
            ? Task.FromCanceled<RpcRawClient>(cancellationToken)
            : Task.Run(
                () => Connect(endpoint, interfaceId, options, cancellationToken), CancellationToken.None);
    }

    /// <summary>Makes a call and blocks until the reply.</summary>
    /// <param name="request">The request.</param>
    /// <param name="timeout">Null for the limit's call timeout; InfiniteTimeSpan for no limit.</param>
    /// <param name="cancellationToken">Cancels the call on both sides.</param>
    /// <exception cref="RpcException">The call failed with a fault, or with a return code other than 0, which
    /// is in <see cref="RpcException.NativeStatus"/>.</exception>
    public byte[] Execute(
        ReadOnlySpan<byte> request, TimeSpan? timeout = null,
        CancellationToken cancellationToken = default) =>
        Execute(request, new RpcCallOptions { Timeout = timeout }, cancellationToken);

    /// <summary>Makes a call with options and blocks until the reply. Raw calls support the timeout and
    /// deadline, waiting for an unreachable server, and receiving sizes and retries.</summary>
    /// <param name="request">The request.</param>
    /// <param name="options">The options.</param>
    /// <param name="cancellationToken">Cancels the call on both sides.</param>
    /// <exception cref="RpcException">The call failed with a fault, or with a return code other than 0.
    /// InvalidArgument: raw calls do not support headers, extensions, compression and progress.</exception>
    public byte[] Execute(
        ReadOnlySpan<byte> request, RpcCallOptions options, CancellationToken cancellationToken = default)
    {
        CallClock clock = Begin(options, cancellationToken);
        RpcReplyInfo? info = InfoOf(options);
        CallAttempts attempts = Start(options, clock, info);
        ClientTelemetry? telemetry = Observe(info);
        RpcException? failure = null;
        RpcStatusCode status = RpcStatusCode.Unknown;
        try
        {
            RequireSize(request.Length);
            while (true)
            {
                try
                {
                    using NativeClientCall exchange = BlockingWait.End(
                        _client.BeginAsync<BlockingWait>(clock));
                    exchange.Request.Write(request);
                    Count(info, sent: request.Length);
                    byte[] reply = ReplyOf(
                        exchange, BlockingWait.End(exchange.ExecuteAsync<BlockingWait>(clock)), info);
                    status = RpcStatusCode.OK;
                    attempts.Succeed();
                    return reply;
                }
                catch (RpcException e)
                {
                    attempts.Wait(e);
                }
            }
        }
        catch (OperationCanceledException e) when (cancellationToken.IsCancellationRequested)
        {
            throw failure = CallErrors.Cancelled(Endpoint, attempts.MayHaveRun, e);
        }
        catch (RpcException e)
        {
            failure = e;
            throw;
        }
        finally
        {
            End(telemetry, status, failure);
        }
    }

    /// <summary>Makes a call without blocking a thread.</summary>
    public Task<byte[]> ExecuteAsync(
        ReadOnlyMemory<byte> request, TimeSpan? timeout = null,
        CancellationToken cancellationToken = default) =>
        ExecuteAsync(request, new RpcCallOptions { Timeout = timeout }, cancellationToken);

    /// <summary>Makes a call with options, without blocking a thread.</summary>
    /// <inheritdoc cref="Execute(ReadOnlySpan{byte}, RpcCallOptions, CancellationToken)"/>
    public async Task<byte[]> ExecuteAsync(
        ReadOnlyMemory<byte> request, RpcCallOptions options, CancellationToken cancellationToken = default)
    {
        CallClock clock = Begin(options, cancellationToken);
        RpcReplyInfo? info = InfoOf(options);
        CallAttempts attempts = Start(options, clock, info);
        ClientTelemetry? telemetry = Observe(info);
        RpcException? failure = null;
        RpcStatusCode status = RpcStatusCode.Unknown;
        try
        {
            RequireSize(request.Length);
            byte[] reply = await attempts.RunAsync<AsyncWait, byte[]>(async () =>
            {
                using NativeClientCall exchange = await _client.BeginAsync<AsyncWait>(clock)
                    .ConfigureAwait(false);
                exchange.Request.Write(request.Span);
                Count(info, sent: request.Length);
                int code = await exchange.ExecuteAsync<AsyncWait>(clock).ConfigureAwait(false);
                return ReplyOf(exchange, code, info);
            }).ConfigureAwait(false);
            status = RpcStatusCode.OK;
            return reply;
        }
        catch (OperationCanceledException e) when (cancellationToken.IsCancellationRequested)
        {
            throw failure = CallErrors.Cancelled(Endpoint, sent: false, e);
        }
        catch (RpcException e)
        {
            failure = e;
            throw;
        }
        finally
        {
            End(telemetry, status, failure);
        }
    }

    /// <summary>Closes the connections, and fails the running calls.</summary>
    public void Dispose()
    {
        if (Interlocked.Exchange(ref _closed, 1) == 0)
        {
            _client.Dispose();
        }
    }

    /// <inheritdoc cref="Dispose"/>
    public ValueTask DisposeAsync()
    {
        // Dispose does not block.
        Dispose();
        return default;
    }

    private static RpcRawClient Create(
        RpcEndpoint endpoint, Guid interfaceId, RpcClientOptions options, CancellationToken cancellation)
    {
        ArgumentNullException.ThrowIfNull(endpoint);
        ArgumentNullException.ThrowIfNull(options);
        cancellation.ThrowIfCancellationRequested();
        RawEndpoints.RequireNative(endpoint);
        options = options.Copy();
        options.Retry?.Check();
        ClientLog? log = ClientLog.From<RpcRawClient>(options);
        NativeConnectionPool client = NativeConnectionPool.Create(
            endpoint, interfaceId, options.Limits, options.Security, options.UseTls ? options.Tls : null,
            log,
            options.Trace);
        return new RpcRawClient(interfaceId, client, options, log);
    }

    private void RequireSize(int length)
    {
        if (length > _limits.MaxMessageBytes)
        {
            throw new RpcException(
                RpcStatusCode.ResourceExhausted, RpcErrorIds.MessageTooLarge,
                $"The request has {length:N0} bytes; the limit is {_limits.MaxMessageBytes:N0}. "
                + "Raw calls are not sent in parts: "
                + $"raise {nameof(RpcLimits)}.{nameof(RpcLimits.MaxMessageBytes)} on both sides.", Endpoint);
        }
    }

    private CallClock Begin(RpcCallOptions options, CancellationToken cancellation)
    {
        ArgumentNullException.ThrowIfNull(options);
        cancellation.ThrowIfCancellationRequested();
        if (options is { Headers: null, Extensions: null, Compression: null, Progress: null, Context: null })
        {
            return CallDeadline.Start(options, _limits.CallTimeout, Endpoint, cancellation);
        }

        throw new RpcException(
            RpcStatusCode.InvalidArgument,
            $"A raw call carries only its bytes. Leave out {nameof(RpcCallOptions.Headers)}, "
            + $"{nameof(RpcCallOptions.Extensions)}, {nameof(RpcCallOptions.Compression)} and "
            + $"{nameof(RpcCallOptions.Progress)}.", Endpoint);
    }

    // The log contains the sizes of calls, so they are counted.
    private RpcReplyInfo? InfoOf(RpcCallOptions options)
    {
        RpcReplyInfo? info = options.ReplyInfo ?? (_log is { LogsCalls: true } ? new() : null);
        if (info is not null)
        {
            info.Endpoint = Endpoint;
        }

        return info;
    }

    private CallAttempts Start(RpcCallOptions options, CallClock clock, RpcReplyInfo? info) =>
        new(_retry, source: null, clock)
        {
            Rules = _retry.RulesOf(options, method: null),
            Waits = options.WaitForReady,
            Info = info,
            Method = _name,
        };

    private ClientTelemetry? Observe(RpcReplyInfo? info) =>
        ClientTelemetry.Begin("dcerpc", _name, Endpoint, _log, info);

    private void End(ClientTelemetry? telemetry, RpcStatusCode status, RpcException? failure)
    {
        telemetry?.End(failure?.Code ?? status, failure);
        Interlocked.Increment(ref _calls);
    }

    private static void Count(RpcReplyInfo? info, int sent = 0, int received = 0)
    {
        if (info is not null)
        {
            info.BytesSent += sent;
            info.BytesReceived += received;
        }
    }

    private byte[] ReplyOf(NativeClientCall exchange, int code, RpcReplyInfo? info)
    {
        Count(info, received: exchange.Reply.Length);
        return code == 0
            ? exchange.Reply.ToArray()
            : throw NativeFault.OfReturnCode(Endpoint, $"Interface {InterfaceId}", (uint)code);
    }
}

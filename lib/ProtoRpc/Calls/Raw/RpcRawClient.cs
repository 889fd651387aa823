using System.Buffers;
using ProtoRpc.Security;
using ProtoRpc.Transports;
using ProtoRpc.Wire;

namespace ProtoRpc.Calls.Raw;

/// <summary>Calls one interface of the raw layer: bytes in, bytes out.
/// Safe for use by many threads.</summary>
/// <remarks>A connection that broke is made anew by the next call. A call that may have reached the server is
/// never sent twice.</remarks>
public sealed class RpcRawClient : IDisposable
{
    private readonly NativeClient _client;
    private readonly RpcLimits _limits;
    private long _calls;
    private int _closed;

    private RpcRawClient(Guid interfaceId, NativeClient client, RpcLimits limits)
    {
        InterfaceId = interfaceId;
        _client = client;
        _limits = limits;
    }

    /// <summary>The endpoint.</summary>
    public RpcEndpoint Endpoint => _client.Endpoint;

    /// <summary>The interface.</summary>
    public Guid InterfaceId { get; }

    /// <summary>False after it was disposed.</summary>
    public bool IsOpen => Volatile.Read(ref _closed) == 0;

    /// <summary>Calls that ended, failed ones included.</summary>
    public long CallCount => Volatile.Read(ref _calls);

    /// <summary>Connects and binds, so that a wrong endpoint or interface shows at once.</summary>
    /// <param name="endpoint">An endpoint of the native protocol.</param>
    /// <param name="interfaceId">The interface's UUID; version 1.0.</param>
    /// <param name="limits">Null for the defaults; their call timeout is the default one.</param>
    /// <param name="security">As whom to call; null for nobody.</param>
    /// <param name="tls">How to trust the server of an endpoint on TCP that speaks TLS;
    /// null for no TLS.</param>
    /// <param name="cancellation">Gives up.</param>
    /// <exception cref="RpcException">Unavailable, DeadlineExceeded, Unimplemented (the interface is not
    /// served there, or the endpoint is not of the native protocol),
    /// InvalidArgument (TLS on another transport than TCP).</exception>
    public static RpcRawClient Connect(
        RpcEndpoint endpoint,
        Guid interfaceId,
        RpcLimits? limits = null,
        RpcClientSecurity? security = null,
        RpcTlsOptions? tls = null,
        CancellationToken cancellation = default)
    {
        ArgumentNullException.ThrowIfNull(endpoint);
        RawEndpoints.RequireNative(endpoint);
        limits ??= RpcLimits.Default;
        NativeClient client = NativeClient.Connect(
            endpoint, interfaceId, limits, security ?? RpcClientSecurity.Anonymous, tls, cancellation);
        return new RpcRawClient(interfaceId, client, limits);
    }

    /// <summary>Makes a call and blocks for the reply.</summary>
    /// <param name="request">The request.</param>
    /// <param name="timeout">Null for the limit's call timeout; InfiniteTimeSpan for none.</param>
    /// <param name="cancellation">Cancels the call on both sides.</param>
    /// <exception cref="RpcException">The call failed: by a fault or by another return code than 0, which
    /// <see cref="RpcException.NativeStatus"/> has.</exception>
    public byte[] Execute(
        ReadOnlySpan<byte> request, TimeSpan? timeout = null, CancellationToken cancellation = default)
    {
        try
        {
            using NativeExchange exchange = Begin(request, cancellation);
            return ReplyOf(exchange, exchange.Execute(timeout ?? _limits.CallTimeout, cancellation));
        }
        finally
        {
            Interlocked.Increment(ref _calls);
        }
    }

    /// <summary>The same without holding a thread.</summary>
    public async Task<byte[]> ExecuteAsync(
        ReadOnlyMemory<byte> request, TimeSpan? timeout = null, CancellationToken cancellation = default)
    {
        try
        {
            using NativeExchange exchange = Begin(request.Span, cancellation);
            int code = await exchange.ExecuteAsync(timeout ?? _limits.CallTimeout, cancellation)
                .ConfigureAwait(false);
            return ReplyOf(exchange, code);
        }
        finally
        {
            Interlocked.Increment(ref _calls);
        }
    }

    /// <summary>Closes the connections; calls that run fail.</summary>
    public void Dispose()
    {
        if (Interlocked.Exchange(ref _closed, 1) == 0)
        {
            _client.Dispose();
        }
    }

    private NativeExchange Begin(ReadOnlySpan<byte> request, CancellationToken cancellation)
    {
        if (request.Length > _limits.MaxMessageBytes)
        {
            throw new RpcException(
                RpcStatusCode.ResourceExhausted,
                $"The request has {request.Length:N0} bytes; the limit is {_limits.MaxMessageBytes:N0}. "
                + "The raw layer sends nothing in parts: "
                + $"raise {nameof(RpcLimits)}.{nameof(RpcLimits.MaxMessageBytes)} on both sides.")
            {
                ErrorId = "MessageTooLarge",
                Endpoint = Endpoint,
            };
        }

        NativeExchange exchange = _client.Begin(cancellation);
        exchange.Request.Write(request);
        return exchange;
    }

    private byte[] ReplyOf(NativeExchange exchange, int code) => code == 0
        ? exchange.Reply.ToArray()
        : throw NativeFault.OfReturnCode(Endpoint, $"Interface {InterfaceId}", (uint)code);
}

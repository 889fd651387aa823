using Microsoft.Extensions.Logging;
using ProtoRpc.Protocols.Native;
using ProtoRpc.Server;
using ProtoRpc.Server.Interceptors;
using ProtoRpc.Server.Native;
using ProtoRpc.Server.Raw;

namespace ProtoRpc;

/// <summary>Serves one raw interface on native endpoints: bytes in, bytes out.</summary>
/// <remarks>Configure the server on one thread; after that it is thread-safe. The return codes are those of
/// the original server, so that its clients can also use this one.</remarks>
/// <example><code>
/// using RpcRawServer server = RpcRawServer.Create(interfaceId)
///     .OnExecute((client, bytes) => ...)
///     .AddEndpoint("ncacn_ip_tcp:127.0.0.1[8080]")
///     .StartListening();
/// </code></example>
public sealed class RpcRawServer : IRpcServer
{
    private readonly RpcRawServerOptions _options;
    private readonly CallMonitor _calls;
    private readonly ServedEndpoints _endpoints;
    private RpcRawHandler _handler = static (_, _) => default;

    private RpcRawServer(Guid interfaceId, RpcRawServerOptions options)
    {
        InterfaceId = interfaceId;
        _options = options;
        _calls = new CallMonitor(options.LoggerFactory?.CreateLogger<RpcRawServer>(), options.AccessLog)
        {
            Warned = options.Warned,
        };
        _endpoints = new ServedEndpoints(_calls, options.Limits.DrainTimeout) { Stopped = _calls.CloseLog };
    }

    /// <summary>The id of the interface.</summary>
    public Guid InterfaceId { get; }

    /// <summary>The endpoints. While the server listens, the bound endpoints.</summary>
    public IReadOnlyList<RpcEndpoint> Endpoints => _endpoints.Endpoints;

    /// <summary>Whether the server listens.</summary>
    public bool IsListening => _endpoints.IsListening;

    /// <summary>The counters, until the server stopped.</summary>
    public RpcServerCounters Counters => _endpoints.Counters;

    /// <summary>Completes when the server has stopped.</summary>
    public Task Completion => _endpoints.Completion;

    /// <summary>Creates a server for version 1.0 of an interface.</summary>
    /// <param name="interfaceId">The interface's UUID.</param>
    /// <param name="options">The options; null for the defaults.</param>
    /// <exception cref="RpcException">InvalidArgument: a limit is invalid.</exception>
    public static RpcRawServer Create(Guid interfaceId, RpcRawServerOptions? options = null)
    {
        options ??= new RpcRawServerOptions();
        RequirePositive(nameof(options.MaxCalls), options.MaxCalls);
        RequirePositive(nameof(options.MaxRequestBytes), options.MaxRequestBytes ?? 1);
        return new RpcRawServer(interfaceId, options);
    }

    /// <summary>Sets the handler of the calls. It receives a copy of the request.</summary>
    public RpcRawServer OnExecute(Func<RpcRawContext, byte[], byte[]?> handler)
    {
        ArgumentNullException.ThrowIfNull(handler);
        return OnExecute((client, request) =>
        {
            // A null array would otherwise be converted to an empty reply.
            byte[]? reply = handler(client, request.ToArray());
            return ValueTask.FromResult(reply is null ? default(ReadOnlyMemory<byte>?) : reply.AsMemory());
        });
    }

    /// <summary>Sets the handler of the calls.</summary>
    public RpcRawServer OnExecute(RpcRawHandler handler)
    {
        ArgumentNullException.ThrowIfNull(handler);
        _endpoints.RequireNotStarted();
        _handler = handler;
        return this;
    }

    /// <summary>Adds an endpoint, before the server listens.</summary>
    /// <exception cref="RpcException">InvalidArgument: the text is not an endpoint.</exception>
    public RpcRawServer AddEndpoint(string endpoint) => AddEndpoint(RpcEndpoint.Parse(endpoint));

    /// <summary>Adds an endpoint, before the server listens.</summary>
    /// <exception cref="RpcException">Unimplemented: the endpoint does not use the native
    /// protocol.</exception>
    public RpcRawServer AddEndpoint(RpcEndpoint endpoint)
    {
        ArgumentNullException.ThrowIfNull(endpoint);
        RawEndpoints.RequireNative(endpoint);
        _endpoints.Add(endpoint);
        return this;
    }

    /// <summary>Binds all endpoints and starts to serve. If one cannot be bound, none is.</summary>
    /// <exception cref="RpcException">An endpoint cannot be bound, and why.</exception>
    public RpcRawServer StartListening()
    {
        try
        {
            _endpoints.Start(_options.UseTls, _options.Certificate, Prepare);
            return this;
        }
        catch when (!IsListening)
        {
            _calls.CloseLog();
            throw;
        }
    }

    /// <summary>Rejects new calls, lets running calls end within the drain time, cancels the rest, and closes
    /// the endpoints.</summary>
    /// <param name="drain">The drain time; null for that of the limits.</param>
    public Task StopAsync(TimeSpan? drain = null) => _endpoints.StopAsync(drain);

    /// <summary>Stops the server with the limits' drain time.</summary>
    public void Dispose() => StopAsync().GetAwaiter().GetResult();

    /// <summary>Stops the server with the limits' drain time.</summary>
    public async ValueTask DisposeAsync() => await StopAsync().ConfigureAwait(false);

    private static void RequirePositive(string name, int value)
    {
        if (value <= 0)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"{nameof(RpcRawServerOptions)}.{name} is {value}; it must be 1 or more.")
            {
                ErrorId = RpcErrorIds.InvalidLimit,
            };
        }
    }

    private Func<RpcEndpoint, IServedEndpoint> Prepare()
    {
        _calls.OpenLog();
        RpcRawHandler chain = InterceptorChain.Around(_handler, _options.Interceptors);
        ExecInterface service = new(
            InterfaceId, call => new RawCall(_calls, InterfaceId, chain, call).RunAsync())
        {
            Security = _options.Security,
            Monitor = _calls,
            Trace = _options.Trace,
            System = "dcerpc",
            MaxCalls = _options.MaxCalls,
            MaxRequestBytes = _options.MaxRequestBytes,
        };
        return endpoint => new NativeEndpoint(
            INativeListener.Serve(
                endpoint,
                service,
                _options.Limits,
                _options.UseTls && endpoint.Has(EndpointFeatures.OptionalTls) ? _options.Certificate : null,
                _options.CertificateChain),
            [InterfaceId]);
    }
}

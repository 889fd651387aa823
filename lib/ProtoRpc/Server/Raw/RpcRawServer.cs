using Microsoft.Extensions.Logging;
using ProtoRpc.Protocols.Native;
using ProtoRpc.Server;
using ProtoRpc.Server.Interceptors;
using ProtoRpc.Server.Native;
using ProtoRpc.Server.Raw;

namespace ProtoRpc;

/// <summary>Serves one interface of the raw layer on native endpoints:
/// no messages, no headers, only bytes.</summary>
/// <remarks>Set up by one thread; then safe for use by many. The return codes are the original's, so its
/// clients see from this server what they saw from theirs.</remarks>
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
        _calls = new CallMonitor(options.LoggerFactory?.CreateLogger<RpcRawServer>(), options.AccessLog);
        _endpoints = new ServedEndpoints(_calls, options.Limits.DrainTimeout) { Stopped = _calls.CloseLog };
    }

    /// <summary>The interface.</summary>
    public Guid InterfaceId { get; }

    /// <summary>The endpoints, as bound once the server listens.</summary>
    public IReadOnlyList<RpcEndpoint> Endpoints => _endpoints.Endpoints;

    /// <summary>Whether it listens.</summary>
    public bool IsListening => _endpoints.IsListening;

    /// <summary>What it has done, until it stopped.</summary>
    public RpcServerCounters Counters => _endpoints.Counters;

    /// <summary>Ends when the server has stopped.</summary>
    public Task Completion => _endpoints.Completion;

    /// <summary>A server for one interface, version 1.0.</summary>
    /// <param name="interfaceId">The interface's UUID.</param>
    /// <param name="options">Null for the defaults.</param>
    /// <exception cref="RpcException">InvalidArgument: a bound that nothing fits in.</exception>
    public static RpcRawServer Create(Guid interfaceId, RpcRawServerOptions? options = null)
    {
        options ??= new RpcRawServerOptions();
        RequirePositive(nameof(options.MaxCalls), options.MaxCalls);
        RequirePositive(nameof(options.MaxRequestBytes), options.MaxRequestBytes ?? 1);
        return new RpcRawServer(interfaceId, options);
    }

    /// <summary>Handles the calls; the request is a copy of the handler's own.</summary>
    public RpcRawServer OnExecute(Func<RpcRawContext, byte[], byte[]?> handler)
    {
        ArgumentNullException.ThrowIfNull(handler);
        return OnExecute((client, request) =>
        {
            // An array that is null would be converted to a reply that is empty.
            byte[]? reply = handler(client, request.ToArray());
            return ValueTask.FromResult(reply is null ? default(ReadOnlyMemory<byte>?) : reply.AsMemory());
        });
    }

    /// <summary>Handles the calls.</summary>
    public RpcRawServer OnExecute(RpcRawHandler handler)
    {
        ArgumentNullException.ThrowIfNull(handler);
        _endpoints.RequireNotStarted();
        _handler = handler;
        return this;
    }

    /// <summary>Adds an endpoint, before the server listens.</summary>
    /// <exception cref="RpcException">InvalidArgument: not an endpoint.</exception>
    public RpcRawServer AddEndpoint(string endpoint) => AddEndpoint(RpcEndpoint.Parse(endpoint));

    /// <summary>Adds an endpoint, before the server listens.</summary>
    /// <exception cref="RpcException">Unimplemented: not one of the native protocol.</exception>
    public RpcRawServer AddEndpoint(RpcEndpoint endpoint)
    {
        ArgumentNullException.ThrowIfNull(endpoint);
        RawEndpoints.RequireNative(endpoint);
        _endpoints.Add(endpoint);
        return this;
    }

    /// <summary>Binds every endpoint and begins to serve; binds all or none.</summary>
    /// <exception cref="RpcException">An endpoint that cannot be bound, and why.</exception>
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

    /// <summary>Refuses new calls, lets running ones end within the drain time, cancels the rest,
    /// closes.</summary>
    /// <param name="drain">Null for the limit's drain time.</param>
    public Task StopAsync(TimeSpan? drain = null) => _endpoints.StopAsync(drain);

    /// <summary>Stops, with the limit's drain time.</summary>
    public void Dispose() => StopAsync().GetAwaiter().GetResult();

    /// <summary>Stops, with the limit's drain time.</summary>
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

using System.Buffers;
using ProtoRpc.Protocols.Native;
using ProtoRpc.Server;
using ProtoRpc.Server.Interceptors;
using ProtoRpc.Server.Native;
using ProtoRpc.Transports;

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
    // RPC_S_NOT_LISTENING: nobody handles it, or the handler gave nothing.
    private const int NoReply = 1715;

    // ERROR_ACCESS_DENIED.
    private const int Refused = 5;

    private readonly RpcRawServerOptions _options;
    private readonly List<RpcEndpoint> _wanted = [];
    private readonly List<NativeListener> _listeners = [];
    private readonly TaskCompletionSource _completion = new(
        TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly Lock _gate = new();
    private RpcRawHandler _handler = static (_, _) => default;
    private RpcRawHandler _chain = static (_, _) => default;
    private Task? _stopping;
    private RpcServerCounters _last;
    private long _calls;
    private long _errors;
    private int _inFlight;

    private RpcRawServer(Guid interfaceId, RpcRawServerOptions options)
    {
        InterfaceId = interfaceId;
        _options = options;
    }

    /// <summary>The interface.</summary>
    public Guid InterfaceId { get; }

    /// <summary>The endpoints, as bound once the server listens.</summary>
    public IReadOnlyList<RpcEndpoint> Endpoints =>
        _listeners.Count > 0 ? [.. _listeners.Select(listener => listener.Endpoint)] : [.. _wanted];

    /// <summary>Whether it listens.</summary>
    public bool IsListening => _listeners.Count > 0 && _stopping is null;

    /// <summary>What it has done, until it stopped.</summary>
    public RpcServerCounters Counters => _completion.Task.IsCompleted ? _last : Count();

    /// <summary>Ends when the server has stopped.</summary>
    public Task Completion => _completion.Task;

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
        RequireNotStarted();
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
        RequireNotStarted();
        RawEndpoints.RequireNative(endpoint);
        _wanted.Add(endpoint);
        return this;
    }

    /// <summary>Binds every endpoint and begins to serve; binds all or none.</summary>
    /// <exception cref="RpcException">An endpoint that cannot be bound, and why.</exception>
    public RpcRawServer StartListening()
    {
        lock (_gate)
        {
            RequireNotStarted();
            if (_wanted.Count == 0)
            {
                throw new RpcException(
                    RpcStatusCode.FailedPrecondition, "There is no endpoint to listen on; add one first.");
            }

            EndpointErrors.RequireTcp(_wanted, _options.TlsCertificate);
            _chain = InterceptorChain.Around(_handler, _options.Interceptors);
            ExecInterface service = new(InterfaceId, HandleAsync)
            {
                Security = _options.Security,
                MaxCalls = _options.MaxCalls,
                MaxRequestBytes = _options.MaxRequestBytes,
            };
            try
            {
                _wanted.ForEach(endpoint => _listeners.Add(NativeListener.Serve(
                    endpoint,
                    service,
                    _options.Limits,
                    endpoint.Transport == RpcTransport.Tcp ? _options.TlsCertificate : null,
                    _options.TlsCertificateChain)));
            }
            catch
            {
                StopServingAsync(TimeSpan.Zero).GetAwaiter().GetResult();
                _listeners.Clear();
                throw;
            }

            return this;
        }
    }

    /// <summary>Refuses new calls, lets running ones end within the drain time, cancels the rest,
    /// closes.</summary>
    /// <param name="drain">Null for the limit's drain time.</param>
    public Task StopAsync(TimeSpan? drain = null)
    {
        lock (_gate)
        {
            return _stopping ??= StopAllAsync(drain ?? _options.Limits.DrainTimeout);
        }
    }

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

    private async ValueTask HandleAsync(ExecCall call)
    {
        Interlocked.Increment(ref _inFlight);
        bool failed = true;
        try
        {
            ReadOnlyMemory<byte>? reply =
                await _chain(new RpcRawContext(InterfaceId, call), call.Request).ConfigureAwait(false);
            if (reply is { } bytes)
            {
                call.Reply.Write(bytes.Span);
                failed = false;
            }
            else
            {
                call.ReturnCode = NoReply;
            }
        }
        catch (RpcException e)
            when (e.Code is RpcStatusCode.PermissionDenied or RpcStatusCode.Unauthenticated)
        {
            call.ReturnCode = Refused;
        }
        finally
        {
            Interlocked.Increment(ref _calls);
            if (failed)
            {
                Interlocked.Increment(ref _errors);
            }

            Interlocked.Decrement(ref _inFlight);
        }
    }

    private void RequireNotStarted()
    {
        if (_listeners.Count > 0)
        {
            throw new InvalidOperationException(
                "The server listens already; set it up before StartListening.");
        }
    }

    private RpcServerCounters Count() => new(
        _listeners.Sum(listener => listener.ConnectionCount),
        _listeners.Sum(listener => listener.AcceptedCount),
        Volatile.Read(ref _calls),
        Volatile.Read(ref _errors),
        Volatile.Read(ref _inFlight));

    private Task StopServingAsync(TimeSpan drain) =>
        Task.WhenAll(_listeners.Select(listener => listener.StopServingAsync(InterfaceId, drain).AsTask()));

    private async Task StopAllAsync(TimeSpan drain)
    {
        try
        {
            await StopServingAsync(drain).ConfigureAwait(false);
        }
        finally
        {
            _last = Count() with { Connections = 0 };
            _completion.TrySetResult();
        }
    }
}

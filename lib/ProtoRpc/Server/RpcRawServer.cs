using System.Diagnostics;
using System.Security.Cryptography.X509Certificates;
using Microsoft.Extensions.Logging;
using ProtoRpc.Protocols.Native;
using ProtoRpc.Server;
using ProtoRpc.Server.Calls;
using ProtoRpc.Server.Native;

namespace ProtoRpc;

/// <summary>Serves one raw interface on native endpoints: bytes in, bytes out.</summary>
/// <remarks>Configure the server on one thread; after that it is thread-safe. The return codes are those of
/// the original server, so that its clients can also use this one.</remarks>
/// <example><code>
/// await using RpcRawServer server = RpcRawServer.Create(interfaceId)
///     .OnExecute((client, bytes) =>
///         Encoding.UTF8.GetBytes(Encoding.UTF8.GetString(bytes).ToUpperInvariant()))
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
        _endpoints = new ServedEndpoints(_calls, options.Limits.DrainTimeout, options.Security)
        {
            Stopped = _calls.CloseLog,
        };
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
                RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidLimit,
                $"{nameof(RpcRawServerOptions)}.{name} is {value}; it must be 1 or more.");
        }
    }

    private Func<RpcEndpoint, IServedEndpoint> Prepare()
    {
        _calls.OpenLog();
        RpcRawHandler chain = InterceptorChain.Around(_handler, _options.Interceptors);
        ExecInterface service = new(
            InterfaceId, call => RawServerCall.RunAsync(_calls, InterfaceId, chain, call))
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

/// <summary>The options of a raw server.</summary>
/// <example><code>
/// RpcRawServerOptions options = new() { MaxRequestBytes = 64 * 1024, MaxCalls = 20 };
/// RpcRawServer server = RpcRawServer.Create(interfaceId, options);
/// </code></example>
public sealed record RpcRawServerOptions
{
    /// <summary>The limits of the server's endpoints.</summary>
    public RpcLimits Limits { get; init; } = RpcLimits.Default;

    /// <summary>The authentication that the endpoints require.</summary>
    public RpcServerSecurity Security { get; init; } = new();

    /// <summary>The interceptors of every call, the first one outermost.</summary>
    public IReadOnlyList<IRpcRawInterceptor> Interceptors { get; init; } = [];

    /// <summary>The certificate, with its private key, of <c>tcp://</c> endpoints with
    /// <see cref="UseTls"/>. Null for none.</summary>
    public X509Certificate2? Certificate { get; init; }

    /// <summary>The intermediate certificates to send with the certificate; null to use those of the
    /// machine.</summary>
    public X509Certificate2Collection? CertificateChain { get; init; }

    /// <summary>Whether endpoints on TCP use TLS.</summary>
    public bool UseTls { get; init; }

    /// <summary>The maximum number of parallel calls of the interface; more are rejected as too busy. The
    /// default is 255.</summary>
    public int MaxCalls { get; init; } = 255;

    /// <summary>Creates the logger of the server, in the category <c>ProtoRpc.RpcRawServer</c>; null for no
    /// log. Exceptions of the handler are logged as errors, and rejected callers as information. It
    /// warns once a minute if the server cannot accept connections, because its process has too few free file
    /// handles.</summary>
    public ILoggerFactory? LoggerFactory { get; init; }

    /// <summary>Receives warnings about the server itself, for hosts that have their own log.</summary>
    internal Action<string>? Warned { get; init; }

    /// <summary>The log of all calls, including calls that are rejected before the handler; null for
    /// none.</summary>
    public RpcAccessLog? AccessLog { get; init; }

    /// <summary>Receives what the server receives and sends, for debugging; null for none. If servers of one
    /// process share a native endpoint, only the trace of one of them receives it.</summary>
    public RpcTrace? Trace { get; init; }

    /// <summary>The maximum size of the interface's requests in bytes; null for the limit of the
    /// endpoint.</summary>
    public int? MaxRequestBytes { get; init; }
}

/// <summary>The context of a call of a raw interface. Valid until the handler ends.</summary>
public sealed class RpcRawContext : RpcPeerContext
{
    private readonly ExecServerCall? _call;
    private readonly CancellationToken _cancellation;

    internal RpcRawContext(Guid interfaceId, ExecServerCall call)
        : base(call.Endpoint, call.Peer)
    {
        InterfaceId = interfaceId;
        _call = call;
    }

    // For tests of handlers.
    internal RpcRawContext(
        Guid interfaceId, RpcEndpoint endpoint, PeerIdentity peer, CancellationToken cancellation)
        : base(endpoint, peer)
    {
        InterfaceId = interfaceId;
        _cancellation = cancellation;
    }

    /// <summary>The id of the called interface.</summary>
    public Guid InterfaceId { get; }

    /// <inheritdoc/>
    public override CancellationToken CancellationToken => _call?.Cancellation ?? _cancellation;

    // Raw interfaces have no header that could carry a deadline.
    internal override HandlerClock Clock => new(null, Timeout.InfiniteTimeSpan, CancellationToken);

    internal override string What => $"interface {InterfaceId}";
}

/// <summary>Handles the calls of an interface: bytes in, bytes out.</summary>
/// <param name="client">The context of the call.</param>
/// <param name="request">The request; its memory is reused after the call.</param>
/// <returns>The reply. Null sends return code 1715. An <see cref="RpcException"/> with PermissionDenied or
/// Unauthenticated sends 5, and any other exception 0x80004005.</returns>
public delegate ValueTask<ReadOnlyMemory<byte>?> RpcRawHandler(
    RpcRawContext client, ReadOnlyMemory<byte> request);

/// <summary>Intercepts every call of a raw interface, for example for authorization, logging or
/// auditing.</summary>
/// <remarks>May run on many threads in parallel.</remarks>
public interface IRpcRawInterceptor
{
    /// <summary>Intercepts a call. Calls <paramref name="next"/> to pass it on, or returns its own
    /// reply.</summary>
    /// <param name="client">The context of the call.</param>
    /// <param name="request">The request; its memory is reused after the call.</param>
    /// <param name="next">The next interceptor, or the handler.</param>
    /// <returns>The reply of <paramref name="next"/>, or other bytes.</returns>
    /// <exception cref="RpcException">Throw PermissionDenied or Unauthenticated to reject the call; the
    /// caller receives return code 5. Any other exception is return code 0x80004005.</exception>
    ValueTask<ReadOnlyMemory<byte>?> InvokeAsync(
        RpcRawContext client, ReadOnlyMemory<byte> request, RpcRawHandler next);
}

/// <summary>The path of a call of the raw layer: bytes in, bytes out, and a return code for what
/// fails.</summary>
internal static class RawServerCall
{
    // RPC_S_NOT_LISTENING: there is no handler, or the handler returned null.
    private const int NoReply = 1715;

    // ERROR_ACCESS_DENIED.
    private const int Refused = 5;

    // E_FAIL: the original server also returns this status if its handler throws.
    private const int HandlerFailed = unchecked((int)0x80004005);

    /// <summary>Runs a call and sets its reply or return code.</summary>
    /// <exception cref="OperationCanceledException">The call was cancelled; the connection sends a
    /// fault.</exception>
    public static async ValueTask RunAsync(
        CallMonitor monitor, Guid interfaceId, RpcRawHandler handler, ExecServerCall call)
    {
        CallTarget target = new("dcerpc", interfaceId.ToString(), call.Endpoint);
        long began = monitor.Begin();
        RpcStatusCode status = RpcStatusCode.Cancelled;
        Activity? activity = CallTelemetry.IsTraced ? CallTelemetry.Start(target, parent: default) : null;
        try
        {
            ReadOnlyMemory<byte>? reply =
                await handler(new RpcRawContext(interfaceId, call), call.Request).ConfigureAwait(false);
            if (reply is { } bytes)
            {
                call.Reply.Write(bytes.Span);
                status = RpcStatusCode.OK;
            }
            else
            {
                call.ReturnCode = NoReply;
                status = RpcStatusCode.Unavailable;
            }
        }
        catch (Exception e) when (e is not OperationCanceledException)
        {
            status = Fail(monitor, target, call, e);
        }
        finally
        {
            monitor.End(
                target, called: null, call.Peer, status, began, call.Request.Length, call.ReplyLength,
                activity);
        }
    }

    private static RpcStatusCode Fail(
        CallMonitor monitor, in CallTarget target, ExecServerCall call, Exception error)
    {
        if (ServerBusy.RetryAfterOf(error) is not null)
        {
            monitor.CountRefusal();
            call.IsTooBusy = true;
            return RpcStatusCode.ResourceExhausted;
        }

        bool isRefusal = error is RpcException
        {
            Code: RpcStatusCode.PermissionDenied or RpcStatusCode.Unauthenticated,
        };
        CallFailure failure = isRefusal ? CallFailure.OfRequest(error) : CallFailure.OfUnexpected(error);
        monitor.Log(target.Method, call.Endpoint, failure);
        call.ReturnCode = isRefusal ? Refused : HandlerFailed;
        return failure.Code;
    }
}

/// <summary>A raw call without a server. Creates the context for testing a handler or an
/// interceptor.</summary>
/// <example><code>
/// RpcTestRawCall call = new(interfaceId) { Peer = ann };
/// ReadOnlyMemory&lt;byte>? reply = await handler(call.CreateContext(), "hello"u8.ToArray());
/// </code></example>
/// <param name="InterfaceId">The id of the called interface.</param>
public sealed record RpcTestRawCall(Guid InterfaceId)
{
    /// <summary>The listener's endpoint in the context.</summary>
    public RpcEndpoint Endpoint { get; init; } = RpcEndpoint.Local("test");

    /// <summary>The caller; by default, an anonymous caller without an address.</summary>
    public PeerIdentity Peer { get; init; } = PeerIdentity.Anonymous("");

    /// <summary>Cancelled when the caller cancels the call.</summary>
    public CancellationToken CancellationToken { get; init; }

    /// <summary>Creates a new context of the call.</summary>
    public RpcRawContext CreateContext() => new(InterfaceId, Endpoint, Peer, CancellationToken);
}

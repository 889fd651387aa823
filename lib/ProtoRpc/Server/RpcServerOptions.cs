using System.Security.Cryptography.X509Certificates;
using Microsoft.Extensions.Logging;
using ProtoRpc.Server;

namespace ProtoRpc;

/// <summary>The options of a server. Servers copy them, so later changes only apply to new servers.</summary>
/// <example><code>
/// RpcServerOptions options = new()
/// {
///     Limits = new() { MaxConcurrentCalls = 100 },
///     Interceptors = [new CheckInterceptor()],
/// };
/// RpcServer server = RpcServer.Create(schema, "shop.Orders", options);
/// </code></example>
public sealed record RpcServerOptions
{
    /// <summary>The limits.</summary>
    public RpcLimits Limits { get; init; } = RpcLimits.Default;

    /// <summary>Whether handlers may keep state for callers between calls.</summary>
    public bool EnableSessions { get; init; } = true;

    /// <summary>Whether to accept messages in parts. Such messages may be larger than the limit of one
    /// call.</summary>
    public bool EnableMultiPart { get; init; } = true;

    /// <summary>Handlers of pings, on every endpoint. Each receives the RpcPingRequest, and returns an
    /// RpcPingResponse or null. The responses are merged in order with the server's own. Both messages are of
    /// <c>google.protobuf.rpc_messages</c>; their fields are the extensions that the service's schema
    /// declares. A handler that throws fails the ping.</summary>
    public IReadOnlyList<RpcHandler> PingHandlers { get; init; } = [];

    /// <summary>The interceptors of every call, the first one outermost.</summary>
    public IReadOnlyList<IRpcInterceptor> Interceptors { get; init; } = [];

    /// <summary>The certificate, with its private key, of all endpoints with TLS: <c>https://</c>,
    /// <c>grpcs://</c>, and <c>tcp://</c> with <see cref="UseTls"/>. Null for none.</summary>
    public X509Certificate2? Certificate { get; init; }

    /// <summary>The intermediate certificates to send with the certificate; null to use those of the
    /// machine.</summary>
    public X509Certificate2Collection? CertificateChain { get; init; }

    /// <summary>Whether native endpoints on TCP use TLS. The scheme of other endpoints determines
    /// it.</summary>
    public bool UseTls { get; init; }

    /// <summary>The authentication that native endpoints require.</summary>
    public RpcServerSecurity Security { get; init; } = new();

    // Whether in-process calls never run on the caller's thread. Handlers that are scripts would block it.
    internal bool UsesOwnThreads { get; init; }

    // The protocols of this assembly, and those that a host adds.
    internal IReadOnlyList<IServerProtocol> Protocols { get; init; } = ServerProtocolAttribute.All;

    /// <summary>How much of an unexpected exception is sent to callers. Null for everything if the kernel
    /// guarantees that the caller is on this machine, and <see cref="RpcErrorDetail.None"/> otherwise. The
    /// text of an <see cref="RpcException"/> that a handler throws is sent at every level.</summary>
    public RpcErrorDetail? ErrorDetail { get; init; }

    /// <summary>Receives calls that failed in a handler or an interceptor, or with an exception that is not
    /// sent to the caller; null for none. Called once for each failed call, on its thread; exceptions are
    /// ignored.</summary>
    public Action<RpcFailedCall>? CallFailed { get; init; }

    /// <summary>Creates the logger of the server, in the category <c>ProtoRpc.RpcServer</c>; null for no log.
    /// It logs the calls that <see cref="CallFailed"/> receives: exceptions that are not sent to the caller
    /// as errors, with their correlation id, and failures that a handler wrote for the caller as
    /// information. It warns once a minute if the server cannot accept connections, because its process has
    /// too few free file handles.</summary>
    public ILoggerFactory? LoggerFactory { get; init; }

    /// <summary>The log of all calls, including calls that are rejected before the handler; null for
    /// none.</summary>
    public RpcAccessLog? AccessLog { get; init; }

    /// <summary>Receives warnings about the server itself, for hosts that have their own log.</summary>
    internal Action<string>? Warned { get; init; }

    /// <summary>Receives what the server receives and sends, for debugging; null for none. If servers of one
    /// process share a native endpoint, only the trace of one of them receives it.</summary>
    public RpcTrace? Trace { get; init; }

    /// <inheritdoc cref="RpcClientOptions.Copy"/>
    internal RpcServerOptions Copy() => this with
    {
        Limits = Limits with { },
        Security = Security with { },
        PingHandlers = [.. PingHandlers],
        Interceptors = [.. Interceptors],
    };
}

/// <summary>The replacements of <see cref="RpcServer.ChangeAsync"/>; null keeps the current value.</summary>
/// <example><code>
/// await server.ChangeAsync(new RpcServerChange
/// {
///     Handlers = new Dictionary&lt;string, RpcMethodHandler>
///     {
///         ["Place"] = RpcMethodHandler.OfReplies(new { id = "closed" }),
///     },
/// });
/// </code></example>
public sealed record RpcServerChange
{
    /// <summary>The new handlers by method: bare names if they are unique, otherwise full names. Methods
    /// without a handler return Unimplemented.</summary>
    public IReadOnlyDictionary<string, RpcMethodHandler>? Handlers { get; init; }

    /// <summary>The new interceptors of every call, the first one outermost.</summary>
    public IReadOnlyList<IRpcInterceptor>? Interceptors { get; init; }

    /// <summary>The new endpoints. Existing endpoints in the list stay open with their connections. Other
    /// existing endpoints are closed after their calls.</summary>
    public IReadOnlyList<RpcEndpoint>? Endpoints { get; init; }

    /// <summary>The new certificate, with its private key, of all endpoints with TLS. New connections use it;
    /// open connections keep the previous one, and their calls continue. If servers of this process share an
    /// endpoint, the certificate changes for all of them.</summary>
    public X509Certificate2? Certificate { get; init; }

    /// <summary>The intermediate certificates to send with <see cref="Certificate"/>; null to use those of
    /// the machine.</summary>
    public X509Certificate2Collection? CertificateChain { get; init; }

    /// <summary>How long calls may run on endpoints that are closed; null for the limits' drain
    /// time.</summary>
    public TimeSpan? DrainTimeout { get; init; }

    // Set if the new endpoints need protocols that the server does not serve yet.
    internal IReadOnlyList<IServerProtocol>? Protocols { get; init; }
}

/// <summary>The counters of a server since it started, at one moment.</summary>
/// <param name="Connections">The number of open connections.</param>
/// <param name="Accepted">The number of accepted connections.</param>
/// <param name="Calls">The number of completed calls, including failed ones.</param>
/// <param name="Errors">The number of failed calls.</param>
/// <param name="InFlight">The number of running and waiting calls.</param>
public readonly record struct RpcServerCounters(
    int Connections, long Accepted, long Calls, long Errors, int InFlight)
{
    /// <summary>The part of <see cref="InFlight"/> that waits for other calls to end.</summary>
    public int Queued { get; init; }

    /// <summary>The part of <see cref="Errors"/> that was rejected because the server was too busy.</summary>
    public long Refused { get; init; }

    /// <summary>How often the server could not accept a connection, because its process had too few free file
    /// handles.</summary>
    public long HandleShortages { get; init; }
}

using System.Net.Security;
using System.Reflection;
using System.Security.Cryptography.X509Certificates;
using ProtoRpc.Security;
using ProtoRpc.Server.Calls;
using ProtoRpc.Transports;

namespace ProtoRpc.Server;

/// <summary>Serves methods over a protocol: the native protocol, HTTP or gRPC.</summary>
internal interface IServerProtocol
{
    /// <summary>Whether this protocol serves endpoints of a kind.</summary>
    bool Serves(EndpointKindAttribute kind);

    /// <summary>Whether the protocol requires a check of callers that other protocols do not run.</summary>
    bool ChecksCallers => false;

    /// <summary>Whether an endpoint serves anonymous callers because no option decides it.</summary>
    bool IsOpenByDefault(RpcEndpoint endpoint, RpcServerSecurity security) =>
        !endpoint.Has(EndpointFeatures.KnowsCaller) && !security.IsAuthenticationSet;

    /// <summary>Binds an endpoint and starts to serve it.</summary>
    IServedEndpoint Bind(RpcEndpoint endpoint, ServerHost host);
}

/// <summary>A served endpoint.</summary>
internal interface IServedEndpoint
{
    RpcEndpoint Endpoint { get; }

    int Connections { get; }

    long Accepted { get; }

    /// <summary>Rejects new calls, lets running calls end within the time, then cancels the rest and
    /// closes.</summary>
    Task StopAsync(TimeSpan drain);

    /// <summary>Uses another certificate for new connections. Never throws; an endpoint without TLS ignores
    /// it.</summary>
    void Show(SslStreamCertificateContext certificate)
    {
    }
}

/// <summary>Adds a protocol to every server, so that a new way to serve needs only its own file. Protocols
/// with options, such as those of ASP.NET Core, are added together with their options.</summary>
[AttributeUsage(AttributeTargets.Assembly, AllowMultiple = true)]
internal abstract class ServerProtocolAttribute : Attribute
{
    /// <summary>The protocols of this assembly.</summary>
    public static IReadOnlyList<IServerProtocol> All { get; } =
    [
        .. typeof(ServerProtocolAttribute).Assembly.GetCustomAttributes<ServerProtocolAttribute>()
            .Select(attribute => attribute.Create()),
    ];

    protected abstract IServerProtocol Create();
}

/// <inheritdoc/>
/// <typeparam name="TProtocol">The protocol.</typeparam>
[AttributeUsage(AttributeTargets.Assembly, AllowMultiple = true)]
internal sealed class ServerProtocolAttribute<TProtocol> : ServerProtocolAttribute
    where TProtocol : IServerProtocol, new()
{
    protected override IServerProtocol Create() => new TProtocol();
}

/// <summary>The endpoints of a server. All of them are bound or none, they stop together, and their calls are
/// counted together.</summary>
/// <param name="calls">The calls of the server.</param>
/// <param name="drainTimeout">The default time for running calls to end after the stop.</param>
/// <param name="security">The accounts that may connect to local endpoints.</param>
internal sealed class ServedEndpoints(CallMonitor calls, TimeSpan drainTimeout, RpcServerSecurity security)
{
    private List<RpcEndpoint> _wanted = [];
    private readonly TaskCompletionSource _completion = new(
        TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly Lock _gate = new();
    private readonly List<Func<TimeSpan, Task>> _others = [];
    private readonly CertificateWatch _certificates = new(calls);
    private IServedEndpoint[] _served = [];
    private Task? _stopping;
    private Task _closing = Task.CompletedTask;
    private RpcServerCounters _last;
    private long _acceptedBefore;

    /// <summary>The endpoints, as bound once the server listens.</summary>
    public IReadOnlyList<RpcEndpoint> Endpoints =>
        _served.Length > 0 ? [.. _served.Select(s => s.Endpoint)] : [.. _wanted];

    public bool IsListening => _served.Length > 0 && _stopping is null;

    /// <summary>The counters of the server, until it stopped.</summary>
    public RpcServerCounters Counters => _completion.Task.IsCompleted ? _last : Count();

    /// <summary>Releases the resources that all calls share, after the last endpoint was closed.</summary>
    public Action? Stopped { get; set; }

    /// <summary>Ends when the server has stopped.</summary>
    public Task Completion => _completion.Task;

    /// <exception cref="InvalidOperationException">The server listens, and its set-up is over.</exception>
    public void RequireNotStarted()
    {
        if (_served.Length > 0)
        {
            throw new InvalidOperationException(
                "The server already listens; configure it before StartListening.");
        }
    }

    public void Add(RpcEndpoint endpoint)
    {
        RequireNotStarted();
        _wanted.Add(endpoint);
    }

    /// <summary>Stops the endpoints of an application together with the server's own.</summary>
    /// <param name="stop">Gets the time that running calls have.</param>
    public void StopAlso(Func<TimeSpan, Task> stop)
    {
        lock (_gate)
        {
            _others.Add(stop);
        }
    }

    /// <summary>Binds all endpoints. If one cannot be bound, the others are closed.</summary>
    /// <param name="useTls">Whether native endpoints on TCP use TLS.</param>
    /// <param name="certificate">The certificate of the endpoints with TLS; null for none.</param>
    /// <param name="prepare">Runs before the first endpoint is bound, and returns the function that binds
    /// one.</param>
    /// <exception cref="RpcException">An endpoint cannot be bound; the message contains the
    /// reason.</exception>
    public void Start(
        bool useTls, X509Certificate2? certificate, Func<Func<RpcEndpoint, IServedEndpoint>> prepare)
    {
        lock (_gate)
        {
            RequireNotStarted();
            if (_wanted.Count == 0)
            {
                throw new RpcException(
                    RpcStatusCode.FailedPrecondition, "There is no endpoint to listen on; add one first.");
            }

            EndpointErrors.RequireTls(_wanted, useTls, certificate);
            AllowedAccounts.Check(_wanted, security);
            _served = BindAll(_wanted, prepare());
            if (certificate is not null)
            {
                _certificates.Watch(certificate);
            }
        }
    }

    /// <summary>Rejects new calls, lets running calls end within the drain time, cancels the rest, and closes
    /// the endpoints.</summary>
    /// <param name="drain">Null for the server's drain time.</param>
    public Task StopAsync(TimeSpan? drain)
    {
        lock (_gate)
        {
            return _stopping ??= StopAllAsync(DrainOf(drain));
        }
    }

    /// <summary>Changes the services and endpoints. Nothing changes if an endpoint cannot be bound.</summary>
    /// <param name="wanted">The new list of endpoints. Endpoints that are already bound stay open. Null to
    /// keep the current ones.</param>
    /// <param name="useTls">Whether native endpoints on TCP use TLS.</param>
    /// <param name="certificate">The certificate of the endpoints with TLS; null for none.</param>
    /// <param name="bind">Binds an endpoint.</param>
    /// <param name="commit">Changes the services; must not throw.</param>
    /// <param name="shown">The new certificate of the endpoints that stay open; null to keep it.</param>
    /// <param name="drain">For how long calls at endpoints that go may run on; null for the server's drain
    /// time.</param>
    /// <returns>Ends when the endpoints that go are closed.</returns>
    /// <exception cref="RpcException">An endpoint cannot be bound; the message contains the
    /// reason.</exception>
    public Task ChangeAsync(
        IReadOnlyList<RpcEndpoint>? wanted, bool useTls, X509Certificate2? certificate,
        Func<RpcEndpoint, IServedEndpoint> bind, Action commit, SslStreamCertificateContext? shown,
        TimeSpan? drain)
    {
        lock (_gate)
        {
            if (wanted is null && shown is null)
            {
                commit();
                return Task.CompletedTask;
            }

            RequireListening();
            wanted ??= _wanted;
            EndpointErrors.RequireTls(wanted, useTls, certificate);
            AllowedAccounts.Check(wanted, security);
            List<IServedEndpoint> present = [.. _served];
            IServedEndpoint?[] staying = [.. wanted.Select(endpoint => Take(present, endpoint))];
            Queue<IServedEndpoint> bound = new(BindAll(
                wanted.Where((_, index) => staying[index] is null), bind));
            commit();
            Array.ForEach(staying, served => Show(served, shown));
            if (shown is not null && certificate is not null)
            {
                _certificates.Watch(certificate);
            }

            _served = [.. staying.Select(served => served ?? bound.Dequeue())];
            _wanted = [.. wanted];
            Task closing = CloseAsync([.. present], DrainOf(drain));
            _closing = Task.WhenAll(_closing, closing);
            return closing;
        }
    }

    private static void Show(IServedEndpoint? served, SslStreamCertificateContext? certificate)
    {
        if (certificate is not null)
        {
            served?.Show(certificate);
        }
    }

    private void RequireListening()
    {
        if (!IsListening)
        {
            throw new RpcException(
                RpcStatusCode.FailedPrecondition,
                "The server does not bind its endpoints itself, so its endpoints and its certificate "
                + "cannot be replaced.");
        }
    }

    // The new list can name an endpoint with port 0, as it was configured, or with the port that it is bound
    // to.
    private IServedEndpoint? Take(List<IServedEndpoint> present, RpcEndpoint endpoint)
    {
        int index = present.FindIndex(served =>
            served.Endpoint.Equals(endpoint) || _wanted[Array.IndexOf(_served, served)].Equals(endpoint));
        if (index < 0)
        {
            return null;
        }

        IServedEndpoint found = present[index];
        present.RemoveAt(index);
        return found;
    }

    private async Task CloseAsync(IServedEndpoint[] going, TimeSpan drain)
    {
        await Task.WhenAll(going.Select(served => served.StopAsync(drain))).ConfigureAwait(false);
        Interlocked.Add(ref _acceptedBefore, going.Sum(served => served.Accepted));
    }

    private static IServedEndpoint[] BindAll(
        IEnumerable<RpcEndpoint> endpoints, Func<RpcEndpoint, IServedEndpoint> bind)
    {
        List<IServedEndpoint> served = [];
        try
        {
            foreach (RpcEndpoint endpoint in endpoints)
            {
                served.Add(bind(endpoint));
            }
        }
        catch
        {
            Task.WhenAll(served.Select(s => s.StopAsync(TimeSpan.Zero))).GetAwaiter().GetResult();
            throw;
        }

        return [.. served];
    }

    private RpcServerCounters Count() => new(
        _served.Sum(s => s.Connections),
        Interlocked.Read(ref _acceptedBefore) + _served.Sum(s => s.Accepted),
        calls.Ended,
        calls.Failed,
        calls.Running)
    {
        Queued = calls.Queued,
        Refused = calls.Refused,
        HandleShortages = calls.HandleShortages,
    };

    // A timer cannot be set for longer.
    private TimeSpan DrainOf(TimeSpan? drain) =>
        (drain ?? drainTimeout) is var time && time > CallClock.Longest ? Timeout.InfiniteTimeSpan : time;

    // Calls on endpoints that an earlier change removed get the same drain time. Their errors are reported by
    // that change, so they are ignored here.
    private async Task EndOfClosingAsync(TimeSpan drain) =>
        await _closing.WaitAsync(drain).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);

    private async Task StopAllAsync(TimeSpan drain)
    {
        try
        {
            await Task.WhenAll(
                [
                    .. _served.Select(s => s.StopAsync(drain)), .. _others.Select(stop => stop(drain)),
                    EndOfClosingAsync(drain),
                ])
                .ConfigureAwait(false);
        }
        finally
        {
            Stopped?.Invoke();
            _certificates.Dispose();
            _last = Count() with { Connections = 0 };
            _completion.TrySetResult();
        }
    }
}

/// <summary>Finds endpoints that would serve anonymous callers although the server authenticates callers on
/// others, if no option allows it. Servers, applications, cmdlets and the tool all use this check.</summary>
internal static class UncheckedEndpoints
{
    /// <summary>The first such endpoint; null if there is none.</summary>
    /// <param name="endpoints">The endpoints.</param>
    /// <param name="protocols">The protocols, with the checks that only some of them run.</param>
    /// <param name="security">The authentication of all endpoints.</param>
    /// <param name="isChecked">Whether callers are also checked by other code than the protocols.</param>
    public static RpcEndpoint? FindFirst(
        IEnumerable<RpcEndpoint> endpoints, IReadOnlyList<IServerProtocol> protocols,
        RpcServerSecurity security, bool isChecked) =>
        isChecked || protocols.Any(protocol => protocol.ChecksCallers)
            ? endpoints.FirstOrDefault(endpoint => protocols
                .FirstOrDefault(protocol => protocol.Serves(endpoint.Kind))
                ?.IsOpenByDefault(endpoint, security) == true)
            : null;

    /// <summary>Whether authorization rules keep anonymous callers from each of some methods. The methods of
    /// ProtoRpc itself, such as pings, are not among them.</summary>
    public static bool AreClosedBy(
        IReadOnlyList<IRpcInterceptor> interceptors, IEnumerable<RpcMethodInfo> methods)
    {
        RpcAuthorization[] all = [.. interceptors.OfType<RpcAuthorization>()];
        return methods.All(method => all.Any(rules => !rules.AllowsAnonymous(method.FullName)));
    }

    /// <summary>The error for such an endpoint.</summary>
    public static RpcException ErrorOf(RpcEndpoint endpoint)
    {
        const string Authentication =
            $"{nameof(RpcServerSecurity)}.{nameof(RpcServerSecurity.Authentication)}";
        return new RpcException(
            RpcStatusCode.FailedPrecondition, RpcErrorIds.UncheckedEndpoint,
            $"'{endpoint}' would serve anonymous callers: the server checks its callers, but the checks do "
            + $"not run on this endpoint. Start the server with one of: {Authentication} without None, "
            + "which requires authentication; "
            + $"{nameof(RpcServerOptions)}.{nameof(RpcServerOptions.Interceptors)} with authorization rules "
            + $"that allow anonymous callers no method; or {Authentication} None, which accepts anonymous "
            + "callers.", endpoint);
    }
}

/// <summary>A server of messages or of raw calls, for hosts.</summary>
internal interface IRpcServer : IAsyncDisposable, IDisposable
{
    /// <summary>The endpoints. While the server listens, the bound endpoints.</summary>
    IReadOnlyList<RpcEndpoint> Endpoints { get; }

    bool IsListening { get; }

    /// <summary>The counters, until the server stopped.</summary>
    RpcServerCounters Counters { get; }

    /// <summary>Completes when the server has stopped.</summary>
    Task Completion { get; }

    /// <summary>Rejects new calls, lets running calls end within the drain time, cancels the rest, and closes
    /// the endpoints.</summary>
    Task StopAsync(TimeSpan? drain = null);
}

/// <summary>An object whose interceptors can be replaced while the server listens.</summary>
internal interface IIntercepted
{
    /// <summary>Replaces the interceptors.</summary>
    void Intercept(IReadOnlyList<IRpcInterceptor> interceptors);
}

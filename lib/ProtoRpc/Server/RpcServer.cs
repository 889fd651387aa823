using System.Net.Security;
using System.Runtime.CompilerServices;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Microsoft.Extensions.Logging;
using ProtoRpc.Security;
using ProtoRpc.Server;
using ProtoRpc.Server.Calls;

namespace ProtoRpc;

/// <summary>Serves services on endpoints of any kind. Configure the server on one thread; after that it is
/// thread-safe.</summary>
/// <example><code>
/// await using RpcServer server = RpcServer.Create(schema, "shop.Orders")
///     .Handle&lt;PlaceRequest, PlaceReply>("Place", (context, request) =>
///         new PlaceReply { Id = request.Order.Id, Total = request.Order.Items.Count })
///     .AddEndpoint("ncacn_ip_tcp:127.0.0.1[8080]")
///     .StartListening();
/// </code></example>
public sealed class RpcServer : IRpcServer
{
    private RpcServerOptions _options;
    private readonly List<ServerService> _services = [];
    private readonly CallMonitor _calls;
    private readonly ServedEndpoints _endpoints;
    private readonly Lock _changing = new();
    private ServerHost? _host;

    // Replaced if the listener gets endpoints of another kind.
    private IReadOnlyList<IServerProtocol> _protocols;

    // Whether the application that hosts the endpoints authenticates their callers.
    private bool _isChecked;

    internal RpcServer(RpcServerOptions options)
    {
        _options = options;
        _protocols = options.Protocols;
        _calls = new CallMonitor(options.LoggerFactory?.CreateLogger<RpcServer>(), options.AccessLog)
        {
            Warned = options.Warned,
        };
        _endpoints = new ServedEndpoints(_calls, options.Limits.DrainTimeout, options.Security);
    }

    /// <summary>The services and their interface ids.</summary>
    public IReadOnlyList<KeyValuePair<RpcServiceInfo, Guid>> Services =>
        [.. _services.Select(s => KeyValuePair.Create(s.Info, s.InterfaceId))];

    /// <summary>The endpoints. While the server listens, the bound endpoints.</summary>
    public IReadOnlyList<RpcEndpoint> Endpoints => _endpoints.Endpoints;

    /// <summary>Whether the server listens.</summary>
    public bool IsListening => _endpoints.IsListening;

    /// <summary>The counters, until the server stopped.</summary>
    public RpcServerCounters Counters => _endpoints.Counters;

    /// <summary>The sessions that the server keeps for callers.</summary>
    public IReadOnlyList<RpcSession> Sessions => _host?.Sessions ?? [];

    /// <summary>Completes when the server has stopped.</summary>
    public Task Completion => _endpoints.Completion;

    /// <summary>Creates a server for one service.</summary>
    /// <param name="schema">The schema that declares the service.</param>
    /// <param name="service">The service's full or bare name; null for the schema's only service.</param>
    /// <param name="options">The options; null for the defaults.</param>
    /// <param name="interfaceId">The interface id on native endpoints; null for the service's own.</param>
    /// <exception cref="RpcException">NotFound or InvalidArgument: the service does not exist, or is not
    /// unique.</exception>
    public static RpcServer Create(
        RpcSchema schema, string? service = null, RpcServerOptions? options = null, Guid? interfaceId = null)
    {
        ArgumentNullException.ThrowIfNull(schema);
        return new RpcServer((options ?? new RpcServerOptions()).Copy())
            .AddService(service is null ? OnlyService(schema) : schema.GetService(service), interfaceId);
    }

    /// <summary>Creates a server without services. Add one or more before the server listens.</summary>
    /// <param name="options">The options, which are copied.</param>
    public static RpcServer Create(RpcServerOptions options)
    {
        ArgumentNullException.ThrowIfNull(options);
        return new RpcServer(options.Copy());
    }

    /// <summary>Adds a service.</summary>
    /// <param name="service">The service.</param>
    /// <param name="interfaceId">The interface id on native endpoints; null for the service's own.</param>
    /// <exception cref="RpcException">AlreadyExists: the server already has the service or the
    /// id.</exception>
    public RpcServer AddService(RpcServiceInfo service, Guid? interfaceId = null)
    {
        ArgumentNullException.ThrowIfNull(service);
        return AddService(new ServerService(service, interfaceId ?? service.InterfaceId));
    }

    /// <summary>Sets a method's asynchronous handler without generated message types: it receives a <see
    /// cref="DynamicMessage"/> and returns a ValueTask with the reply.</summary>
    /// <param name="method">The bare name if it is unique, otherwise the full name.</param>
    /// <param name="handler">Returns a message of the method's reply type.</param>
    /// <exception cref="RpcException">NotFound, with the existing names. AlreadyExists: the method has a
    /// handler. InvalidArgument: the method streams its requests.</exception>
    public RpcServer Handle(string method, RpcHandler handler) =>
        Handle(method, RpcMethodHandler.Create(handler));

    /// <summary>Sets a handler that already exists as an <see cref="RpcMethodHandler"/>: code, prepared
    /// replies, or a client that calls another server.</summary>
    /// <param name="method">The bare name if it is unique, otherwise the full name.</param>
    /// <param name="handler">The handler, which can also serve other methods.</param>
    /// <exception cref="RpcException">NotFound, with the existing names. AlreadyExists: the method has a
    /// handler. InvalidArgument: the handler does not fit the method.</exception>
    public RpcServer Handle(string method, RpcMethodHandler handler)
    {
        ArgumentNullException.ThrowIfNull(handler);
        (ServerService service, RpcMethodInfo info) = Find(method);
        service.Add(handler.Bind(info));
        return this;
    }

    /// <summary>Sets a method's blocking handler without generated message types: it returns the reply as a
    /// message, a dictionary or an object.</summary>
    /// <param name="method">The bare name if it is unique, otherwise the full name.</param>
    /// <param name="handler">Returns the reply: a message, or a dictionary or an object with its fields. Null
    /// is an empty reply.</param>
    /// <exception cref="RpcException">NotFound, with the existing names. AlreadyExists: the method has a
    /// handler. InvalidArgument: the method streams its requests.</exception>
    public RpcServer HandleDynamic(string method, Func<RpcServerCallContext, DynamicMessage, object?> handler)
    {
        ArgumentNullException.ThrowIfNull(handler);
        MessageMapper mapper = new();
        return Handle(method, (context, request) => ValueTask.FromResult<IMessage>(
            handler(context, (DynamicMessage)request) switch
            {
                IMessage reply => reply,
                null => new DynamicMessage(context.Method.ReplyType),
                object reply => mapper.ToMessage(context.Method.ReplyType, reply),
            }));
    }

    /// <summary>Sets a streaming handler without generated message types: it reads requests from an <see
    /// cref="RpcServerStream"/> and writes replies to it. If a direction does not stream, it has one message.
    /// A single reply is sent when the handler has ended.</summary>
    /// <param name="method">The bare name if it is unique, otherwise the full name.</param>
    /// <param name="handler">Handles calls of any kind of method.</param>
    /// <exception cref="RpcException">NotFound, with the existing names. AlreadyExists: the method has a
    /// handler.</exception>
    public RpcServer HandleStreaming(string method, RpcStreamHandler handler) =>
        Handle(method, RpcMethodHandler.OfStreams(handler));

    /// <summary>Sets a streaming handler with generated message types: it receives and returns an
    /// IAsyncEnumerable. Each yielded reply is sent immediately. If a direction does not stream, it has one
    /// message; the reply of a unary method is sent when the handler has ended.</summary>
    /// <param name="method">The bare name if it is unique, otherwise the full name.</param>
    /// <param name="handler">Handles calls of any kind of method.</param>
    /// <exception cref="RpcException">NotFound. InvalidArgument: the types are not the method's.</exception>
    public RpcServer HandleStreaming<TRequest, TReply>(
        string method,
        Func<RpcServerCallContext, IAsyncEnumerable<TRequest>, IAsyncEnumerable<TReply>> handler)
        where TRequest : class, IMessage<TRequest>, new()
        where TReply : class, IMessage<TReply>, new() => Handle(method, RpcMethodHandler.OfStreams(handler));

    /// <summary>Sets an asynchronous handler that reads the request's bytes from a stream, for requests that
    /// may be too large for memory. The stream is also <see cref="RpcServerCallContext.Body"/>.</summary>
    /// <exception cref="RpcException">NotFound, with the existing names. AlreadyExists: the method has a
    /// handler.</exception>
    public RpcServer HandleBody(
        string method, Func<RpcServerCallContext, Stream, ValueTask<IMessage>> handler)
    {
        ArgumentNullException.ThrowIfNull(handler);
        (ServerService service, RpcMethodInfo info) = Find(method);
        MethodTypes.RequireOneRequest(info);
        service.Add(new ServerMethod(info, (context, _) => handler(context, context.Body!))
        {
            TakesStream = true,
        });
        return this;
    }

    /// <summary>Sets an asynchronous handler without generated message types for all methods that have no
    /// handler, except those with a request stream.</summary>
    public RpcServer HandleAll(RpcHandler handler)
    {
        ArgumentNullException.ThrowIfNull(handler);
        _endpoints.RequireNotStarted();
        _services.ForEach(s => s.AddFallback(handler));
        return this;
    }

    /// <summary>Sets an existing <see cref="RpcMethodHandler"/> for all methods that have no
    /// handler.</summary>
    /// <exception cref="RpcException">InvalidArgument: the handler does not fit a method.</exception>
    public RpcServer HandleAll(RpcMethodHandler handler)
    {
        ArgumentNullException.ThrowIfNull(handler);
        _services.ForEach(s => HandleRest(s.Info, handler));
        return this;
    }

    /// <summary>Sets a method's blocking handler with generated message types: it returns the
    /// reply.</summary>
    /// <exception cref="RpcException">NotFound. InvalidArgument: the types are not the method's.</exception>
    public RpcServer Handle<TRequest, TReply>(
        string method, Func<RpcServerCallContext, TRequest, TReply> handler)
        where TRequest : class, IMessage<TRequest>, new()
        where TReply : class, IMessage<TReply>, new()
    {
        ArgumentNullException.ThrowIfNull(handler);
        return Handle(method, RpcMethodHandler.OfTyped<TRequest, TReply>(
            (context, request) => ValueTask.FromResult<IMessage>(handler(context, (TRequest)request))));
    }

    /// <summary>Sets a method's asynchronous handler with generated message types: it returns a ValueTask.
    /// The compiler chooses this method for asynchronous lambda expressions.</summary>
    /// <exception cref="RpcException">NotFound. InvalidArgument: the types are not the method's.</exception>
    [OverloadResolutionPriority(1)]
    public RpcServer Handle<TRequest, TReply>(
        string method, Func<RpcServerCallContext, TRequest, ValueTask<TReply>> handler)
        where TRequest : class, IMessage<TRequest>, new()
        where TReply : class, IMessage<TReply>, new() => Handle(method, RpcMethodHandler.Create(handler));

    /// <summary>Sets a method's asynchronous handler with generated message types: it returns a Task, as a
    /// method of existing code may do.</summary>
    /// <exception cref="RpcException">NotFound. InvalidArgument: the types are not the method's.</exception>
    public RpcServer Handle<TRequest, TReply>(
        string method, Func<RpcServerCallContext, TRequest, Task<TReply>> handler)
        where TRequest : class, IMessage<TRequest>, new()
        where TReply : class, IMessage<TReply>, new()
    {
        ArgumentNullException.ThrowIfNull(handler);
        return Handle(method, RpcMethodHandler.OfTyped<TRequest, TReply>(
            async (context, request) => await handler(context, (TRequest)request).ConfigureAwait(false)));
    }

    /// <summary>Adds an endpoint, before the server listens.</summary>
    /// <exception cref="RpcException">InvalidArgument: the text is not an endpoint.</exception>
    public RpcServer AddEndpoint(string endpoint) => AddEndpoint(RpcEndpoint.Parse(endpoint));

    /// <summary>Adds an endpoint, before the server listens.</summary>
    public RpcServer AddEndpoint(RpcEndpoint endpoint)
    {
        ArgumentNullException.ThrowIfNull(endpoint);
        _endpoints.Add(endpoint);
        return this;
    }

    /// <summary>Binds all endpoints and starts to serve. If one cannot be bound, none is.</summary>
    /// <exception cref="RpcException">An endpoint cannot be bound, and why. FailedPrecondition: an endpoint
    /// would serve anonymous callers, although the server checks callers on others.</exception>
    public RpcServer StartListening()
    {
        try
        {
            _endpoints.Start(_options.UseTls, _options.Certificate, () =>
            {
                RequireChecks(Endpoints, _protocols, _host?.Interceptors ?? _options.Interceptors);
                ServerHost host = Open();
                return endpoint => ProtocolOf(endpoint, _protocols).Bind(endpoint, host);
            });
            return this;
        }
        catch when (!IsListening)
        {
            _calls.CloseLog();
            throw;
        }
    }

    /// <summary>Ends a session, and disposes its values.</summary>
    /// <returns>False if no session has the id.</returns>
    public bool RemoveSession(Guid id) => _host?.RemoveSession(id) == true;

    /// <summary>Rejects new calls, lets running calls end within the drain time, cancels the rest, and closes
    /// the endpoints.</summary>
    /// <param name="drain">The drain time; null for that of the limits.</param>
    public Task StopAsync(TimeSpan? drain = null) => _endpoints.StopAsync(drain);

    /// <summary>Stops the server with the limits' drain time.</summary>
    public void Dispose() => StopAsync().GetAwaiter().GetResult();

    /// <summary>Stops the server with the limits' drain time.</summary>
    public async ValueTask DisposeAsync() => await StopAsync().ConfigureAwait(false);

    /// <summary>Adds a service with its handlers.</summary>
    internal RpcServer AddService(ServerService service)
    {
        _endpoints.RequireNotStarted();
        if (_services.Find(s => s.InterfaceId == service.InterfaceId) is { } other)
        {
            throw new RpcException(
                RpcStatusCode.AlreadyExists,
                $"{service.Info.FullName} and {other.Info.FullName} have the same interface id "
                + $"{service.InterfaceId}; give one of them another.");
        }

        _services.Add(service);
        return this;
    }

    /// <summary>The server's service with a name; null for none.</summary>
    internal RpcServiceInfo? FindService(string name) => _services.Find(s => s.Info.FullName == name)?.Info;

    /// <summary>Sets the handler of all methods of a service without a handler.</summary>
    internal void HandleRest(RpcServiceInfo info, RpcMethodHandler handler)
    {
        _endpoints.RequireNotStarted();
        ServerService service = _services.Find(s => s.Info == info)!;
        foreach (RpcMethodInfo method in info.Methods.Where(m => !service.Has(m)))
        {
            service.Add(handler.Bind(method));
        }
    }

    /// <summary>Ends the configuration. Endpoints of others, such as those of a web application, can then be
    /// served.</summary>
    /// <param name="stop">Stops these endpoints; receives the drain time.</param>
    /// <exception cref="RpcException">InvalidArgument: the accounts that may connect do not apply to any
    /// endpoint.</exception>
    internal ServerHost Open(Func<TimeSpan, Task> stop)
    {
        AllowedAccounts.Check(Endpoints, _options.Security);
        _endpoints.StopAlso(stop);
        return Open();
    }

    /// <summary>Records that an application checks the callers of the server on endpoints of its
    /// own.</summary>
    /// <exception cref="RpcException">FailedPrecondition: the server already listens on an endpoint without
    /// the check.</exception>
    internal void AddCheck()
    {
        lock (_changing)
        {
            _isChecked = true;
            if (IsListening)
            {
                RequireChecks(Endpoints, _protocols, _host!.Interceptors);
            }
        }
    }

    private void RequireChecks(
        IEnumerable<RpcEndpoint> endpoints, IReadOnlyList<IServerProtocol> protocols,
        IReadOnlyList<IRpcInterceptor> interceptors)
    {
        if (UncheckedEndpoints.FindFirst(endpoints, protocols, _options.Security, _isChecked) is { } found
            && !UncheckedEndpoints.AreClosedBy(interceptors, _services.SelectMany(s => s.Info.Methods)))
        {
            throw UncheckedEndpoints.ErrorOf(found);
        }
    }

    private ServerHost Open()
    {
        lock (_services)
        {
            _calls.OpenLog();
            if (_host is null)
            {
                _services.ForEach(s => s.Complete(_options.Interceptors));
                _host = new ServerHost(_services, _options, _calls);
                _endpoints.Stopped = () =>
                {
                    _host.Stop();
                    _calls.CloseLog();
                };
            }

            return _host;
        }
    }

    private static RpcServiceInfo OnlyService(RpcSchema schema) => schema.Services.Count switch
    {
        1 => schema.Services[0],
        0 => throw new RpcException(RpcStatusCode.NotFound, "The schema declares no service."),
        _ => throw new RpcException(
            RpcStatusCode.InvalidArgument,
            "The schema declares several services; "
            + $"name one of {string.Join(", ", schema.Services.Select(s => s.FullName))}."),
    };

    private static IServerProtocol ProtocolOf(
        RpcEndpoint endpoint, IReadOnlyList<IServerProtocol> protocols) =>
        protocols.FirstOrDefault(protocol => protocol.Serves(endpoint.Kind))
        ?? throw (endpoint.Has(EndpointFeatures.ClientOnly) ? ForClients(endpoint) : new RpcException(
            RpcStatusCode.Unimplemented,
            $"This server does not support {endpoint.Transport} endpoints such as '{endpoint}'. "
            + "HTTP and gRPC endpoints are in the package ProtoRpc.AspNetCore: reference it, and create the "
            + "server with the options 'new RpcServerOptions().WithHttp()'.",
            endpoint));

    private static RpcException ForClients(RpcEndpoint endpoint) => new(
        RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidEndpoint,
        $"'{endpoint}' is an endpoint for clients. A listener answers {endpoint.Kind.Protocol} calls on its "
        + $"HTTP endpoints: use '{endpoint.HttpUri}'.",
        endpoint);

    private (ServerService Service, RpcMethodInfo Method) Find(string method)
    {
        _endpoints.RequireNotStarted();
        return FindMethod(method);
    }

    private (ServerService Service, RpcMethodInfo Method) FindMethod(string method)
    {
        if (!method.Contains('/') && !method.Contains('.'))
        {
            ServerService[] having = [.. _services.Where(s => s.Info.FindMethod(method) is not null)];
            if (having.Length == 1)
            {
                return (having[0], having[0].Info.FindMethod(method)!);
            }
        }

        // The schema checks full names, and reports the error.
        foreach (ServerService service in _services)
        {
            RpcMethodInfo info = service.Info.Schema.GetMethod(method);
            if (_services.Find(s => s.Info.FullName == info.Service.FullName) is { } owner)
            {
                return (owner, info);
            }
        }

        throw new RpcException(
            RpcStatusCode.NotFound, $"This server does not serve the service of '{method}'.");
    }

    /// <summary>Replaces handlers, interceptors, endpoints and the certificate while the server listens.
    /// Either all given parts are replaced or none. Running calls continue with the old parts; later calls
    /// use the new ones.</summary>
    /// <param name="change">The replacements.</param>
    /// <returns>Completes when the removed endpoints are closed.</returns>
    /// <exception cref="RpcException">NotFound: the method of a handler does not exist. InvalidArgument: a
    /// handler does not fit its method, or the certificate cannot be used. FailedPrecondition: the server has
    /// not started, or has stopped, or an endpoint would serve anonymous callers although the server checks
    /// callers on others. Also if an endpoint cannot be bound.</exception>
    public Task ChangeAsync(RpcServerChange change)
    {
        ArgumentNullException.ThrowIfNull(change);
        if (change.Endpoints is { Count: 0 })
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                "A server needs at least one endpoint. To close all, stop the server.");
        }

        ServerHost host = _host is { } open && !Completion.IsCompleted ? open : throw new RpcException(
            RpcStatusCode.FailedPrecondition, "The server does not listen. Start it before you change it.");
        SslStreamCertificateContext? shown = ReplacedCertificate.Create(change);
        lock (_changing)
        {
            RpcServerOptions before = _options;
            IReadOnlyList<IRpcInterceptor> interceptors =
                change.Interceptors is { } given ? [.. given] : host.Interceptors;
            Dictionary<ServerService, Dictionary<string, RpcMethodHandler>>? handlers =
                change.Handlers is null ? null : ByService(change.Handlers);
            Dictionary<ServerService, Dictionary<string, ServerMethod>> methods = _services.ToDictionary(
                service => service, service => service.Prepare(handlers?[service], interceptors));
            IReadOnlyList<IServerProtocol> protocols = change.Protocols ?? _protocols;
            RequireChecks(change.Endpoints ?? Endpoints, protocols, interceptors);
            try
            {
                if (shown is not null)
                {
                    // Endpoints that are bound from now on use the new certificate.
                    host.Options = _options = before with
                    {
                        Certificate = change.Certificate,
                        CertificateChain = change.CertificateChain,
                    };
                }

                return _endpoints.ChangeAsync(
                    change.Endpoints, _options.UseTls, _options.Certificate,
                    endpoint => ProtocolOf(endpoint, protocols).Bind(endpoint, host),
                    () =>
                    {
                        _protocols = protocols;
                        if (change.Handlers is not null || change.Interceptors is not null)
                        {
                            host.Publish(methods, interceptors);
                        }
                    },
                    shown,
                    change.DrainTimeout);
            }
            catch
            {
                host.Options = _options = before;
                throw;
            }
        }
    }

    private Dictionary<ServerService, Dictionary<string, RpcMethodHandler>> ByService(
        IReadOnlyDictionary<string, RpcMethodHandler> handlers)
    {
        Dictionary<ServerService, Dictionary<string, RpcMethodHandler>> byService =
            _services.ToDictionary(service => service, _ => new Dictionary<string, RpcMethodHandler>());
        foreach ((string name, RpcMethodHandler handler) in handlers)
        {
            ArgumentNullException.ThrowIfNull(handler);
            (ServerService service, RpcMethodInfo method) = FindMethod(name);
            if (!byService[service].TryAdd(method.Name, handler))
            {
                throw new RpcException(RpcStatusCode.AlreadyExists, $"{method.FullName} has two handlers.");
            }
        }

        return byService;
    }
}

/// <summary>Checks a certificate before it replaces that of a listening server. Otherwise a mistake would
/// only show in the TLS handshakes of clients.</summary>
internal static class ReplacedCertificate
{
    // id-kp-serverAuth and anyExtendedKeyUsage, RFC 5280 4.2.1.12.
    private static readonly string[] OfServers = ["1.3.6.1.5.5.7.3.1", "2.5.29.37.0"];

    /// <summary>The new TLS certificate; null if the change has none.</summary>
    /// <exception cref="RpcException">InvalidArgument: no server can use the certificate.</exception>
    public static SslStreamCertificateContext? Create(RpcServerChange change)
    {
        if (change.Certificate is not { } certificate)
        {
            return change.CertificateChain is null
                ? null
                : throw new RpcException(
                    RpcStatusCode.InvalidArgument, RpcErrorIds.MissingCertificate,
                    "RpcServerChange.CertificateChain has no certificate. Set RpcServerChange.Certificate "
                    + "as well.");
        }

        try
        {
            return !certificate.HasPrivateKey ? throw Unusable(
                    certificate, "it has no private key", RpcErrorIds.MissingCertificate)
                : !IsForServers(certificate) ? throw Unusable(
                    certificate, "its extended key usage does not include server authentication",
                    RpcErrorIds.InvalidCertificate)
                : SslStreamCertificateContext.Create(certificate, change.CertificateChain);
        }
        catch (CryptographicException e)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidCertificate,
                $"The certificate cannot be used: {e.Message.TrimEnd('.')}. Was it disposed of?", e);
        }
    }

    private static bool IsForServers(X509Certificate2 certificate)
    {
        X509EnhancedKeyUsageExtension[] usages =
            [.. certificate.Extensions.OfType<X509EnhancedKeyUsageExtension>()];
        return usages.Length == 0 || usages.Any(usage => usage.EnhancedKeyUsages.Cast<Oid>()
            .Any(oid => OfServers.Contains(oid.Value)));
    }

    private static RpcException Unusable(
        X509Certificate2 certificate, string why, string errorId) => new(
        RpcStatusCode.InvalidArgument, errorId,
        $"The certificate '{certificate.Subject}' cannot be used by a server: {why}.");
}

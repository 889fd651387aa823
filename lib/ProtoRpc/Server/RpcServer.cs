using System.Runtime.CompilerServices;
using Google.Protobuf;
using Microsoft.Extensions.Logging;
using ProtoRpc.Server;

namespace ProtoRpc;

/// <summary>Serves services on endpoints of any kind. Set up by one thread;
/// then safe for use by many.</summary>
/// <example><code>
/// using RpcServer server = RpcServer.Create(schema, "Sample.MyService")
///     .Handle("Send", (context, request) => ...)
///     .AddEndpoint("ncacn_ip_tcp:127.0.0.1[8080]")
///     .StartListening();
/// </code></example>
public sealed partial class RpcServer : IRpcServer
{
    private readonly RpcServerOptions _options;
    private readonly List<ServerService> _services = [];
    private readonly CallMonitor _calls;
    private readonly ServedEndpoints _endpoints;
    private readonly Lock _changing = new();
    private ServerHost? _host;

    // A listener may get endpoints of another kind later.
    private IReadOnlyList<IServerFace> _faces;

    internal RpcServer(RpcServerOptions options)
    {
        _options = options;
        _faces = options.Faces;
        _calls = new CallMonitor(options.LoggerFactory?.CreateLogger<RpcServer>(), options.AccessLog);
        _endpoints = new ServedEndpoints(_calls, options.Limits.DrainTimeout);
    }

    /// <summary>The services with their interface ids.</summary>
    public IReadOnlyList<KeyValuePair<RpcServiceInfo, Guid>> Services =>
        [.. _services.Select(s => KeyValuePair.Create(s.Info, s.InterfaceId))];

    /// <summary>The endpoints, as bound once the server listens.</summary>
    public IReadOnlyList<RpcEndpoint> Endpoints => _endpoints.Endpoints;

    /// <summary>Whether it listens.</summary>
    public bool IsListening => _endpoints.IsListening;

    /// <summary>What it has done, until it stopped.</summary>
    public RpcServerCounters Counters => _endpoints.Counters;

    /// <summary>The sessions that it keeps for callers now.</summary>
    public IReadOnlyList<RpcSession> Sessions => _host?.Sessions ?? [];

    /// <summary>Ends when the server has stopped.</summary>
    public Task Completion => _endpoints.Completion;

    /// <summary>A server for one service.</summary>
    /// <param name="schema">Where the service is declared.</param>
    /// <param name="service">The service's full or bare name; null for the schema's only one.</param>
    /// <param name="options">Null for the defaults.</param>
    /// <param name="interfaceId">The service's id on native endpoints; null for the service's own.</param>
    /// <exception cref="RpcException">NotFound or InvalidArgument:
    /// no such service, or not just one.</exception>
    public static RpcServer Create(
        RpcSchema schema, string? service = null, RpcServerOptions? options = null, Guid? interfaceId = null)
    {
        ArgumentNullException.ThrowIfNull(schema);
        return new RpcServer((options ?? new RpcServerOptions()).Copy())
            .AddService(service is null ? OnlyService(schema) : schema.GetService(service), interfaceId);
    }

    /// <summary>Serves one more service.</summary>
    /// <param name="service">The service.</param>
    /// <param name="interfaceId">Its id on native endpoints; null for the service's own.</param>
    /// <exception cref="RpcException">AlreadyExists when the server has the service or the id.</exception>
    public RpcServer AddService(RpcServiceInfo service, Guid? interfaceId = null)
    {
        ArgumentNullException.ThrowIfNull(service);
        return AddService(new ServerService(service, interfaceId ?? service.InterfaceId));
    }

    /// <summary>Handles a method dynamically. The name is bare where one service has it, else full.</summary>
    /// <exception cref="RpcException">NotFound, with the names there are;
    /// AlreadyExists for a second handler.</exception>
    public RpcServer Handle(string method, RpcHandler handler) =>
        Handle(method, RpcMethodHandler.Of(handler));

    /// <summary>Handles a method. The name is bare where one service has it, else full.</summary>
    /// <exception cref="RpcException">NotFound, with the names there are; AlreadyExists for a second
    /// handler; InvalidArgument: the handler does not fit the method.</exception>
    public RpcServer Handle(string method, RpcMethodHandler handler)
    {
        ArgumentNullException.ThrowIfNull(handler);
        (ServerService service, RpcMethodInfo info) = Find(method);
        service.Add(handler.Bind(info));
        return this;
    }

    /// <summary>Handles a method that takes one request without generated message types.</summary>
    /// <param name="method">The name; bare where one service has it, else full.</param>
    /// <param name="handler">Returns the reply: a message, a dictionary or an object whose members are the
    /// fields. Null is a reply without fields.</param>
    /// <exception cref="RpcException">NotFound, with the names there are; AlreadyExists for a second
    /// handler; InvalidArgument: the method streams its requests.</exception>
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

    /// <summary>Handles a method of any kind by the streams of its messages. A method that does not stream
    /// has one request and one reply, which is sent when the handler has ended.</summary>
    /// <exception cref="RpcException">NotFound, with the names there are;
    /// AlreadyExists for a second handler.</exception>
    public RpcServer HandleStreaming(string method, RpcStreamHandler handler) =>
        Handle(method, RpcMethodHandler.OfStreams(handler));

    /// <summary>Handles a method of any kind with generated message types:
    /// each yielded reply is sent immediately. A side that does not stream has one message; the reply of a
    /// unary method is sent when the handler has ended.</summary>
    /// <exception cref="RpcException">NotFound;
    /// InvalidArgument when the types are not the method's.</exception>
    public RpcServer HandleStreaming<TRequest, TReply>(
        string method,
        Func<RpcServerCallContext, IAsyncEnumerable<TRequest>, IAsyncEnumerable<TReply>> handler)
        where TRequest : class, IMessage<TRequest>, new()
        where TReply : class, IMessage<TReply>, new() => Handle(method, RpcMethodHandler.OfStreams(handler));

    /// <summary>Handles a method whose requests may be too large for memory:
    /// the handler reads the request's bytes from a stream, which is also
    /// <see cref="RpcServerCallContext.Body"/>.</summary>
    /// <exception cref="RpcException">NotFound, with the names there are;
    /// AlreadyExists for a second handler.</exception>
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

    /// <summary>Handles every method without its own handler,
    /// except methods with a request stream.</summary>
    public RpcServer HandleAll(RpcHandler handler)
    {
        ArgumentNullException.ThrowIfNull(handler);
        _endpoints.RequireNotStarted();
        _services.ForEach(s => s.AddFallback(handler));
        return this;
    }

    /// <summary>Handles every method without its own handler.</summary>
    /// <exception cref="RpcException">InvalidArgument: the handler does not fit a method.</exception>
    public RpcServer HandleAll(RpcMethodHandler handler)
    {
        ArgumentNullException.ThrowIfNull(handler);
        _services.ForEach(s => HandleRest(s.Info, handler));
        return this;
    }

    /// <summary>Handles a method with generated message types.</summary>
    /// <exception cref="RpcException">NotFound;
    /// InvalidArgument when the types are not the method's.</exception>
    public RpcServer Handle<TRequest, TReply>(
        string method, Func<RpcServerCallContext, TRequest, TReply> handler)
        where TRequest : class, IMessage<TRequest>, new()
        where TReply : class, IMessage<TReply>, new()
    {
        ArgumentNullException.ThrowIfNull(handler);
        return Handle(method, RpcMethodHandler.OfTyped<TRequest, TReply>(
            (context, request) => ValueTask.FromResult<IMessage>(handler(context, (TRequest)request))));
    }

    /// <summary>Handles a method with generated message types, asynchronously.</summary>
    /// <exception cref="RpcException">NotFound;
    /// InvalidArgument when the types are not the method's.</exception>
    [OverloadResolutionPriority(1)]
    public RpcServer Handle<TRequest, TReply>(
        string method, Func<RpcServerCallContext, TRequest, ValueTask<TReply>> handler)
        where TRequest : class, IMessage<TRequest>, new()
        where TReply : class, IMessage<TReply>, new() => Handle(method, RpcMethodHandler.Of(handler));

    /// <summary>Handles a method with generated message types, asynchronously.</summary>
    /// <exception cref="RpcException">NotFound;
    /// InvalidArgument when the types are not the method's.</exception>
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
    /// <exception cref="RpcException">InvalidArgument: not an endpoint.</exception>
    public RpcServer AddEndpoint(string endpoint) => AddEndpoint(RpcEndpoint.Parse(endpoint));

    /// <summary>Adds an endpoint, before the server listens.</summary>
    public RpcServer AddEndpoint(RpcEndpoint endpoint)
    {
        ArgumentNullException.ThrowIfNull(endpoint);
        _endpoints.Add(endpoint);
        return this;
    }

    /// <summary>Binds every endpoint and begins to serve; binds all or none.</summary>
    /// <exception cref="RpcException">An endpoint that cannot be bound, and why.</exception>
    public RpcServer StartListening()
    {
        try
        {
            _endpoints.Start(_options.UseTls, _options.Certificate, () =>
            {
                ServerHost host = Open();
                return endpoint => FaceOf(endpoint, _faces).Bind(endpoint, host);
            });
            return this;
        }
        catch when (!IsListening)
        {
            _calls.CloseLog();
            throw;
        }
    }

    /// <summary>Ends a session, and disposes what it holds.</summary>
    /// <returns>False when there is none of that id.</returns>
    public bool RemoveSession(Guid id) => _host?.RemoveSession(id) == true;

    /// <summary>Refuses new calls, lets running ones end within the drain time,
    /// cancels the rest, closes.</summary>
    /// <param name="drain">Null for the limit's drain time.</param>
    public Task StopAsync(TimeSpan? drain = null) => _endpoints.StopAsync(drain);

    /// <summary>Stops, with the limit's drain time.</summary>
    public void Dispose() => StopAsync().GetAwaiter().GetResult();

    /// <summary>Stops, with the limit's drain time.</summary>
    public async ValueTask DisposeAsync() => await StopAsync().ConfigureAwait(false);

    /// <summary>Serves one more service, with the handlers that it has.</summary>
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

    /// <summary>The service of that name, if the server has it.</summary>
    internal RpcServiceInfo? FindService(string name) => _services.Find(s => s.Info.FullName == name)?.Info;

    /// <summary>Handles every method of a service without its own handler.</summary>
    internal void HandleRest(RpcServiceInfo info, RpcMethodHandler handler)
    {
        _endpoints.RequireNotStarted();
        ServerService service = _services.Find(s => s.Info == info)!;
        foreach (RpcMethodInfo method in info.Methods.Where(m => !service.Has(m)))
        {
            service.Add(handler.Bind(method));
        }
    }

    /// <summary>Ends the set-up. Endpoints that the server does not bind itself, as those of a web
    /// application, begin to serve with this.</summary>
    /// <param name="stop">Stops such endpoints, and gets the time that running calls have.</param>
    internal ServerHost Open(Func<TimeSpan, Task> stop)
    {
        _endpoints.StopAlso(stop);
        return Open();
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

    private static IServerFace FaceOf(RpcEndpoint endpoint, IReadOnlyList<IServerFace> faces) =>
        faces.FirstOrDefault(face => face.Serves(endpoint.Kind))
        ?? throw new RpcException(
            RpcStatusCode.Unimplemented,
            $"This server does not support {endpoint.Transport} endpoints such as '{endpoint}'. "
            + "HTTP and gRPC endpoints are in the package ProtoRpc.Hosting: reference it, and create the "
            + "server with the options 'new RpcServerOptions().WithHttp()' (namespace ProtoRpc.Hosting).")
        {
            Endpoint = endpoint,
        };

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

        // The schema knows the rules of full names and says what is wrong.
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
}

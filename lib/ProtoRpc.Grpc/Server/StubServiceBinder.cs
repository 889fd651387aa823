using System.Reflection;
using Google.Protobuf.Reflection;
using ProtoRpc.Server;

namespace ProtoRpc.Grpc.Server;

/// <summary>Binds the methods of a generated service class to those of an <see cref="RpcServer"/>.</summary>
/// <param name="interfaceId">The interface id; null for the service's own.</param>
internal sealed class StubServiceBinder(Guid? interfaceId) : ServiceBinderBase
{
    private ServerService? _service;

    /// <exception cref="RpcException">InvalidArgument: no base class is generated, or it has no
    /// methods.</exception>
    public static ServerService Bind(object service, Guid? interfaceId)
    {
        StubServiceBinder binder = new(interfaceId);
        BinderOf(service.GetType()).Invoke(
            null, BindingFlags.DoNotWrapExceptions, binder: null, [binder, service], culture: null);
        return binder._service ?? throw new RpcException(
            RpcStatusCode.InvalidArgument, $"The service of {service.GetType()} has no methods.");
    }

    public override void AddMethod<TRequest, TResponse>(
        Method<TRequest, TResponse> method, UnaryServerMethod<TRequest, TResponse>? handler)
    {
        if (handler is null)
        {
            return;
        }

        MessageParser parser = ParserOf(method);
        ServiceOf(method).Add(new ServerMethod(InfoOf(method), InvokeAsync, parser));

        async ValueTask<IMessage> InvokeAsync(RpcServerCallContext context, IMessage request)
        {
            StubServerContext stub = new(context, stream: null);
            TRequest typed = StubTypes.Cast<TRequest>(request, parser);
            return (IMessage)await stub.RunAsync(Start(handler, typed, stub)).ConfigureAwait(false);
        }
    }

    public override void AddMethod<TRequest, TResponse>(
        Method<TRequest, TResponse> method, ServerStreamingServerMethod<TRequest, TResponse>? handler) =>
        Add(method, handler is null ? null : async (context, requests, replies) =>
        {
            if (await requests.MoveNext(CancellationToken.None).ConfigureAwait(false))
            {
                await handler(requests.Current, replies, context).ConfigureAwait(false);
            }
        });

    public override void AddMethod<TRequest, TResponse>(
        Method<TRequest, TResponse> method, ClientStreamingServerMethod<TRequest, TResponse>? handler) =>
        Add(method, handler is null ? null : async (context, requests, replies) =>
            await replies.WriteAsync(await handler(requests, context).ConfigureAwait(false))
                .ConfigureAwait(false));

    public override void AddMethod<TRequest, TResponse>(
        Method<TRequest, TResponse> method, DuplexStreamingServerMethod<TRequest, TResponse>? handler) =>
        Add(method, handler is null ? null : async (context, requests, replies) =>
            await handler(requests, replies, context).ConfigureAwait(false));

    // A method that the service does not override throws before it returns a task.
    private static Task<TResponse> Start<TRequest, TResponse>(
        UnaryServerMethod<TRequest, TResponse> handler, TRequest request, StubServerContext context)
        where TRequest : class
        where TResponse : class
    {
        try
        {
            return handler(request, context);
        }
        catch (GrpcException e)
        {
            return Task.FromException<TResponse>(e);
        }
    }

    private void Add<TRequest, TResponse>(
        Method<TRequest, TResponse> method, StubStreamHandler<TRequest, TResponse>? handler)
        where TRequest : class
        where TResponse : class
    {
        if (handler is null)
        {
            return;
        }

        MessageParser parser = ParserOf(method);
        ServiceOf(method).Add(new ServerMethod(
            InfoOf(method),
            async (context, stream) =>
            {
                StubServerContext stub = new(context, stream);
                await stub.RunAsync(handler(
                    stub, new StubRequestReader<TRequest>(stream, parser),
                    new StubReplyWriter<TResponse>(stream, stub)))
                    .ConfigureAwait(false);
            },
            parser));
    }

    private ServerService ServiceOf<TRequest, TResponse>(Method<TRequest, TResponse> method)
        where TRequest : class
        where TResponse : class
    {
        if (_service is null)
        {
            FileDescriptor file = StubTypes
                .FilesOf(method.RequestMarshaller, StubTypes.MessageOf(method.RequestMarshaller, method))
                .FirstOrDefault(file => file.Services.Any(s => s.FullName == method.ServiceName))
                ?? throw new RpcException(
                    RpcStatusCode.InvalidArgument,
                    $"The generated code does not declare the service '{method.ServiceName}'. Did a trimmer "
                    + "remove the property Descriptor of its class?");
            RpcServiceInfo info = RpcSchema.FromDescriptors(file).GetService(method.ServiceName);
            _service = new ServerService(info, interfaceId ?? info.InterfaceId);
        }

        return _service;
    }

    private RpcMethodInfo InfoOf<TRequest, TResponse>(Method<TRequest, TResponse> method)
        where TRequest : class
        where TResponse : class => ServiceOf(method).Info.FindMethod(method.Name)
            ?? throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"The generated service '{method.ServiceName}' does not declare its method '{method.Name}'.");

    private static MessageParser ParserOf<TRequest, TResponse>(Method<TRequest, TResponse> method)
        where TRequest : class
        where TResponse : class
    {
        StubTypes.MessageOf(method.ResponseMarshaller, method);
        return StubTypes.MessageOf(method.RequestMarshaller, method).Parser;
    }

    // Finds BindService(ServiceBinderBase, ShopBase) of the class that the attribute on ShopBase contains.
    private static MethodInfo BinderOf(Type service)
    {
        for (Type? type = service; type is not null; type = type.BaseType)
        {
            if (type.GetCustomAttribute<BindServiceMethodAttribute>(inherit: false) is { } attribute)
            {
                return FindBinder(attribute, type);
            }
        }

        throw new RpcException(
            RpcStatusCode.InvalidArgument,
            $"{service} does not derive from a service class that Grpc.Tools generates, such as "
            + "Shop.ShopBase. Set GrpcServices=\"Server\" or \"Both\" for its .proto file.");
    }

    private static MethodInfo FindBinder(BindServiceMethodAttribute attribute, Type service) =>
        attribute.BindType.GetMethod(
            attribute.BindMethodName, BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Static,
            [typeof(ServiceBinderBase), service])
        ?? throw new RpcException(
            RpcStatusCode.InvalidArgument,
            $"{attribute.BindType} has no method {attribute.BindMethodName} for {service}.");
}

/// <summary>Handles the calls of a method that streams.</summary>
internal delegate Task StubStreamHandler<TRequest, TReply>(
    StubServerContext context, StubRequestReader<TRequest> requests, StubReplyWriter<TReply> replies)
    where TRequest : class
    where TReply : class;

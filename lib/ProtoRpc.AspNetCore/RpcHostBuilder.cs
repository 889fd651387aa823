using System.Diagnostics.CodeAnalysis;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.DependencyInjection.Extensions;
using ProtoRpc.AspNetCore.Application;
using ProtoRpc.Server;
using ServiceDescriptor = Google.Protobuf.Reflection.ServiceDescriptor;

namespace ProtoRpc;

/// <summary>Configures the services of an application's server.</summary>
public sealed class RpcHostBuilder
{
    private const DynamicallyAccessedMemberTypes ServiceMembers =
        DynamicallyAccessedMemberTypes.PublicConstructors | DynamicallyAccessedMemberTypes.PublicMethods;

    internal RpcHostBuilder(IServiceCollection services) => Services = services;

    /// <summary>The services of the application.</summary>
    public IServiceCollection Services { get; }

    /// <summary>Serves a service with the methods of a class. Each call gets an object of the class from the
    /// application's services, in a scope for the call. The class is registered as scoped, unless it is
    /// already registered.</summary>
    /// <remarks>A method of the class has the name of the method in the .proto, or that name and
    /// <c>Async</c>. Its parameters are the request, or an <c>IAsyncEnumerable</c> of requests, and
    /// optionally the <see cref="RpcServerCallContext"/> and a CancellationToken. It returns the reply, a
    /// Task or ValueTask of it, or an <c>IAsyncEnumerable</c> of replies. Messages have the generated types
    /// or <see cref="DynamicMessage"/>. A method that does not fit is an error when the application
    /// starts.</remarks>
    /// <typeparam name="TService">The class.</typeparam>
    /// <param name="service">The service, of the generated code:
    /// <c>ShopReflection.Descriptor.Services[0]</c>.</param>
    /// <param name="interfaceId">Its id on native endpoints; null for the service's own.</param>
    public RpcHostBuilder AddService<[DynamicallyAccessedMembers(ServiceMembers)] TService>(
        ServiceDescriptor service, Guid? interfaceId = null)
        where TService : class
    {
        ArgumentNullException.ThrowIfNull(service);
        return Add<TService>(() => ServiceBinder.Bind(
            typeof(TService), RpcSchema.FromDescriptors(service.File).GetService(service.FullName),
            MessageTypes.From(service), interfaceId));
    }

    /// <summary>Serves a service of any schema, such as one that was read from a .proto file, with the
    /// methods of a class.</summary>
    /// <typeparam name="TService">The class.</typeparam>
    /// <param name="service">The service.</param>
    /// <param name="interfaceId">Its id on native endpoints; null for the service's own.</param>
    [RequiresUnreferencedCode(
        "The generated message types of the class are found by reflection. Pass a ServiceDescriptor.")]
    public RpcHostBuilder AddService<[DynamicallyAccessedMembers(ServiceMembers)] TService>(
        RpcServiceInfo service, Guid? interfaceId = null)
        where TService : class
    {
        ArgumentNullException.ThrowIfNull(service);
        return Add<TService>(
            () => ServiceBinder.Bind(typeof(TService), service, MessageTypes.Reflected, interfaceId));
    }

    /// <summary>Adds an interceptor for every call, inside those that were added before. It is created from
    /// the application's services for each call, and is registered as a singleton unless it is already
    /// registered, with any lifetime.</summary>
    /// <typeparam name="TInterceptor">The interceptor.</typeparam>
    public RpcHostBuilder AddInterceptor<
        [DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicConstructors)] TInterceptor>()
        where TInterceptor : class, IRpcInterceptor
    {
        Services.TryAddSingleton<TInterceptor>();
        Services.AddSingleton(new HostedInterceptor(new ServiceInterceptor<TInterceptor>()));
        return this;
    }

    private RpcHostBuilder Add<
        [DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicConstructors)] TService>(
        Func<ServerService> bind)
        where TService : class
    {
        Services.TryAddScoped<TService>();
        Services.AddSingleton(new HostedService(bind));
        return this;
    }
}

/// <summary>An interceptor of the application's services, taken from the scope of each call.</summary>
internal sealed class ServiceInterceptor<TInterceptor> : IRpcInterceptor
    where TInterceptor : class, IRpcInterceptor
{
    public ValueTask<IMessage> InvokeAsync(RpcServerCallContext context, IMessage request, RpcHandler next) =>
        GetService(context).InvokeAsync(context, request, next);

    public ValueTask InvokeStreamAsync(
        RpcServerCallContext context, RpcServerStream stream, RpcStreamHandler next) =>
        GetService(context).InvokeStreamAsync(context, stream, next);

    private static IRpcInterceptor GetService(RpcServerCallContext context) =>
        context.Services!.GetRequiredService<TInterceptor>();
}

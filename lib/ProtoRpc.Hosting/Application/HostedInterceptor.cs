namespace ProtoRpc.Hosting.Application;

/// <summary>An interceptor of an application's server, in the order in which they were added.</summary>
internal sealed record HostedInterceptor(IRpcInterceptor Interceptor);

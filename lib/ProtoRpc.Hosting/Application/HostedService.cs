using ProtoRpc.Server;

namespace ProtoRpc.Hosting.Application;

/// <summary>A service that an application serves.</summary>
/// <param name="Bind">Makes its handlers, when the application starts.</param>
internal sealed record HostedService(Func<ServerService> Bind);

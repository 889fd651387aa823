using ProtoRpc.Protocols;
using ProtoRpc.Server;

namespace ProtoRpc.Tests.Server;

/// <summary>Contexts of calls whose request is read.</summary>
internal static class RequestContexts
{
    public static RpcServerCallContext Of(
        RpcMethodInfo method,
        RequestMemory? memory = null,
        RpcLimits? limits = null,
        DateTimeOffset? deadline = null,
        CancellationToken cancellation = default)
    {
        ServerHost host = new([], new RpcServerOptions { Limits = limits ?? RpcLimits.Default });
        return new RpcServerCallContext(
            host, method, RpcEndpoint.Parse("inproc://test"), PeerIdentity.Anonymous(""), null, deadline,
            cancellation)
        {
            Memory = new RequestMemory.Share(memory ?? host.Memory),
        };
    }
}

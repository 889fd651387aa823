using ProtoRpc.Calls.Grpc;
using ProtoRpc.Calls.Http;
using ProtoRpc.Calls.Native;
using ProtoRpc.Schema;

namespace ProtoRpc.Calls;

/// <summary>Which channel reaches which kind of endpoint.</summary>
internal static class RpcChannels
{
    /// <summary>Opens a channel; a server that is not there is found out now.</summary>
    /// <param name="endpoint">The endpoint.</param>
    /// <param name="service">The service that is called first, or null.</param>
    /// <param name="options">How the client behaves.</param>
    /// <param name="cancellation">Gives up.</param>
    public static IRpcChannel Open(
        RpcEndpoint endpoint, RpcServiceInfo? service, RpcClientOptions options, CancellationToken cancellation) =>
        endpoint.Transport switch
        {
            RpcTransport.Tcp or RpcTransport.NamedPipe or RpcTransport.Local =>
                NativeChannel.Open(endpoint, service, options, cancellation),
            RpcTransport.Grpc or RpcTransport.Grpcs or RpcTransport.GrpcUnix =>
                GrpcChannel.Open(endpoint, options, cancellation),
            RpcTransport.Http or RpcTransport.Https =>
                HttpChannel.Open(endpoint, options, cancellation),
            _ => throw new RpcException(
                RpcStatusCode.Unimplemented, $"No part of this client reaches {endpoint.Transport} endpoints.")
            {
                Endpoint = endpoint,
            },
        };
}

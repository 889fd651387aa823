using System.Net;
using ProtoRpc.Calls.Balancing;
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
        RpcEndpoint endpoint, RpcServiceInfo? service,
        RpcClientOptions options, CancellationToken cancellation) =>
        endpoint.Transport switch
        {
            RpcTransport.Tcp or RpcTransport.NamedPipe or RpcTransport.Local =>
                NativeChannel.Open(endpoint, service, options, cancellation),
            RpcTransport.Grpc or RpcTransport.Grpcs or RpcTransport.GrpcUnix =>
                GrpcChannel.Open(endpoint, options, cancellation),
            RpcTransport.Http or RpcTransport.Https =>
                HttpChannel.Open(endpoint, options, cancellation),
            _ => throw new RpcException(
                RpcStatusCode.Unimplemented,
                $"No part of this client reaches {endpoint.Transport} endpoints.")
            {
                Endpoint = endpoint,
            },
        };

    /// <summary>Opens a channel over several servers of the same kind;
    /// that none is there is found out now.</summary>
    /// <param name="endpoints">The endpoints; each address of a host is a server.</param>
    /// <param name="policy">Which server gets a call.</param>
    /// <param name="service">The service that is called first, or null.</param>
    /// <param name="options">How the client behaves.</param>
    /// <param name="cancellation">Gives up.</param>
    public static IRpcChannel OpenBalanced(
        IReadOnlyList<RpcEndpoint> endpoints,
        RpcLoadBalancing policy,
        RpcServiceInfo? service,
        RpcClientOptions options,
        CancellationToken cancellation)
    {
        BalancedChannel channel = new(
            policy,
            new AddressResolver(endpoints, Dns.GetHostAddresses),
            (resolved, end) => Open(resolved.Endpoint, service, ForHost(options, resolved), end));
        try
        {
            channel.Connect(cancellation);
            return channel;
        }
        catch
        {
            channel.Dispose();
            throw;
        }
    }

    // Certificates and tickets are for names, not for the address that is behind one at the moment.
    private static RpcClientOptions ForHost(RpcClientOptions options, ResolvedEndpoint resolved) =>
        resolved.Endpoint.Host == resolved.Host
            ? options
            : options with
            {
                Tls = options.Tls with { ServerName = options.Tls.ServerName ?? resolved.Host },
                Security = resolved.Endpoint.IsNative
                    && options.Security.Authentication > RpcClientAuthentication.Anonymous
                        ? options.Security with
                        {
                            ServicePrincipalName =
                                options.Security.ServicePrincipalName ?? $"host/{resolved.Host}",
                        }
                        : options.Security,
            };
}

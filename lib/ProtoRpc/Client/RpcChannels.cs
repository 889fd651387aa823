using System.Reflection;
using ProtoRpc.Client.Balancing;
using ProtoRpc.Transports;

namespace ProtoRpc.Client;

/// <summary>Which channel reaches which kind of endpoint.</summary>
internal static class RpcChannels
{
    /// <summary>The ways to reach endpoints.</summary>
    public static IReadOnlyList<RpcChannelAttribute> All { get; } =
        [.. typeof(RpcChannels).Assembly.GetCustomAttributes<RpcChannelAttribute>()];

    /// <summary>Makes a channel, which connects with its first call.</summary>
    /// <param name="endpoint">The endpoint.</param>
    /// <param name="service">The service that is called first, or null.</param>
    /// <param name="options">How the client behaves.</param>
    public static IRpcChannel Create(
        RpcEndpoint endpoint, RpcServiceInfo? service, RpcClientOptions options) =>
        new RetryingChannel(
            CreateSingle(endpoint, service, options), endpoint, options.RetryCount,
            ClientLog.Of<RpcClient>(options));

    /// <summary>Makes a channel over several servers of the same kind.</summary>
    /// <param name="endpoints">The endpoints; each address of a host is a server.</param>
    /// <param name="policy">Which server gets a call.</param>
    /// <param name="service">The service that is called first, or null.</param>
    /// <param name="options">How the client behaves.</param>
    public static IRpcChannel CreateBalanced(
        IReadOnlyList<RpcEndpoint> endpoints,
        RpcLoadBalancing policy,
        RpcServiceInfo? service,
        RpcClientOptions options)
    {
        BalancedChannel channel = new(
            policy,
            new AddressResolver(endpoints, TcpTransport.Resolve),
            resolved => CreateSingle(resolved.Endpoint, service, ForHost(options, resolved)));
        return new RetryingChannel(
            channel, endpoints[0], options.RetryCount, ClientLog.Of<RpcClient>(options));
    }

    private static IRpcChannel CreateSingle(
        RpcEndpoint endpoint, RpcServiceInfo? service, RpcClientOptions options) =>
        All.FirstOrDefault(channel => channel.Reaches(endpoint.Kind))
            ?.Create(endpoint, service, options)
        ?? throw new RpcException(
            RpcStatusCode.Unimplemented,
            $"This client does not support {endpoint.Transport} endpoints.")
        {
            Endpoint = endpoint,
        };

    // Certificates and tickets are for names, not for the address that is behind one at the moment.
    private static RpcClientOptions ForHost(RpcClientOptions options, ResolvedEndpoint resolved) =>
        resolved.Endpoint.Host == resolved.Host
            ? options
            : options with
            {
                Tls = options.Tls with { ServerName = options.Tls.ServerName ?? resolved.Host },
                Security = resolved.Endpoint.Has(EndpointFeatures.Interfaces)
                    && options.Security.Authentication > RpcClientAuthentication.Anonymous
                        ? options.Security with
                        {
                            ServicePrincipalName =
                                options.Security.ServicePrincipalName ?? $"host/{resolved.Host}",
                        }
                        : options.Security,
            };
}

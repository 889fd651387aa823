using System.Reflection;
using ProtoRpc.Client.Balancing;
using ProtoRpc.Transports;
using ProtoRpc.Transports.Http;

namespace ProtoRpc.Client;

/// <summary>Selects the channel for a kind of endpoint.</summary>
internal static class RpcChannels
{
    /// <summary>The registered channels.</summary>
    public static IReadOnlyList<RpcChannelAttribute> All { get; } =
        [.. typeof(RpcChannels).Assembly.GetCustomAttributes<RpcChannelAttribute>()];

    /// <summary>Creates a channel, which connects with its first call.</summary>
    /// <param name="endpoint">The endpoint.</param>
    /// <param name="service">The service of the first call, or null.</param>
    /// <param name="options">The client's options.</param>
    public static IRpcChannel Create(
        RpcEndpoint endpoint, RpcServiceInfo? service, RpcClientOptions options) =>
        new RetryingChannel(
            CreateSingle(endpoint, service, options), endpoint, options.RetryCount,
            ClientLog.Of<RpcClient>(options));

    /// <summary>Creates a channel to several servers of the same kind.</summary>
    /// <param name="endpoints">The endpoints; each address of a host is a server.</param>
    /// <param name="policy">Selects the server of a call.</param>
    /// <param name="service">The service of the first call, or null.</param>
    /// <param name="options">The client's options.</param>
    public static IRpcChannel CreateBalanced(
        IReadOnlyList<RpcEndpoint> endpoints,
        RpcLoadBalancing policy,
        RpcServiceInfo? service,
        RpcClientOptions options)
    {
        BalancedChannel channel = new(
            policy,
            new AddressResolver(endpoints, HostLookup.Find),
            options.Limits.ConnectTimeout,
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

    // Certificates, Kerberos tickets and the exceptions of proxies are for host names, not for the resolved
    // address.
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
                Proxy = resolved.Endpoint.IsHttp || resolved.Endpoint.IsGrpc
                    ? new NamedServerProxy(
                        options.Proxy ?? EnvironmentProxy.Of(resolved.Endpoint.IsGrpc), resolved.Host)
                    : options.Proxy,
            };
}

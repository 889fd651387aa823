using System.Net;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http;

namespace ProtoRpc.Hosting.Application;

/// <summary>Where an application received a request.</summary>
/// <param name="Address">The address; null for none.</param>
/// <param name="Port">The port at the address.</param>
/// <param name="Path">The path of the Unix socket; null for none.</param>
/// <param name="IsTls">Whether the client, or its proxy, uses TLS.</param>
internal readonly record struct MappedPlace(IPAddress? Address, int Port, string? Path, bool IsTls)
{
    /// <summary>Whether no network reaches it: a Unix socket, a named pipe, or a server without
    /// connections, as that of a test.</summary>
    public bool IsLocalOnly => Address is null;

    /// <summary>The place as an endpoint of HTTP.</summary>
    public RpcEndpoint Http => RpcEndpoint.Parse($"{(IsTls ? "https" : "http")}://{Authority}/");

    /// <summary>The place as an endpoint of gRPC.</summary>
    public RpcEndpoint Grpc => Path is not null
        && RpcEndpoint.TryParse($"grpc+unix://{Path}", out RpcEndpoint? unix)
            ? unix
            : RpcEndpoint.Parse($"{(IsTls ? "grpcs" : "grpc")}://{Authority}");

    private string Authority => Address is null
        ? $"localhost:{(IsTls ? 443 : 80)}"
        : new IPEndPoint(Address, Port).ToString();

    /// <summary>The place of a request.</summary>
    public static MappedPlace Of(HttpContext http)
    {
        if (http.Connection.LocalIpAddress is not { } local)
        {
            return new(null, 0, PathOf(http), http.Request.IsHttps);
        }

        // Without the number of the network interface, which differs from request to request.
        IPAddress address = local.IsIPv4MappedToIPv6 ? local.MapToIPv4()
            : local is { AddressFamily: AddressFamily.InterNetworkV6, ScopeId: not 0 }
                ? new(local.GetAddressBytes())
                : local;
        return new(address, http.Connection.LocalPort, null, http.Request.IsHttps);
    }

    private static string? PathOf(HttpContext http)
    {
        try
        {
            return (http.Features.Get<IConnectionSocketFeature>()?.Socket.LocalEndPoint
                as UnixDomainSocketEndPoint)?.ToString();
        }
        catch (Exception e) when (e is SocketException or ObjectDisposedException)
        {
            // The client has gone.
            return null;
        }
    }
}

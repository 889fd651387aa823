using System.Net;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using ProtoRpc.Security;

namespace ProtoRpc.Hosting.Http;

/// <summary>What a connection knows of its peer, from request to request.</summary>
internal sealed class ConnectionPeer
{
    private static readonly object Key = new();

    /// <summary>Who it is, as far as it is known.</summary>
    public PeerIdentity? Identity { get; set; }

    /// <summary>Whether an authentication on this connection has proved the identity.</summary>
    public bool IsProved { get; set; }

    /// <summary>The authentication that has begun on the connection.</summary>
    public SecurityContext? Handshake { get; set; }

    /// <summary>The sender of a request, as identified by its connection.</summary>
    public static PeerIdentity IdentityOf(HttpContext http)
    {
        ConnectionPeer connection = Of(http);
        return connection.Identity ??= Read(http);
    }

    /// <summary>Gives a new connection its entry, before its first request.</summary>
    public static void AddTo(IDictionary<object, object?> items) => items[Key] = new ConnectionPeer();

    /// <summary>The entry of a request's connection.</summary>
    public static ConnectionPeer Of(HttpContext http)
    {
        IDictionary<object, object?> items =
            http.Features.GetRequiredFeature<IConnectionItemsFeature>().Items;

        // The connections of an application have no entry before their first requests. Those of HTTP/2 run at
        // the same time, and the table is a plain one, which two additions at once would break for good.
        lock (items)
        {
            if (items.TryGetValue(Key, out object? known))
            {
                return (ConnectionPeer)known!;
            }

            ConnectionPeer peer = new();
            items[Key] = peer;
            return peer;
        }
    }

    private static PeerIdentity Read(HttpContext http)
    {
        if (http.Connection.RemoteIpAddress is { } ip)
        {
            PeerIdentity caller =
                PeerIdentity.Anonymous(new IPEndPoint(ip, http.Connection.RemotePort).ToString());
            return http.Request.IsHttps
                ? caller with { ProtectionLevel = RpcProtectionLevel.Privacy }
                : caller;
        }

        // The operating system identifies the peer of a Unix socket.
        return http.Features.Get<IConnectionSocketFeature>() is { Socket: { } socket }
            ? UnixPeer.Read(socket)
            : PeerIdentity.Anonymous("");
    }
}

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

    /// <summary>The authentication that has begun on the connection.</summary>
    public SecurityContext? Handshake { get; set; }

    public static ConnectionPeer Of(HttpContext http)
    {
        IDictionary<object, object?> items = http.Features.GetRequiredFeature<IConnectionItemsFeature>().Items;
        if (items.TryGetValue(Key, out object? known))
        {
            return (ConnectionPeer)known!;
        }

        ConnectionPeer peer = new();
        items[Key] = peer;
        return peer;
    }
}

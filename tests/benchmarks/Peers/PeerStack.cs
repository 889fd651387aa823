using System.Globalization;

namespace ProtoRpc.Benchmarks.Peers;

/// <summary>A peer over one transport.</summary>
/// <param name="Peer">The program.</param>
/// <param name="SocketFolder">Where its Unix sockets lie; null for TCP.</param>
internal sealed record PeerStack(PeerProgram Peer, string? SocketFolder)
{
    private int _servers;

    /// <summary>As pages name it.</summary>
    public string Title => SocketFolder is null ? $"{Peer.Name}, TCP" : $"{Peer.Name}, Unix socket";

    /// <summary>An address for one more server. No path comes twice, since a program may leave its socket
    /// behind.</summary>
    public string NextAddress() => SocketFolder is null
        ? "127.0.0.1:0"
        : string.Create(
            CultureInfo.InvariantCulture,
            $"unix:{Path.Combine(SocketFolder, Peer.Name)}-{Interlocked.Increment(ref _servers)}.sock");
}

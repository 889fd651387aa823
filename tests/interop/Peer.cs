namespace ProtoRpc.Interop;

/// <summary>The programs of others that the tests talk to.</summary>
public enum Peer
{
    /// <summary>A DCE/RPC library for Python.</summary>
    Impacket,

    /// <summary>Python's gRPC.</summary>
    Grpc,

    /// <summary>A protocol analyser.</summary>
    Tshark,
}

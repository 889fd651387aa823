namespace ProtoRpc.TestServers;

/// <summary>What a test shows with a client or server of others. docs/peers.md lists it; the test of that
/// page reads the attributes in the sources.</summary>
/// <param name="peer">The program or package.</param>
/// <param name="protocol">The protocol of the calls.</param>
/// <param name="side">The side that the peer takes.</param>
/// <param name="calls">The kinds of calls, and what else they showed.</param>
[AttributeUsage(AttributeTargets.Class | AttributeTargets.Method, AllowMultiple = true)]
internal sealed class PeerCallAttribute(string peer, string protocol, PeerSide side, PeerCalls calls)
    : Attribute
{
    public string Peer => peer;

    public string Protocol => protocol;

    public PeerSide Side => side;

    public PeerCalls Calls => calls;
}

/// <summary>A side of a call.</summary>
internal enum PeerSide
{
    /// <summary>It calls our listener.</summary>
    Client,

    /// <summary>Our client calls it.</summary>
    Server,
}

/// <summary>Kinds of calls, and what else works between two sides; docs/peers.md names them in this
/// order.</summary>
[Flags]
internal enum PeerCalls
{
    Unary = 1 << 0,
    ServerStream = 1 << 1,
    ClientStream = 1 << 2,
    Duplex = 1 << 3,
    AllKinds = Unary | ServerStream | ClientStream | Duplex,

    Errors = 1 << 4,
    ErrorDetails = 1 << 5,
    Metadata = 1 << 6,
    Deadlines = 1 << 7,
    Cancellation = 1 << 8,
    Compression = 1 << 9,
    Retries = 1 << 10,
    Get = 1 << 11,
    Tls = 1 << 12,
    ClientCertificates = 1 << 13,
    UnixSockets = 1 << 14,
    Passwords = 1 << 15,
    Tokens = 1 << 16,
    Ntlm = 1 << 17,
    Kerberos = 1 << 18,
    Reflection = 1 << 19,
    Health = 1 << 20,
    Sessions = 1 << 21,
}

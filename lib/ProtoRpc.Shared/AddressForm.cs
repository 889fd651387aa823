namespace ProtoRpc;

/// <summary>What the address of an endpoint has, and how it is written.</summary>
internal enum AddressForm
{
    /// <summary><c>scheme://host:port</c>, <c>sequence:host[port]</c>.</summary>
    HostAndPort,

    /// <summary><c>scheme://host:port/path</c>.</summary>
    HostPortAndPath,

    /// <summary><c>scheme://host/name</c>, <c>sequence:host[\pipe\name]</c>; the host <c>.</c>, or none, is
    /// this machine.</summary>
    HostAndName,

    /// <summary><c>scheme://name</c>, <c>sequence:[name]</c>.</summary>
    NameAlone,

    /// <summary><c>scheme:///path</c> of a socket.</summary>
    SocketPath,
}

namespace ProtoRpc.Interop;

/// <summary>The programs of others that the tests talk to.</summary>
public enum Peer
{
    /// <summary>A DCE/RPC library for Python.</summary>
    Impacket,

    /// <summary>Python's gRPC.</summary>
    PythonGrpc,

    /// <summary>Node's gRPC.</summary>
    NodeGrpc,

    /// <summary>Node's Connect.</summary>
    NodeConnect,

    /// <summary>Connect for browsers, in one.</summary>
    WebConnect,

    /// <summary>gRPC-Web's own client for browsers, in one.</summary>
    WebGrpc,

    /// <summary>The client of Connect, gRPC and gRPC-Web on the command line: buf curl.</summary>
    Buf,

    /// <summary>A protocol analyser.</summary>
    Tshark,

    /// <summary>A Kerberos realm: MIT's KDC, its tools and its GSSAPI library.</summary>
    Kdc,

    /// <summary>NTLM as a mechanism of GSSAPI.</summary>
    GssNtlm,

    /// <summary>Protocol Buffers for Python.</summary>
    PythonProtobuf,

    /// <summary>A web browser.</summary>
    Chromium,

    /// <summary>The DCE/RPC library for Python and a realm.</summary>
    ImpacketKerberos,

    /// <summary>The DCE/RPC library for Python, and Python's gRPC.</summary>
    ImpacketGrpc,

    /// <summary>Windows' SSPI as Wine has it, with Kerberos by MIT's GSSAPI library, and a realm.</summary>
    WineKerberos,

    /// <summary>The HTTP client of the command line, with what it needs for SPNEGO.</summary>
    Curl,

    /// <summary>A web server as a proxy.</summary>
    Nginx,

    /// <summary>The store of keys and values, with its .proto files.</summary>
    Etcd,

    /// <summary>The runtime of containers, with its .proto files.</summary>
    Containerd,

    /// <summary>PowerShell.</summary>
    PowerShell,

    /// <summary>A spelling checker with a dictionary of English.</summary>
    Hunspell,

    /// <summary>A library that gives a process a clock of its own.</summary>
    FakeTime,
}

namespace ProtoRpc;

/// <summary>How an endpoint is reached.</summary>
public enum RpcTransport
{
    /// <summary>DCE/RPC over TCP (<c>ncacn_ip_tcp</c>, <c>tcp://</c>).</summary>
    Tcp,

    /// <summary>DCE/RPC over a named pipe (<c>ncacn_np</c>, <c>pipe://</c>).</summary>
    NamedPipe,

    /// <summary>DCE/RPC on this machine only (<c>ncalrpc</c>, <c>local://</c>).</summary>
    Local,

    /// <summary>HTTP (<c>http://</c>).</summary>
    Http,

    /// <summary>HTTP over TLS (<c>https://</c>).</summary>
    Https,

    /// <summary>gRPC without TLS (<c>grpc://</c>).</summary>
    Grpc,

    /// <summary>gRPC over TLS (<c>grpcs://</c>).</summary>
    Grpcs,

    /// <summary>gRPC over a Unix domain socket (<c>grpc+unix://</c>).</summary>
    GrpcUnix,
}

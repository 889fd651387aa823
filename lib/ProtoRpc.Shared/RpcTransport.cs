using static ProtoRpc.AddressForm;
using static ProtoRpc.EndpointFeatures;
using static ProtoRpc.EndpointProtocol;

namespace ProtoRpc;

/// <summary>The transport of an endpoint.</summary>
public enum RpcTransport
{
    // The attributes define the kinds of endpoints for EndpointKinds. To add a kind, add a member here.

    /// <summary>DCE/RPC over TCP (<c>ncacn_ip_tcp</c>, <c>tcp://</c>).</summary>
    [EndpointKind(
        "tcp", Native, HostAndPort, OfNative | OptionalTls, Sequence = "ncacn_ip_tcp", ExamplePort = 8080,
        Hint = "TCP: host and port (0: the system picks one)")]
    Tcp,

    /// <summary>DCE/RPC over a named pipe (<c>ncacn_np</c>, <c>pipe://</c>).</summary>
    [EndpointKind(
        "pipe", Native, HostAndName, OfNative | KnowsCaller | KnowsServer, Sequence = "ncacn_np",
        Hint = "Named pipe")]
    NamedPipe,

    /// <summary>DCE/RPC on this machine only (<c>ncalrpc</c>, <c>local://</c>).</summary>
    [EndpointKind(
        "local", Native, NameAlone, OfNative | KnowsCaller | KnowsServer | LocalOnly, Sequence = "ncalrpc",
        Hint = "Local: a Unix socket, or a local pipe on Windows")]
    Local,

    /// <summary>HTTP (<c>http://</c>).</summary>
    [EndpointKind(
        "http", EndpointProtocol.Http, HostPortAndPath, OfHttp, DefaultPort = 80, ExamplePort = 8081,
        Hint = "HTTP without TLS: protobuf, JSON, XML, form")]
    Http,

    /// <summary>HTTP over TLS (<c>https://</c>).</summary>
    [EndpointKind(
        "https", EndpointProtocol.Http, HostPortAndPath, OfHttp | Tls, DefaultPort = 443,
        Hint = "HTTP over TLS")]
    Https,

    /// <summary>gRPC without TLS (<c>grpc://</c>).</summary>
    [EndpointKind(
        "grpc", EndpointProtocol.Grpc, HostAndPort, OfGrpc, ExamplePort = 50051, Hint = "gRPC without TLS")]
    Grpc,

    /// <summary>gRPC over TLS (<c>grpcs://</c>).</summary>
    [EndpointKind(
        "grpcs", EndpointProtocol.Grpc, HostAndPort, OfGrpc | Tls, DefaultPort = 443,
        Hint = "gRPC over TLS")]
    Grpcs,

    /// <summary>gRPC over a Unix domain socket (<c>grpc+unix://</c>).</summary>
    [EndpointKind(
        "grpc+unix", EndpointProtocol.Grpc, SocketPath, OfGrpc | KnowsCaller | KnowsServer | LocalOnly,
        Hint = "gRPC over a Unix socket")]
    GrpcUnix,

    /// <summary>The current process (<c>inproc://</c>).</summary>
    [EndpointKind(
        "inproc", "in-process", NameAlone,
        LocalOnly | KnowsCaller | ReplyStreams | RequestStreams | OwnAccount | ExceptionTypes | Parts
        | Reflection | HeaderExtensions,
        Hint = "In this process, without a socket")]
    InProcess,

    /// <summary>LRPC, the local RPC of Windows
    /// (<c>ncalrpc:[NAME,transport=lrpc]</c>, <c>lrpc://</c>).</summary>
    [EndpointKind(
        "lrpc", Native, NameAlone,
        LocalOnly | KnowsCaller | OwnAccount | Interfaces | ExceptionTypes | Parts | HeaderExtensions
        | WholeMessages,
        Sequence = "ncalrpc", Option = "transport=lrpc",
        Hint = "LRPC: the local RPC of Windows, for programs that use rpcrt4")]
    Lrpc,
}

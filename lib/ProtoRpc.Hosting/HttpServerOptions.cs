using ProtoRpc.Hosting.Grpc;

namespace ProtoRpc;

/// <summary>How a server's HTTP and gRPC endpoints behave. The certificate of those with TLS is
/// <see cref="RpcServerOptions.Certificate"/>.</summary>
public sealed record HttpServerOptions
{
    /// <summary>Whom the endpoints let in.</summary>
    public HttpServerSecurity Security { get; set; } = new();

    /// <summary>Whether <c>http://</c> endpoints may be reached from other machines, where everybody on the
    /// way reads along. For listeners behind a proxy that does TLS, and for closed networks.</summary>
    public bool AllowUnencrypted { get; set; }

    /// <summary>The origins of web pages that may call, as <c>https://app.example.com</c>, or <c>*</c> for
    /// all. Pages of the endpoint itself always may; programs that are not browsers are not asked.</summary>
    public IReadOnlyList<string> AllowedOrigins { get; set; } = [];

    /// <summary>The host names by which clients call the endpoints, beside those of loopback on loopback:
    /// <c>rpc.example.com</c>, <c>*.example.com</c> for all names under it, <c>*</c> for every name. Requests
    /// with other names get 403. Without any, loopback endpoints answer to <c>localhost</c>,
    /// <c>*.localhost</c>, loopback addresses and, with TLS, the names of the certificate,
    /// and other endpoints to every name. Unix sockets answer to every name.</summary>
    public IReadOnlyList<string> AllowedHosts { get; set; } = [];

    /// <summary>Whether GET calls every method. Without it, GET calls only methods with
    /// <c>idempotency_level = NO_SIDE_EFFECTS</c> off loopback and from browsers, because any web page can
    /// make a browser send a GET.</summary>
    public bool AllowGet { get; set; }

    /// <summary>Whether gRPC endpoints serve their schema by grpc.reflection.v1 and v1alpha, and HTTP
    /// endpoints the page of their services and their .proto files. Rules of <see cref="RpcAuthorization"/>
    /// for <c>grpc.reflection.v1.ServerReflection/ServerReflectionInfo</c> apply to all of them.</summary>
    public bool EnableReflection { get; set; } = true;

    /// <summary>Whether gRPC endpoints serve the health service grpc.health.v1.</summary>
    public bool EnableHealth { get; set; } = true;

    /// <summary>The health checks of an application; null for none.</summary>
    internal HealthReports? Health { get; set; }

    /// <summary>When replies are compressed, for HTTP clients that accept it.
    /// <see cref="RpcReplyCompression.Automatic"/> compresses for clients on other machines. Replies over
    /// gRPC are compressed where their handler asks for it.</summary>
    public RpcReplyCompression ReplyCompression { get; set; }

    /// <summary>Replies of fewer bytes are not compressed: 1 KiB.</summary>
    public int CompressionThreshold { get; set; } = 1024;
}

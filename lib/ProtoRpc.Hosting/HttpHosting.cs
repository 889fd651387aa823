using ProtoRpc.Hosting;
using ProtoRpc.Hosting.Grpc;

namespace ProtoRpc;

/// <summary>Brings HTTP and gRPC endpoints to a server.</summary>
public static class HttpHosting
{
    /// <summary>The options with <c>http://</c>, <c>https://</c>, <c>grpc://</c>,
    /// <c>grpcs://</c> and <c>grpc+unix://</c> endpoints.</summary>
    /// <param name="options">The options of the server.</param>
    /// <param name="http">How the endpoints behave; null for the defaults.</param>
    public static RpcServerOptions WithHttp(this RpcServerOptions options, HttpServerOptions? http = null)
    {
        ArgumentNullException.ThrowIfNull(options);
        http ??= new HttpServerOptions();
        TlsPorts ports = new();
        return options with
        {
            Faces = [.. options.Faces, new HttpFace(http, ports), new GrpcFace(http, ports)],
        };
    }
}

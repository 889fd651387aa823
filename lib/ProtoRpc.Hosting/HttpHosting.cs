using ProtoRpc.Calls;

namespace ProtoRpc.Hosting;

/// <summary>Brings HTTP endpoints to a server.</summary>
public static class HttpHosting
{
    /// <summary>The options with <c>http://</c> and <c>https://</c> endpoints.</summary>
    /// <param name="options">The options of the server.</param>
    /// <param name="http">How the endpoints behave; null for the defaults.</param>
    public static RpcServerOptions WithHttp(this RpcServerOptions options, HttpServerOptions? http = null)
    {
        ArgumentNullException.ThrowIfNull(options);
        return options with { Faces = [.. options.Faces, new HttpFace(http ?? new HttpServerOptions())] };
    }
}

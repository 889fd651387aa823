using System.Runtime.CompilerServices;
using ProtoRpc.Calls;
using ProtoRpc.Hosting;

namespace ProtoRpc.PowerShell;

/// <summary>Brings HTTP endpoints to a listener that has some, and ASP.NET Core into the process only then.</summary>
internal static class HttpEndpoints
{
    /// <exception cref="RpcException">FailedPrecondition: ASP.NET Core is not on this machine.</exception>
    public static RpcServerOptions AddTo(RpcServerOptions options, IEnumerable<RpcEndpoint> endpoints)
    {
        if (endpoints.All(endpoint => endpoint.IsNative))
        {
            return options;
        }

        ModuleLoadContext.RequireAspNetCore();
        return Add(options);
    }

    // On its own, so that nothing of ASP.NET Core is looked for before it is known where it is.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static RpcServerOptions Add(RpcServerOptions options) => options.WithHttp(new HttpServerOptions());
}

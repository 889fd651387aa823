using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Abstractions;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;

namespace ProtoRpc.Hosting;

/// <summary>Hands Kestrel's requests to one handler, without the middleware,
/// routing and services of a web host.</summary>
internal sealed class KestrelApplication(RequestDelegate handle) : IHttpApplication<DefaultHttpContext>
{
    public DefaultHttpContext CreateContext(IFeatureCollection contextFeatures)
    {
        // A connection keeps its context from request to request.
        if (contextFeatures is IHostContextContainer<DefaultHttpContext> container)
        {
            container.HostContext ??= new DefaultHttpContext();
            container.HostContext.Initialize(contextFeatures);
            return container.HostContext;
        }

        return new DefaultHttpContext(contextFeatures);
    }

    public Task ProcessRequestAsync(DefaultHttpContext context) => handle(context);

    public void DisposeContext(DefaultHttpContext context, Exception? exception) => context.Uninitialize();
}

using System.Diagnostics;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using ProtoRpc.Protocols;

namespace ProtoRpc.Hosting;

/// <summary>The activity of an HTTP request.</summary>
internal static class HttpActivity
{
    /// <summary>What a call is part of: what the application around the server began for the request, or on
    /// an endpoint of the server's own what the headers name.</summary>
    public static ActivityContext ParentOf(HttpContext http)
    {
        if (http.Features.Get<IHttpActivityFeature>()?.Activity is { } activity)
        {
            return activity.Context;
        }

        IHeaderDictionary headers = http.Request.Headers;
        return TraceContext.Read(headers.TraceParent, headers.TraceState);
    }
}

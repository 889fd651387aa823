using System.Diagnostics;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;

namespace ProtoRpc.Hosting;

/// <summary>The activity of an HTTP request.</summary>
internal static class HttpActivity
{
    /// <summary>What the application around the server began for a request; null on an endpoint of the
    /// server's own, where the headers name what the call is part of.</summary>
    public static ActivityContext? Of(HttpContext http) =>
        http.Features.Get<IHttpActivityFeature>()?.Activity?.Context;
}

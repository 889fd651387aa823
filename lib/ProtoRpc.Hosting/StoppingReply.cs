using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;

namespace ProtoRpc.Hosting;

/// <summary>Refuses requests that arrive over open connections while their endpoint stops.</summary>
internal static class StoppingReply
{
    // RFC 9113, section 8.7: the request was not processed, so clients may send it again, here or elsewhere.
    private const int RefusedStream = 0x7;

    // "code" and "message" are for clients of the Connect protocol, "error_text" for those of ProtoRpc.
    private static readonly byte[] Body =
        """
        {"code":"unavailable","message":"The server is stopping; the call did not run.",
        "error_text":"The server is stopping; the call did not run."}
        """u8.ToArray();

    /// <summary>Refuses a request: HTTP/2 has a code for it that clients understand as not executed, other
    /// versions get the status 503.</summary>
    public static async Task SendAsync(HttpContext http)
    {
        bool isHttp2 = HttpProtocol.IsHttp2(http.Request.Protocol);
        if (isHttp2 && http.Features.Get<IHttpResetFeature>() is { } stream)
        {
            stream.Reset(RefusedStream);
            return;
        }

        HttpResponse reply = http.Response;
        reply.StatusCode = StatusCodes.Status503ServiceUnavailable;
        if (HttpProtocol.IsHttp11(http.Request.Protocol))
        {
            reply.Headers.Connection = "close";
        }

        reply.ContentType = "application/json";
        reply.ContentLength = Body.Length;
        await reply.Body.WriteAsync(Body, http.RequestAborted).ConfigureAwait(false);
    }
}

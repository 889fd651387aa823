using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core.Features;
using ProtoRpc.Hosting.Http;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Server;

namespace ProtoRpc.Hosting.Grpc;

/// <summary>Answers the requests of one gRPC endpoint.</summary>
internal sealed class GrpcService(
    ServerHost host, HostPolicy hosts, GrpcRoutes routes, HttpAuthentication authentication,
    RpcEndpoint endpoint)
{
    /// <summary>Whether a request is one of gRPC.</summary>
    public static bool IsGrpc(HttpRequest request)
    {
        ReadOnlySpan<char> type = request.ContentType;
        int end = type.IndexOf(';');
        type = (end < 0 ? type : type[..end]).TrimEnd();
        return type.Equals(GrpcHeaders.ContentType, StringComparison.OrdinalIgnoreCase)
            || type.Equals($"{GrpcHeaders.ContentType}+proto", StringComparison.OrdinalIgnoreCase);
    }

    /// <summary>Answers a request to an endpoint that the server opened.</summary>
    public Task HandleAsync(HttpContext http) =>
        HandleAsync(
            http, http.Request.Path.Value ?? "", ConnectionPeer.IdentityOf(http), http.RequestAborted);

    /// <summary>Answers a request.</summary>
    /// <param name="http">The request.</param>
    /// <param name="path">What it calls.</param>
    /// <param name="peer">The sender, as identified by the connection or the application.</param>
    /// <param name="aborted">Cancelled when the caller disconnects, or the server stops.</param>
    public async Task HandleAsync(
        HttpContext http, string path, PeerIdentity peer, CancellationToken aborted)
    {
        HttpTrace.Begin(host.Options.Trace, endpoint, http);
        HttpResponse reply = http.Response;
        bool isAllowed = hosts.Allows(http.Request);
        if (!isAllowed && !(IsGrpc(http.Request) && HttpProtocol.IsHttp2(http.Request.Protocol)))
        {
            reply.StatusCode = StatusCodes.Status403Forbidden;
            return;
        }

        if (!HttpMethods.IsPost(http.Request.Method))
        {
            reply.StatusCode = StatusCodes.Status405MethodNotAllowed;
            reply.Headers.Allow = HttpMethods.Post;
            return;
        }

        if (!IsGrpc(http.Request))
        {
            reply.StatusCode = StatusCodes.Status415UnsupportedMediaType;
            return;
        }

        if (!HttpProtocol.IsHttp2(http.Request.Protocol))
        {
            // There are no trailers before it.
            reply.StatusCode = StatusCodes.Status426UpgradeRequired;
            reply.Headers.Upgrade = "HTTP/2";
            return;
        }

        reply.ContentType = GrpcHeaders.ContentType;
        GrpcResponse response = new(http);
        ServerMethod? method = null;
        try
        {
            if (!isAllowed)
            {
                throw hosts.Refusal(http.Request);
            }

            peer = await authentication.CheckAsync(http, peer).ConfigureAwait(false);
            method = routes.Find(path);
        }
        catch (HttpRefusal refusal)
        {
            Note(http, path, peer, refusal.Code);
            // gRPC says it in its own status, in an answer that is a success to HTTP.
            await response.FailAsync(CallFailure.OfRequest(refusal, refusal.Code), null)
                .ConfigureAwait(false);
        }
        catch (Exception e) when (!http.RequestAborted.IsCancellationRequested)
        {
            // Anything else comes from a check of the application.
            CallFailure failure = e is RpcException or MissingMethodException
                ? CallFailure.OfRequest(e)
                : host.Fail(context: null, peer, e);
            Note(http, path, peer, failure.Code);
            await response.FailAsync(failure, null).ConfigureAwait(false);
        }

        if (method is not null)
        {
            Bound(http, method);
            GrpcServerCall call = new(
                host, endpoint, http, method, peer, http.Request.BodyReader, reply.BodyWriter, response,
                aborted);
            await call.RunAsync().ConfigureAwait(false);
        }
    }

    private void Note(HttpContext http, string path, PeerIdentity peer, RpcStatusCode status) =>
        host.Monitor.Refuse(
            "grpc", endpoint, path.TrimStart('/'), peer, status, parent: HttpActivity.ParentOf(http));

    // Each message has its bound. A stream of them has none, and may rest for as long as it likes.
    public static void Bound(HttpContext http, ServerMethod method)
    {
        if (http.Features.Get<IHttpMaxRequestBodySizeFeature>() is { IsReadOnly: false } size)
        {
            size.MaxRequestBodySize = null;
        }

        if (method.Info.IsClientStreaming
            && http.Features.Get<IHttpMinRequestBodyDataRateFeature>() is { } rate)
        {
            rate.MinDataRate = null;
        }
    }
}

using System.Buffers;
using System.IO.Pipelines;
using Microsoft.AspNetCore.Http;
using ProtoRpc.Protocols;
using ProtoRpc.Server;

namespace ProtoRpc.Hosting.Grpc;

/// <summary>Answers calls of gRPC-Web, which browsers can send over any version of HTTP.</summary>
internal sealed class GrpcWebService(ServerHost host, RpcEndpoint endpoint)
{
    private const string Binary = "application/grpc-web";
    private const string Text = "application/grpc-web-text";

    /// <summary>Whether a request is one of gRPC-Web.</summary>
    public static bool IsGrpcWeb(HttpRequest request) => TypeOf(request) is not null;

    /// <summary>Runs a call and answers it, also when it fails.</summary>
    /// <param name="http">The request.</param>
    /// <param name="method">The called method; null if it does not exist.</param>
    /// <param name="missing">The error for a method that does not exist.</param>
    /// <param name="peer">Who calls.</param>
    /// <param name="aborted">Cancelled when the caller is gone, or the server stops.</param>
    public async Task HandleAsync(
        HttpContext http, ServerMethod? method, string missing, PeerIdentity peer, CancellationToken aborted)
    {
        bool isText = TypeOf(http.Request) == Text;
        http.Response.ContentType = isText ? $"{Text}+proto" : $"{Binary}+proto";
        PipeWriter output = isText ? new GrpcWebText(http.Response.BodyWriter) : http.Response.BodyWriter;
        GrpcWebResponse response = new(http);
        try
        {
            ServerMethod found = method ?? throw new RpcException(RpcStatusCode.Unimplemented, missing);
            GrpcService.Bound(http, found);
            PipeReader input = isText
                ? await DecodeAsync(http).ConfigureAwait(false)
                : http.Request.BodyReader;
            GrpcServerCall call = new(host, endpoint, http, found, peer, input, output, response, aborted);
            await call.RunAsync().ConfigureAwait(false);
        }
        catch (RpcException e)
        {
            CallFailure failure = CallFailure.OfRequest(e);
            host.Monitor.Refuse(
                "grpc", endpoint, http.Request.Path.Value?.TrimStart('/'), peer, failure.Code,
                http.Request.ContentLength ?? 0, HttpActivity.ParentOf(http));
            await response.FailAsync(failure, null).ConfigureAwait(false);
            await response.EndAsync(output).ConfigureAwait(false);
        }
    }

    private async Task<PipeReader> DecodeAsync(HttpContext http)
    {
        RequestMemory.Share memory = new(host.Memory);
        try
        {
            return PipeReader.Create(new ReadOnlySequence<byte>(
                await GrpcWebText.ReadAsync(
                    http.Request.BodyReader, host.Options.Limits.MaxMessageBytes, memory, http.RequestAborted)
                    .ConfigureAwait(false)));
        }
        finally
        {
            // The call counts what was decoded.
            memory.Release();
        }
    }

    private static string? TypeOf(HttpRequest request)
    {
        string type = (request.ContentType ?? "").Split(';')[0].Trim().ToLowerInvariant();
        return type is Binary or $"{Binary}+proto" ? Binary : type is Text or $"{Text}+proto" ? Text : null;
    }
}

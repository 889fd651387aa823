using System.IO.Pipelines;
using Google.Protobuf;
using Microsoft.AspNetCore.Http;
using ProtoRpc.Server;

namespace ProtoRpc.Hosting.Grpc;

/// <summary>Runs the calls that come over gRPC.</summary>
internal sealed class GrpcCalls(ServerHost host, RpcEndpoint endpoint)
{
    private readonly int _maxBytes = host.Options.Limits.MaxMessageBytes;

    /// <summary>Runs a call and answers it, also when it fails.</summary>
    /// <param name="http">The request.</param>
    /// <param name="method">What it calls.</param>
    /// <param name="peer">Who calls.</param>
    /// <param name="input">The frames of the request.</param>
    /// <param name="output">Where those of the reply go.</param>
    /// <param name="response">What goes around them.</param>
    public async Task HandleAsync(
        HttpContext http,
        ServerMethod method,
        PeerIdentity peer,
        PipeReader input,
        PipeWriter output,
        GrpcResponse response)
    {
        RpcServerCallContext? context = null;
        GrpcServerStream? stream = null;
        bool failed = true;
        host.BeginCall();
        try
        {
            HttpRequest request = http.Request;
            context = new RpcServerCallContext(
                host,
                method.Info,
                endpoint,
                peer,
                GrpcRequest.ContextOf(request),
                GrpcRequest.DeadlineOf(request),
                http.RequestAborted)
            {
                HeaderSource = () => GrpcRequest.MetadataOf(request),
            };
            stream = new GrpcServerStream(method, context, input, output, response)
            {
                MaxBytes = _maxBytes,
                Encoding = GrpcRequest.EncodingOf(request),
                TakesGzip = GrpcRequest.TakesGzip(request),
            };
            await InvokeAsync(method, context, stream).ConfigureAwait(false);
            await stream.CloseAsync().ConfigureAwait(false);
            await response.SucceedAsync(context).ConfigureAwait(false);
            await response.EndAsync(output).ConfigureAwait(false);
            failed = false;
        }
        catch (Exception e)
        {
            if (stream is not null)
            {
                await stream.CloseAsync().ConfigureAwait(false);
            }

            if (!http.RequestAborted.IsCancellationRequested)
            {
                await response.FailAsync(host.Fail(context, peer, e), context).ConfigureAwait(false);
                await response.EndAsync(output).ConfigureAwait(false);
            }
        }
        finally
        {
            stream?.Dispose();
            context?.End();
            host.EndCall(failed);
        }
    }

    private async ValueTask InvokeAsync(
        ServerMethod method, RpcServerCallContext context, GrpcServerStream stream)
    {
        if (!method.Info.IsUnary)
        {
            await host.InvokeAsync(method, context, stream).ConfigureAwait(false);
            return;
        }

        // Without the machinery of streams.
        IMessage request = (await stream.ReadAsync().ConfigureAwait(false))!;
        IMessage reply = await host.InvokeAsync(method, context, request).ConfigureAwait(false);
        context.RunsHandler = false;
        method.CheckReply(reply, context);
        await stream.SendAsync(reply, compress: true).ConfigureAwait(false);
    }
}

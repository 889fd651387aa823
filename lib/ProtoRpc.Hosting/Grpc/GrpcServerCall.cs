using System.Diagnostics;
using System.IO.Pipelines;
using Google.Protobuf;
using Microsoft.AspNetCore.Http;
using ProtoRpc.Server;

namespace ProtoRpc.Hosting.Grpc;

/// <summary>A call over gRPC, or gRPC-Web.</summary>
/// <param name="host">The server.</param>
/// <param name="endpoint">Where the call came in.</param>
/// <param name="http">The request.</param>
/// <param name="method">What it calls.</param>
/// <param name="peer">Who calls.</param>
/// <param name="input">The frames of the request.</param>
/// <param name="output">Where those of the reply go.</param>
/// <param name="response">What goes around them.</param>
/// <param name="aborted">Cancelled when the caller is gone, or the server stops.</param>
internal sealed class GrpcServerCall(
    ServerHost host,
    RpcEndpoint endpoint,
    HttpContext http,
    ServerMethod method,
    PeerIdentity peer,
    PipeReader input,
    PipeWriter output,
    GrpcResponse response,
    CancellationToken aborted)
    : MessageCall(host, endpoint, peer)
{
    private GrpcServerStream? _stream;

    /// <inheritdoc/>
    protected override bool IsAbandoned => http.RequestAborted.IsCancellationRequested;

    /// <inheritdoc/>
    protected override string RpcSystem => "grpc";

    /// <inheritdoc/>
    protected override ServerMethod? Routed => method;

    /// <inheritdoc/>
    internal override object? SharedConnection =>
        HttpProtocol.IsHttp2(http.Request.Protocol) ? http.Connection.Id : null;

    /// <inheritdoc/>
    protected override long BytesIn => _stream?.BytesReceived ?? 0;

    /// <inheritdoc/>
    protected override long BytesOut => _stream?.BytesSent ?? 0;

    /// <inheritdoc/>
    protected override ActivityContext ReadParent() => HttpActivity.ParentOf(http);

    /// <inheritdoc/>
    protected override CallHead ReadHead()
    {
        HttpRequest request = http.Request;
        return new CallHead(
            method, GrpcRequest.ContextOf(request), GrpcRequest.DeadlineOf(request), aborted)
        {
            Headers = () => GrpcRequest.MetadataOf(request),
            Services = http.RequestServices,
        };
    }

    /// <inheritdoc/>
    protected override ValueTask<RpcServerStream?> OpenStreamAsync(
        ServerMethod method, RpcServerCallContext context)
    {
        _stream = new GrpcServerStream(method, context, input, output, response)
        {
            MaxBytes = Host.Options.Limits.MaxMessageBytes,
            Memory = Memory,
            Encoding = GrpcRequest.EncodingOf(http.Request),
            Request = http.Request,
        };

        // A method with one request and one reply goes without the machinery of streams.
        return new(method.Info.IsUnary ? null : _stream);
    }

    /// <inheritdoc/>
    protected override async ValueTask<IMessage> ReadAsync(
        ServerMethod method, RpcServerCallContext context) =>
        (await _stream!.ReadAsync().ConfigureAwait(false))!;

    /// <inheritdoc/>
    protected override async ValueTask ReplyAsync(RpcServerCallContext context, IMessage reply)
    {
        await _stream!.SendAsync(reply, compress: true).ConfigureAwait(false);
        await CompleteAsync(context).ConfigureAwait(false);
    }

    /// <inheritdoc/>
    protected override async ValueTask CompleteAsync(RpcServerCallContext context)
    {
        await response.SucceedAsync(context).ConfigureAwait(false);
        await response.EndAsync(output).ConfigureAwait(false);
    }

    /// <inheritdoc/>
    protected override async ValueTask FailAsync(CallFailure failure)
    {
        await response.FailAsync(failure, Context).ConfigureAwait(false);
        await response.EndAsync(output).ConfigureAwait(false);
    }

    /// <inheritdoc/>
    protected override ValueTask CloseAsync() => _stream?.CloseAsync() ?? default;

    /// <inheritdoc/>
    protected override void Release()
    {
        _stream?.Dispose();
        base.Release();
    }
}

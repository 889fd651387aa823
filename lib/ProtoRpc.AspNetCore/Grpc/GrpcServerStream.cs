using System.Buffers;
using System.IO.Pipelines;
using ProtoRpc.AspNetCore.Http;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Server;

namespace ProtoRpc.AspNetCore.Grpc;

/// <summary>The messages of a call of gRPC.</summary>
/// <param name="method">The method.</param>
/// <param name="context">The call.</param>
/// <param name="input">The body of the request.</param>
/// <param name="output">The body of the reply.</param>
/// <param name="response">Writes headers and trailers.</param>
internal sealed class GrpcServerStream(
    ServerMethod method, RpcServerCallContext context, PipeReader input, PipeWriter output,
    GrpcResponse response)
    : FramedServerStream(method, context, input, output, FrameRules.Grpc)
{
    protected override ContentEncoding? BeginReplies()
    {
        ContentEncoding? encoding =
            ContentEncoding.Get(Context.ReplyCompression) is { IsSentByGrpc: true } selected
            && GrpcRequest.Accepts(Request, selected) ? selected : null;
        response.Begin(Context, encoding);
        return encoding;
    }

    protected override IMessage Read(in ReadOnlySequence<byte> body) => Method.ReadRequest(body, Context);

    protected override int Write(PipeWriter output, IMessage reply, ContentEncoding? encoding) =>
        GrpcFrameWriter.Write(output, reply, encoding);
}

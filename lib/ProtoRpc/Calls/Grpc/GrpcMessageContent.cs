using System.Net;
using Google.Protobuf;
using ProtoRpc.Wire;

namespace ProtoRpc.Calls.Grpc;

/// <summary>The body of a call that sends one message.</summary>
/// <remarks>Written when it is sent, and again when the handler sends it again: only the one who sends knows when
/// the memory is free for others.</remarks>
internal sealed class GrpcMessageContent : HttpContent
{
    private readonly IMessage _message;
    private readonly bool _compress;

    public GrpcMessageContent(IMessage message, bool compress)
    {
        _message = message;
        _compress = compress;
        Headers.ContentType = GrpcHeaders.MediaType;
    }

    protected override Task SerializeToStreamAsync(Stream stream, TransportContext? context) =>
        SerializeToStreamAsync(stream, context, CancellationToken.None);

    protected override async Task SerializeToStreamAsync(
        Stream stream, TransportContext? context, CancellationToken cancellationToken)
    {
        using MessageBuffer frame = new(0, int.MaxValue, "request");
        GrpcFrameWriter.Write(frame, _message, _compress);
        await stream.WriteAsync(frame.Whole[..frame.Length], cancellationToken).ConfigureAwait(false);
    }

    protected override bool TryComputeLength(out long length)
    {
        length = 0;
        return false;
    }
}

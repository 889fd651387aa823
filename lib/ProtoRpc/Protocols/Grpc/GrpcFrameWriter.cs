using System.Buffers;
using Google.Protobuf;
using ProtoRpc.Messages.Binary;

namespace ProtoRpc.Protocols.Grpc;

/// <summary>Writes messages as frames.</summary>
internal static class GrpcFrameWriter
{
    public static void Write(IBufferWriter<byte> output, IMessage message, bool compress)
    {
        using EncodedMessage body = EncodedMessage.Of(message);
        if (compress)
        {
            ReadOnlySpan<byte> compressed = GrpcEncoding.Compress(body.ToArray());
            WritePrefix(output, isCompressed: true, compressed.Length);
            output.Write(compressed);
        }
        else
        {
            WritePrefix(output, isCompressed: false, body.Length);
            body.WriteTo(output);
        }
    }

    private static void WritePrefix(IBufferWriter<byte> output, bool isCompressed, int length)
    {
        GrpcFraming.WritePrefix(output.GetSpan(GrpcFraming.PrefixLength), isCompressed, length);
        output.Advance(GrpcFraming.PrefixLength);
    }
}

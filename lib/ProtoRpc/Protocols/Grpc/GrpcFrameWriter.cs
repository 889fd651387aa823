using System.Buffers;
using Google.Protobuf;
using ProtoRpc.Messages.Binary;

namespace ProtoRpc.Protocols.Grpc;

/// <summary>Writes messages as frames.</summary>
internal static class GrpcFrameWriter
{
    /// <returns>The bytes of the message, as they go.</returns>
    public static int Write(IBufferWriter<byte> output, IMessage message, bool compress)
    {
        using EncodedMessage body = EncodedMessage.Of(message);

        // GZipStream writes nothing at all for an empty body, and @grpc/grpc-js rejects that as gzip.
        if (compress && body.Length > 0)
        {
            ReadOnlySpan<byte> compressed = GrpcEncoding.Compress(body.ToArray());
            WritePrefix(output, isCompressed: true, compressed.Length);
            output.Write(compressed);
            return compressed.Length;
        }

        WritePrefix(output, isCompressed: false, body.Length);
        body.WriteTo(output);
        return body.Length;
    }

    private static void WritePrefix(IBufferWriter<byte> output, bool isCompressed, int length)
    {
        GrpcFraming.WritePrefix(output.GetSpan(GrpcFraming.PrefixLength), isCompressed, length);
        output.Advance(GrpcFraming.PrefixLength);
    }
}

using System.Buffers;
using Google.Protobuf;
using ProtoRpc.Messages.Binary;

namespace ProtoRpc.Protocols.Grpc;

/// <summary>Writes messages as frames.</summary>
internal static class GrpcFrameWriter
{
    public static void Write(IBufferWriter<byte> output, IMessage message, bool compress)
    {
        if (message is DynamicMessage dynamic)
        {
            // Knows its size only when it is written.
            using WireWriter body = dynamic.Encode();
            Write(output, body.Written, compress);
        }
        else if (compress)
        {
            Write(output, message.ToByteArray(), compress);
        }
        else
        {
            WritePrefix(output, isCompressed: false, message.CalculateSize());
            message.WriteTo(output);
        }
    }

    private static void Write(IBufferWriter<byte> output, ReadOnlySpan<byte> body, bool compress)
    {
        ReadOnlySpan<byte> sent = compress ? GrpcEncoding.Compress(body) : body;
        WritePrefix(output, compress, sent.Length);
        output.Write(sent);
    }

    private static void WritePrefix(IBufferWriter<byte> output, bool isCompressed, int length)
    {
        GrpcFraming.WritePrefix(output.GetSpan(GrpcFraming.PrefixLength), isCompressed, length);
        output.Advance(GrpcFraming.PrefixLength);
    }
}

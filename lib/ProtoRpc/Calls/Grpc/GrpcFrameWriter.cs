using System.Buffers;
using Google.Protobuf;
using ProtoRpc.Messages;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Wire.Grpc;

namespace ProtoRpc.Calls.Grpc;

/// <summary>Writes messages as frames.</summary>
internal static class GrpcFrameWriter
{
    public static void Write(IBufferWriter<byte> output, IMessage message, bool compress)
    {
        if (compress)
        {
            byte[] body = GrpcEncoding.Compress(message.ToByteArray());
            WritePrefix(output, isCompressed: true, body.Length);
            output.Write(body);
        }
        else if (message is DynamicMessage dynamic)
        {
            // Knows its size only when it is written.
            using WireWriter body = dynamic.Encode();
            WritePrefix(output, isCompressed: false, body.Length);
            output.Write(body.Written);
        }
        else
        {
            WritePrefix(output, isCompressed: false, message.CalculateSize());
            message.WriteTo(output);
        }
    }

    private static void WritePrefix(IBufferWriter<byte> output, bool isCompressed, int length)
    {
        GrpcFraming.WritePrefix(output.GetSpan(GrpcFraming.PrefixLength), isCompressed, length);
        output.Advance(GrpcFraming.PrefixLength);
    }
}

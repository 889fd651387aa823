using System.Buffers;
using System.Runtime.InteropServices;
using Google.Protobuf;
using ProtoRpc.Messages;
using ProtoRpc.Wire.Grpc;

namespace ProtoRpc.Calls.Grpc;

/// <summary>Writes messages as frames. Not thread-safe.</summary>
internal sealed class GrpcFrameWriter
{
    private const int KeptSize = 64 * 1024;
    private ArrayBufferWriter<byte> _buffer = new();

    /// <summary>The frame of a message, until the next one is written.</summary>
    public ReadOnlyMemory<byte> Write(IMessage message, bool compress)
    {
        if (_buffer.Capacity > KeptSize)
        {
            _buffer = new ArrayBufferWriter<byte>();
        }

        _buffer.ResetWrittenCount();
        _buffer.GetSpan(GrpcFraming.PrefixLength);
        _buffer.Advance(GrpcFraming.PrefixLength);
        if (message is DynamicMessage dynamic)
        {
            // Its own writer; the interface's goes through Google.Protobuf's.
            dynamic.WriteTo(_buffer);
        }
        else
        {
            message.WriteTo(_buffer);
        }

        return compress ? Compressed() : Finish(isCompressed: false);
    }

    private ReadOnlyMemory<byte> Compressed()
    {
        byte[] body = GrpcEncoding.Compress(_buffer.WrittenSpan[GrpcFraming.PrefixLength..]);
        _buffer.ResetWrittenCount();
        _buffer.GetSpan(GrpcFraming.PrefixLength);
        _buffer.Advance(GrpcFraming.PrefixLength);
        _buffer.Write(body);
        return Finish(isCompressed: true);
    }

    private ReadOnlyMemory<byte> Finish(bool isCompressed)
    {
        Span<byte> prefix = MemoryMarshal.AsMemory(_buffer.WrittenMemory).Span;
        GrpcFraming.WritePrefix(prefix, isCompressed, _buffer.WrittenCount - GrpcFraming.PrefixLength);
        return _buffer.WrittenMemory;
    }
}

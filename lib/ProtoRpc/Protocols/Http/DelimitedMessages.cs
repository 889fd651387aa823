using System.Buffers;
using Google.Protobuf;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Protocols.Headers;

namespace ProtoRpc.Protocols.Http;

/// <summary>Binary messages, each with its length as a varint before it, as all libraries of Protocol Buffers
/// read and write them. An error is an ErrorResult in the same form behind a length that no message can have,
/// so readers that do not know this form also fail.</summary>
internal sealed class DelimitedMessages() : HttpStreamFormat(
    MessageFormats.Binary, "application/x-protobuf; delimited=true", [.. MessageFormats.Binary.MediaTypes])
{
    private const uint ErrorMark = uint.MaxValue;
    private const int MaxVarintLength = 5;

    public override void Write(IBufferWriter<byte> output, IMessage message, FormatOptions options)
    {
        using EncodedMessage body = EncodedMessage.Of(message);
        WriteLength(output, (uint)body.Length);
        body.WriteTo(output);
    }

    public override void WriteError(IBufferWriter<byte> output, ErrorResult error, FormatOptions options)
    {
        WriteLength(output, ErrorMark);
        Write(output, error, options);
    }

    public override bool TryRead(
        ref ReadOnlySequence<byte> buffer, bool isEnd, int maxBytes, out ReadOnlySequence<byte> item,
        out bool isError)
    {
        item = default;
        isError = false;
        SequenceReader<byte> reader = new(buffer);
        if (!TryReadLength(ref reader, out uint length))
        {
            return false;
        }

        if (length == ErrorMark)
        {
            isError = true;
            if (!TryReadLength(ref reader, out length))
            {
                return false;
            }
        }

        if (length > maxBytes)
        {
            throw TooLarge(maxBytes);
        }

        if (!reader.TryReadExact((int)length, out item))
        {
            return false;
        }

        buffer = reader.UnreadSequence;
        return true;
    }

    private static void WriteLength(IBufferWriter<byte> output, uint length)
    {
        Span<byte> bytes = output.GetSpan(MaxVarintLength);
        int count = 0;
        for (; length > 0x7F; length >>= 7)
        {
            bytes[count++] = (byte)(length | 0x80);
        }

        bytes[count++] = (byte)length;
        output.Advance(count);
    }

    private static bool TryReadLength(ref SequenceReader<byte> reader, out uint length)
    {
        ulong value = 0;
        length = 0;
        for (int i = 0; i < MaxVarintLength; i++)
        {
            if (!reader.TryRead(out byte part))
            {
                return false;
            }

            value |= (ulong)(part & 0x7F) << (7 * i);
            if (part < 0x80)
            {
                length = (uint)Math.Min(value, ErrorMark - (value > ErrorMark ? 1UL : 0));
                return true;
            }
        }

        // Longer than any length is too long anyhow.
        length = ErrorMark - 1;
        return true;
    }
}

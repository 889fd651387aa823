using System.Buffers;
using Google.Protobuf;
using ProtoRpc.Protocols.Headers;

namespace ProtoRpc.Protocols.Http;

/// <summary>Newline-delimited JSON: a message on each line. An error is <c>{"@error":{...}}</c>, which no
/// message can be, for names of fields have no such sign.</summary>
internal sealed class JsonLines() : HttpStreamFormat(
    MessageFormats.Json, "application/x-ndjson", "application/x-ndjson", "application/ndjson",
    "application/jsonl",
    "application/json")
{
    private const byte NewLine = (byte)'\n';

    private static ReadOnlySpan<byte> ErrorStart => "{\"@error\":"u8;

    public override void Write(IBufferWriter<byte> output, IMessage message, FormatOptions options)
    {
        Format.WriteChecked(message, output, options with { Indented = false });
        output.Write([NewLine]);
    }

    public override void WriteError(IBufferWriter<byte> output, ErrorResult error, FormatOptions options)
    {
        output.Write(ErrorStart);
        Format.Write(error, output, options with { Indented = false });
        output.Write("}\n"u8);
    }

    public override bool TryRead(
        ref ReadOnlySequence<byte> buffer, bool isEnd, int maxBytes, out ReadOnlySequence<byte> item,
        out bool isError)
    {
        item = default;
        isError = false;
        while (buffer.Length > 0)
        {
            SequencePosition? end = buffer.PositionOf(NewLine);
            ReadOnlySequence<byte> line = end is { } at ? buffer.Slice(0, at) : buffer;
            if (line.Length > maxBytes)
            {
                throw TooLarge(maxBytes);
            }

            if (end is null && !isEnd)
            {
                return false;
            }

            buffer = end is { } next ? buffer.Slice(buffer.GetPosition(1, next)) : buffer.Slice(buffer.End);
            if (IsBlank(line))
            {
                continue;
            }

            // Between its start and the bracket that closes it.
            isError = new SequenceReader<byte>(line).IsNext(ErrorStart);
            item = isError && line.Length > ErrorStart.Length
                ? line.Slice(ErrorStart.Length, line.Length - ErrorStart.Length - 1)
                : line;
            return true;
        }

        return false;
    }

    public override bool MayEnd(in ReadOnlySequence<byte> further) => further.PositionOf(NewLine) is not null;

    private static bool IsBlank(in ReadOnlySequence<byte> line) =>
        line.IsEmpty || (line.Length == 1 && line.FirstSpan[0] == (byte)'\r');
}

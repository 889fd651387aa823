using ProtoRpc.Messages.Binary;
using ProtoRpc.Protocols.Headers;

namespace ProtoRpc.Protocols.Http;

/// <summary>The format of a streamed body: how messages are separated in it.</summary>
/// <remarks>A body that ends without an error is complete: HTTP itself reports a broken connection.</remarks>
internal abstract class HttpStreamFormat(MessageFormat format, string mediaType, params string[] mediaTypes)
{
    /// <summary>One message of ProtoJSON on each line.</summary>
    public static HttpStreamFormat Lines { get; } = new JsonLines();

    /// <summary>Messages with a length prefix.</summary>
    public static HttpStreamFormat Delimited { get; } = new DelimitedMessages();

    /// <summary>Server-sent events with one message of ProtoJSON each.</summary>
    public static HttpStreamFormat Events { get; } = new ServerSentEvents();

    /// <summary>All formats, in the order of preference.</summary>
    public static IReadOnlyList<HttpStreamFormat> All { get; } = [Lines, Delimited, Events];

    /// <summary>The stream format for a message format. A format without its own stream format uses lines of
    /// JSON.</summary>
    public static HttpStreamFormat From(MessageFormat? format) =>
        format?.Row.Streaming == FormatStreaming.Delimited ? Delimited : Lines;

    /// <summary>The format of one message.</summary>
    public MessageFormat Format { get; } = format;

    /// <summary>The media type of the body.</summary>
    public virtual string MediaType { get; } = mediaType;

    /// <summary>Whether an error can be written after messages. If not, the connection is closed before the
    /// end of the body.</summary>
    public virtual bool HasErrors => true;

    /// <summary>The media types by which a client requests this format. The first one is its exact
    /// name.</summary>
    public IReadOnlyList<string> MediaTypes { get; } = mediaTypes;

    /// <summary>The format for a media type without parameters; null for an unknown one.</summary>
    public static HttpStreamFormat? Find(string mediaType) => All.FirstOrDefault(
        format => format.MediaTypes.Contains(mediaType, StringComparer.OrdinalIgnoreCase));

    /// <summary>This format with another JSON form of each message; null for a format without JSON.</summary>
    public virtual HttpStreamFormat? With(MessageFormat json) => null;

    /// <summary>Writes a message whose required fields were checked.</summary>
    public abstract void Write(IBufferWriter<byte> output, IMessage message, FormatOptions options);

    /// <summary>Writes an error as the last item.</summary>
    public abstract void WriteError(IBufferWriter<byte> output, ErrorResult error, FormatOptions options);

    /// <summary>Reads the next message or error from the beginning of the bytes.</summary>
    /// <param name="buffer">The received bytes; afterwards, the rest after the item.</param>
    /// <param name="isEnd">Whether the body has ended.</param>
    /// <param name="maxBytes">The largest message.</param>
    /// <param name="item">The bytes of the message, or of the error.</param>
    /// <param name="isError">Whether the item is an error.</param>
    /// <returns>False when more bytes are needed.</returns>
    /// <exception cref="RpcException">ResourceExhausted: the message is over the limit.</exception>
    public abstract bool TryRead(
        ref ReadOnlySequence<byte> buffer, bool isEnd, int maxBytes, out ReadOnlySequence<byte> item,
        out bool isError);

    /// <summary>Whether further bytes may complete an unfinished message. Cheaper than reading all bytes
    /// again.</summary>
    public virtual bool MayEnd(in ReadOnlySequence<byte> further) => true;

    protected static RpcException TooLarge(int maxBytes) => new(
        RpcStatusCode.ResourceExhausted,
        $"A reply has more than {maxBytes} bytes. Raise RpcLimits.MaxMessageBytes on the connection.")
    {
        MayHaveExecuted = true,
    };
}

/// <summary>Binary messages, each with a varint length prefix, as all Protocol Buffers libraries read and
/// write them. An error is an ErrorResult after a length that no message can have, so readers that do not
/// support this also fail.</summary>
internal sealed class DelimitedMessages() : HttpStreamFormat(
    MessageFormats.Binary, "application/x-protobuf; delimited=true", [.. MessageFormats.Binary.MediaTypes])
{
    private const uint ErrorMark = uint.MaxValue;
    private const int MaxVarintLength = 5;

    public override void Write(IBufferWriter<byte> output, IMessage message, FormatOptions options)
    {
        using EncodedMessage body = EncodedMessage.From(message);
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

        // The length is over any limit, so its exact value does not matter.
        length = ErrorMark - 1;
        return true;
    }
}

/// <summary>Newline-delimited JSON: a message on each line. An error is <c>{"@error":{...}}</c>, which cannot
/// be a message, because field names do not contain @.</summary>
internal sealed class JsonLines(MessageFormat? json = null) : HttpStreamFormat(
    json ?? MessageFormats.Json, "application/x-ndjson", "application/x-ndjson", "application/ndjson",
    "application/jsonl",
    "application/json")
{
    private const byte NewLine = (byte)'\n';

    private static ReadOnlySpan<byte> ErrorStart => "{\"@error\":"u8;

    public override HttpStreamFormat With(MessageFormat json) => new JsonLines(json);

    public override void Write(IBufferWriter<byte> output, IMessage message, FormatOptions options)
    {
        Format.WriteChecked(message, output, options with { Indented = false });
        output.Write([NewLine]);
    }

    public override void WriteError(IBufferWriter<byte> output, ErrorResult error, FormatOptions options)
    {
        output.Write(ErrorStart);
        MessageFormats.Json.Write(error, output, options with { Indented = false });
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
            if (line.IsEmpty || (line.Length == 1 && line.FirstSpan[0] == (byte)'\r'))
            {
                continue;
            }

            // The JSON of the error, without the prefix and the closing bracket.
            isError = new SequenceReader<byte>(line).IsNext(ErrorStart);
            item = isError && line.Length > ErrorStart.Length
                ? line.Slice(ErrorStart.Length, line.Length - ErrorStart.Length - 1)
                : line;
            return true;
        }

        return false;
    }

    public override bool MayEnd(in ReadOnlySequence<byte> further) => further.PositionOf(NewLine) is not null;
}

/// <summary>Server-sent events of HTML, which pages read with EventSource: the data of each event is a
/// message of ProtoJSON. An error is an event of the type <c>error</c>.</summary>
internal sealed class ServerSentEvents(MessageFormat? json = null)
    : HttpStreamFormat(json ?? MessageFormats.Json, "text/event-stream", "text/event-stream")
{
    private const byte NewLine = (byte)'\n';

    // Limits the work: while an event is incomplete, each new line makes the reader scan its lines again.
    private const int MaxLines = 1000;

    public override HttpStreamFormat With(MessageFormat json) => new ServerSentEvents(json);

    public override void Write(IBufferWriter<byte> output, IMessage message, FormatOptions options)
    {
        output.Write("data: "u8);
        Format.WriteChecked(message, output, options with { Indented = false });
        output.Write("\n\n"u8);
    }

    public override void WriteError(IBufferWriter<byte> output, ErrorResult error, FormatOptions options)
    {
        output.Write("event: error\ndata: "u8);
        MessageFormats.Json.Write(error, output, options with { Indented = false });
        output.Write("\n\n"u8);
    }

    // Events without data keep connections open. Other servers write a message on several lines (WHATWG HTML,
    // section 9.2.6).
    public override bool TryRead(
        ref ReadOnlySequence<byte> buffer, bool isEnd, int maxBytes, out ReadOnlySequence<byte> item,
        out bool isError)
    {
        item = default;
        isError = false;
        EventData data = new(maxBytes);
        bool isErrorEvent = false;
        ReadOnlySequence<byte> rest = buffer;
        int lines = 0;
        long others = 0;
        while (rest.PositionOf(NewLine) is { } end)
        {
            ReadOnlySequence<byte> line = rest.Slice(0, end);
            rest = rest.Slice(rest.GetPosition(1, end));
            line = line.Length > 0 && line.Slice(line.Length - 1).FirstSpan[0] == (byte)'\r'
                ? line.Slice(0, line.Length - 1)
                : line;
            if (line.IsEmpty)
            {
                buffer = rest;
                if (data.HasContent)
                {
                    item = data.Join();
                    isError = isErrorEvent;
                    return true;
                }

                data = new EventData(maxBytes);
                isErrorEvent = false;
                lines = 0;
                others = 0;
            }
            else if (++lines > MaxLines)
            {
                throw TooLarge(maxBytes);
            }
            else if (IsField(line, "data"u8, out ReadOnlySequence<byte> value))
            {
                if (!data.TryAdd(value))
                {
                    throw TooLarge(maxBytes);
                }
            }
            else if ((others += line.Length) > maxBytes)
            {
                throw TooLarge(maxBytes);
            }
            else if (IsField(line, "event"u8, out value))
            {
                isErrorEvent = new SequenceReader<byte>(value).IsNext("error"u8) && value.Length == 5;
            }
        }

        return rest.Length > maxBytes ? throw TooLarge(maxBytes) : false;
    }

    private static bool IsField(
        ReadOnlySequence<byte> line, ReadOnlySpan<byte> name, out ReadOnlySequence<byte> value)
    {
        SequenceReader<byte> reader = new(line);
        value = default;
        if (!reader.IsNext(name, advancePast: true)
            || (!reader.End && !reader.IsNext((byte)':', advancePast: true)))
        {
            return false;
        }

        reader.IsNext((byte)' ', advancePast: true);
        value = reader.UnreadSequence;
        return true;
    }

    public override bool MayEnd(in ReadOnlySequence<byte> further) => further.PositionOf(NewLine) is not null;
}

/// <summary>The data of an event while its lines are read.</summary>
/// <param name="maxBytes">The maximum size of the data.</param>
internal struct EventData(int maxBytes)
{
    private ReadOnlySequence<byte> _only;
    private List<ReadOnlySequence<byte>>? _lines;
    private long _length;
    private bool _hasLine;

    /// <summary>Whether the event has data. A single empty line is no event.</summary>
    public readonly bool HasContent => _length > 0;

    /// <summary>Adds a line.</summary>
    /// <returns>False if the data is too large.</returns>
    public bool TryAdd(in ReadOnlySequence<byte> line)
    {
        _length += line.Length + (_hasLine ? 1 : 0);
        if (_hasLine)
        {
            (_lines ??= [_only]).Add(line);
        }
        else
        {
            _only = line;
            _hasLine = true;
        }

        return _length <= maxBytes;
    }

    /// <summary>The lines, separated by line feeds.</summary>
    public readonly ReadOnlySequence<byte> Join()
    {
        if (_lines is null)
        {
            return _only;
        }

        byte[] joined = new byte[_length];
        int end = 0;
        for (int i = 0; i < _lines.Count; i++)
        {
            if (i > 0)
            {
                joined[end++] = (byte)'\n';
            }

            _lines[i].CopyTo(joined.AsSpan(end));
            end += (int)_lines[i].Length;
        }

        return new ReadOnlySequence<byte>(joined);
    }
}

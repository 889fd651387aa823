using System.Text.Json;
using ProtoRpc.Formats.Json;

namespace ProtoRpc.Formats;

/// <summary>Reads the messages of a stream, each as soon as its last byte has arrived.</summary>
/// <remarks>JSON values follow each other; text and XML are split at the record separator (0x1E); binary
/// messages have a length prefix, or the whole stream is one message.</remarks>
/// <param name="input">The stream, which stays open.</param>
/// <param name="format">The format of the messages.</param>
/// <param name="type">Their type.</param>
/// <param name="options">The options for reading.</param>
/// <param name="isSequence">Whether binary messages have their lengths before them.</param>
internal sealed class MessageSequenceReader(
    Stream input, MessageFormat format, RpcMessageInfo type, FormatOptions options, bool isSequence)
{
    /// <summary>The bytes that one message may have.</summary>
    public const int MaxMessageBytes = 256 * 1024 * 1024;

    private const int FirstSize = 16 * 1024;

    private readonly MessageSplitter _splitter = format switch
    {
        _ when format == MessageFormats.Json => new JsonSplitter(),
        { IsText: true } => new SeparatedSplitter(),
        _ => isSequence ? new DelimitedSplitter() : new WholeSplitter(),
    };

    private byte[] _buffer = new byte[FirstSize];
    private int _start;
    private int _end;
    private bool _isEnd;
    private bool _hasBegun;
    private TextOrigin _origin;

    private static ReadOnlySpan<byte> ByteOrderMark => [0xEF, 0xBB, 0xBF];

    private ReadOnlySpan<byte> Waiting => _buffer.AsSpan(_start, _end - _start);

    /// <summary>The next message; null at the end of the stream.</summary>
    /// <exception cref="RpcException">InvalidArgument: the bytes are not a message of this type and format;
    /// the error contains the line and column in the stream. ResourceExhausted: the message is too
    /// long.</exception>
    public async ValueTask<DynamicMessage?> ReadAsync(CancellationToken cancellation)
    {
        FoundMessage found;
        while (!_splitter.TryFind(Waiting, _isEnd, out found))
        {
            if (_isEnd)
            {
                return null;
            }

            await FillAsync(cancellation).ConfigureAwait(false);
        }

        return Take(found);
    }

    private DynamicMessage Take(FoundMessage found)
    {
        TextOrigin start = _splitter.HasLines ? _origin.Behind(Waiting[..found.Start]) : default;
        if (_splitter.HasLines)
        {
            _origin = start.Behind(Waiting[found.Start..found.Taken]);
        }

        ReadOnlyMemory<byte> message = _buffer.AsMemory(_start + found.Start, found.Length);
        _start += found.Taken;
        return format.Read(type, message, options with { Origin = start });
    }

    private async ValueTask FillAsync(CancellationToken cancellation)
    {
        do
        {
            MakeRoom();
            int count = await input.ReadAsync(_buffer.AsMemory(_end), cancellation).ConfigureAwait(false);
            _isEnd = count == 0;
            _end += count;
        }
        while (!_hasBegun && !HasBegun());
    }

    // Windows editors write a byte order mark, which no format allows.
    private bool HasBegun()
    {
        if (!_isEnd && Waiting.Length < ByteOrderMark.Length && ByteOrderMark.StartsWith(Waiting))
        {
            return false;
        }

        _start = format.IsText && Waiting.StartsWith(ByteOrderMark) ? ByteOrderMark.Length : 0;
        return _hasBegun = true;
    }

    private void MakeRoom()
    {
        if (_end < _buffer.Length)
        {
            return;
        }

        int length = _end - _start;
        if (length >= MaxMessageBytes)
        {
            throw new RpcException(
                RpcStatusCode.ResourceExhausted, RpcErrorIds.MessageTooLarge,
                $"A message of the input is larger than the limit of {MaxMessageBytes:N0} bytes.");
        }

        byte[] old = _buffer;
        if (_start < _buffer.Length / 2)
        {
            _buffer = new byte[(int)Math.Min(2L * _buffer.Length, MaxMessageBytes)];
        }

        old.AsSpan(_start, length).CopyTo(_buffer);
        (_start, _end) = (0, length);
    }
}

/// <summary>Finds the end of the first message in a growing sequence of bytes. Each byte is read only once,
/// however few bytes arrive at a time.</summary>
internal abstract class MessageSplitter
{
    /// <summary>Whether errors name their place by line and column.</summary>
    public virtual bool HasLines => true;

    /// <summary>Searches for the end of the first message, in bytes that were not searched before.</summary>
    /// <param name="bytes">All bytes that were not taken yet; the same ones as before, and more.</param>
    /// <param name="isEnd">Whether the stream has ended.</param>
    /// <param name="found">The message, and the number of bytes to consume, including separators.</param>
    /// <returns>False if the message is incomplete, or there is none.</returns>
    public abstract bool TryFind(ReadOnlySpan<byte> bytes, bool isEnd, out FoundMessage found);
}

/// <summary>A message among bytes.</summary>
/// <param name="Start">The bytes before it.</param>
/// <param name="Length">Its length.</param>
/// <param name="Taken">The bytes up to the next message.</param>
internal readonly record struct FoundMessage(int Start, int Length, int Taken);

/// <summary>Splits binary messages, each with its length as a varint before it.</summary>
internal sealed class DelimitedSplitter : MessageSplitter
{
    private const int MaxVarintLength = 5;

    public override bool HasLines => false;

    public override bool TryFind(ReadOnlySpan<byte> bytes, bool isEnd, out FoundMessage found)
    {
        found = default;
        if (!TryReadLength(bytes, out ulong length, out int start))
        {
            return bytes.Length >= MaxVarintLength || (isEnd && bytes.Length > 0)
                ? throw Malformed("the length before a message is cut off or longer than 5 bytes")
                : false;
        }

        if (length > int.MaxValue)
        {
            throw Malformed($"the length before a message is {length} bytes; the limit is 2 GiB");
        }

        if ((ulong)(bytes.Length - start) < length)
        {
            return isEnd
                ? throw Malformed(
                    $"the input ends within a message, after {bytes.Length - start} of its {length} bytes")
                : false;
        }

        found = new FoundMessage(start, (int)length, start + (int)length);
        return true;
    }

    private static bool TryReadLength(ReadOnlySpan<byte> bytes, out ulong length, out int count)
    {
        length = 0;
        for (count = 0; count < Math.Min(bytes.Length, MaxVarintLength);)
        {
            byte part = bytes[count];
            length |= (ulong)(part & 0x7F) << (7 * count++);
            if (part < 0x80)
            {
                return true;
            }
        }

        return false;
    }

    private static RpcException Malformed(string what) => new(
        RpcStatusCode.InvalidArgument, RpcErrorIds.MalformedMessage,
        $"This is not a sequence of binary messages: {what}. A varint with its length must "
        + "precede each message.");
}

/// <summary>Splits messages of text or XML at the record separator (0x1E), which no message contains. The
/// rest after the last one is a message, unless it is white space.</summary>
internal sealed class SeparatedSplitter : MessageSplitter
{
    public const byte Separator = 0x1E;

    private int _position;

    public override bool TryFind(ReadOnlySpan<byte> bytes, bool isEnd, out FoundMessage found)
    {
        int next = bytes[_position..].IndexOf(Separator);
        if (next < 0 && !(isEnd && bytes.IndexOfAnyExcept(" \t\r\n"u8) >= 0))
        {
            _position = bytes.Length;
            found = default;
            return false;
        }

        int end = next < 0 ? bytes.Length : _position + next;
        _position = 0;
        found = new FoundMessage(0, end, next < 0 ? end : end + 1);
        return true;
    }
}

/// <summary>Reads all bytes as one binary message, which has no end mark.</summary>
internal sealed class WholeSplitter : MessageSplitter
{
    private bool _isFound;

    public override bool HasLines => false;

    public override bool TryFind(ReadOnlySpan<byte> bytes, bool isEnd, out FoundMessage found)
    {
        found = new FoundMessage(0, bytes.Length, bytes.Length);
        return isEnd && !_isFound && (_isFound = true);
    }
}

/// <summary>Splits JSON values, with or without white space between them. It only searches for brackets and
/// quotes; the reader of a value reports its errors.</summary>
internal sealed class JsonSplitter : MessageSplitter
{
    private static readonly SearchValues<byte> Structure = SearchValues.Create("{}[]\""u8);
    private static readonly SearchValues<byte> InText = SearchValues.Create("\"\\"u8);
    private static readonly SearchValues<byte> ScalarEnd = SearchValues.Create(" \t\r\n{[\""u8);

    private int _position;
    private int _start = -1;
    private int _depth;
    private bool _isText;
    private bool _isScalar;

    public override bool TryFind(ReadOnlySpan<byte> bytes, bool isEnd, out FoundMessage found)
    {
        bool isWhole = (_start >= 0 || TryStart(bytes)) && TryEnd(bytes);
        if (!isWhole && !(isEnd && _start >= 0))
        {
            found = default;
            return false;
        }

        // An incomplete message is returned as well, so that its reader reports the error.
        int end = isWhole ? _position : bytes.Length;
        found = new FoundMessage(_start, end - _start, end);
        (_position, _start, _depth, _isText, _isScalar) = (0, -1, 0, false, false);
        return true;
    }

    private bool TryStart(ReadOnlySpan<byte> bytes)
    {
        int start = bytes[_position..].IndexOfAnyExcept(" \t\r\n"u8);
        if (start < 0)
        {
            _position = bytes.Length;
            return false;
        }

        _start = _position += start;
        _isScalar = !"{[\""u8.Contains(bytes[_start]);
        return true;
    }

    private bool TryEnd(ReadOnlySpan<byte> bytes)
    {
        if (_isScalar)
        {
            // The first byte belongs to the value, even if it would end another one.
            _position = Math.Max(_position, _start + 1);
            int end = bytes[_position..].IndexOfAny(ScalarEnd);
            _position = end < 0 ? bytes.Length : _position + end;
            return end >= 0;
        }

        while (_position < bytes.Length)
        {
            int next = bytes[_position..].IndexOfAny(_isText ? InText : Structure);
            if (next < 0)
            {
                _position = bytes.Length;
                return false;
            }

            _position += next;
            if (bytes[_position] == '\\')
            {
                // The escaped character must have arrived, to skip it.
                if (_position + 1 == bytes.Length)
                {
                    return false;
                }

                _position += 2;
                continue;
            }

            Step(bytes[_position++]);
            if (_depth <= 0 && !_isText)
            {
                return true;
            }
        }

        return false;
    }

    private void Step(byte character)
    {
        switch (character)
        {
            case (byte)'"':
                _isText = !_isText;
                break;
            case (byte)'{' or (byte)'[':
                _depth++;
                break;
            default:
                _depth--;
                break;
        }
    }
}

/// <summary>Reads the messages of a text of JSON: values one after the other, or for a stream also one
/// array.</summary>
internal static class JsonMessages
{
    // One level deeper, because an array contains the messages.
    private static readonly JsonReaderOptions Reading =
        new() { MaxDepth = JsonMessageReader.MaxJsonDepth + 1 };

    /// <summary>Reads all messages.</summary>
    /// <param name="type">Their type.</param>
    /// <param name="json">The text.</param>
    /// <param name="isStream">Whether an array is its elements.</param>
    /// <exception cref="RpcException">InvalidArgument: not messages of the type, why, and at which line and
    /// column of the text.</exception>
    public static IReadOnlyList<DynamicMessage> Read(RpcMessageInfo type, string json, bool isStream)
    {
        FormatOptions options = new() { Schema = type.Schema };
        return
        [
            .. Split(type, json, isStream).Select(part =>
                MessageFormats.Json.Read(type, part.Json, options with { Origin = part.Origin })),
        ];
    }

    /// <summary>The JSON of each message, which only the splitting has checked so far.</summary>
    /// <inheritdoc cref="Read"/>
    public static IReadOnlyList<JsonPart> Split(RpcMessageInfo type, string json, bool isStream)
    {
        ReadOnlyMemory<byte> utf8 = Encoding.UTF8.GetBytes(json);
        List<JsonPart> parts = [];
        JsonSplitter splitter = new();
        TextOrigin origin = default;
        while (splitter.TryFind(utf8.Span, isEnd: true, out FoundMessage found))
        {
            TextOrigin start = origin.Behind(utf8.Span[..found.Start]);
            parts.Add(new(utf8.Slice(found.Start, found.Length), start));
            origin = start.Behind(utf8.Span[found.Start..found.Taken]);
            utf8 = utf8[found.Taken..];
        }

        return isStream && !IsArray(type) && parts is [var only] && only.Json.Span[0] == '['
            ? Elements(type, only)
            : parts;
    }

    /// <summary>Whether an array can be one message of a type.</summary>
    public static bool IsArray(RpcMessageInfo type) =>
        type.FullName is "google.protobuf.ListValue" or "google.protobuf.Value";

    /// <summary>The JSON of each element of an array.</summary>
    /// <exception cref="RpcException">InvalidArgument: the array is not JSON.</exception>
    public static IReadOnlyList<JsonPart> Elements(RpcMessageInfo type, JsonPart array)
    {
        ReadOnlySpan<byte> json = array.Json.Span;
        Utf8JsonReader reader = new(json, Reading);
        List<JsonPart> elements = [];
        int counted = 0;
        TextOrigin origin = array.Origin;
        try
        {
            reader.Read();
            while (reader.Read() && reader.TokenType != JsonTokenType.EndArray)
            {
                int start = (int)reader.TokenStartIndex;
                reader.Skip();
                origin = origin.Behind(json[counted..start]);
                counted = start;
                elements.Add(new(array.Json[start..(int)reader.BytesConsumed], origin));
            }

            return elements;
        }
        catch (JsonException e)
        {
            string place = array.Origin.Place(e.LineNumber ?? 0, e.BytePositionInLine ?? 0);
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.MalformedMessage,
                $"{type.Name}: this is not JSON: {JsonMessageReader.Reason(e)} (at {place})", e);
        }
    }
}

/// <summary>The JSON of one message in a text.</summary>
/// <param name="Json">The JSON.</param>
/// <param name="Origin">The position of the JSON in the text.</param>
internal readonly record struct JsonPart(ReadOnlyMemory<byte> Json, TextOrigin Origin);

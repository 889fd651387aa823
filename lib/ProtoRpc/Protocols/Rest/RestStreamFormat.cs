using System.Text.Json;
using ProtoRpc.Formats.Json;
using ProtoRpc.Messages;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Http;

namespace ProtoRpc.Protocols.Rest;

/// <summary>A stream of replies as servers of REST write it in JSON, of which a client reads one: values one
/// behind the other, on lines or not, or the elements of one array, as Google's APIs write them.</summary>
/// <remarks>
/// grpc-gateway writes a reply as <c>{"result":...}</c>, and an error as <c>{"error":...}</c>. Others write
/// an error as a <c>google.rpc.Status</c>, and ProtoRpc as <c>{"@error":...}</c>. A reply that has fields of
/// these names is a reply, unless grpc-gateway is known to have sent it.
/// One object reads one stream: it remembers the place, so that it scans each byte once however the bytes
/// arrive.
/// </remarks>
/// <param name="replies">How one reply is read.</param>
/// <param name="names">The names that a reply may have.</param>
/// <param name="isLines">Whether the media type says that the replies are lines, so that an array is a
/// reply.</param>
/// <param name="isGateway">Whether grpc-gateway sends the replies.</param>
internal sealed class RestStreamFormat(
    MessageFormat replies, RestReplyNames names, bool isLines, bool isGateway)
    : HttpStreamFormat(replies, "application/json", "application/json")
{
    // Only limits the search for the end of a message. The message is then read with the depth limit of the
    // options.
    private const int MaxNesting = 1024;

    // Limits the work: blanks before the second bracket are scanned again with each piece of the body.
    private const int MaxBlanks = 64;

    private static readonly JsonReaderOptions Reading = new() { MaxDepth = MaxNesting };

    private Place _place = Place.Start;
    private long _scanned;
    private int _depth;
    private bool _inString;
    private bool _isEscaped;

    private enum Place
    {
        Start,
        BetweenValues,
        FirstElement,
        BehindElement,
        NextElement,
        BehindArray,
    }

    private static ReadOnlySpan<byte> Blanks => " \t\r\n"u8;

    public override void Write(IBufferWriter<byte> output, IMessage message, FormatOptions options) =>
        throw new NotSupportedException("Servers write lines or events.");

    public override void WriteError(IBufferWriter<byte> output, ErrorResult error, FormatOptions options) =>
        throw new NotSupportedException("Servers write lines or events.");

    public override bool TryRead(
        ref ReadOnlySequence<byte> buffer, bool isEnd, int maxBytes, out ReadOnlySequence<byte> item,
        out bool isError)
    {
        item = default;
        isError = false;
        if (_scanned == 0 && !TryBegin(ref buffer, isEnd))
        {
            return false;
        }

        bool isWhole = TryFindEnd(buffer, isEnd, out long length);
        if (length > maxBytes)
        {
            throw TooLarge(maxBytes);
        }

        if (!isWhole)
        {
            _scanned = length;
            return false;
        }

        item = buffer.Slice(0, length);
        buffer = buffer.Slice(length);
        _scanned = 0;
        _place = _place is Place.FirstElement or Place.NextElement
            ? Place.BehindElement
            : Place.BetweenValues;
        item = Open(item, out isError);
        return true;
    }

    // Skips the bytes before a value. Returns false if no value begins in the received bytes.
    private bool TryBegin(ref ReadOnlySequence<byte> buffer, bool isEnd)
    {
        while (true)
        {
            SequenceReader<byte> reader = new(buffer);
            reader.AdvancePastAny(Blanks);
            buffer = reader.UnreadSequence;
            if (!reader.TryRead(out byte next))
            {
                return isEnd && _place is not (Place.Start or Place.BetweenValues or Place.BehindArray)
                    ? throw Malformed("the end of the array of replies is missing")
                    : false;
            }

            switch (_place)
            {
                case Place.Start when next == (byte)'[' && !isLines:
                    // If each reply is a list, an array of replies begins with two brackets. Whether the
                    // second one counts may not depend on how many of the blanks have arrived.
                    if (names.IsList)
                    {
                        bool isNear = reader.AdvancePastAny(Blanks) < MaxBlanks;
                        if (isNear && reader.End && !isEnd)
                        {
                            return false;
                        }

                        if (!(isNear && reader.TryPeek(out byte second) && second == (byte)'['))
                        {
                            _place = Place.BetweenValues;
                            return true;
                        }
                    }

                    _place = Place.FirstElement;
                    break;
                case Place.FirstElement or Place.BehindElement when next == (byte)']':
                    _place = Place.BehindArray;
                    break;
                case Place.BehindElement when next == (byte)',':
                    _place = Place.NextElement;
                    break;
                case Place.BehindElement:
                    throw Malformed("a comma is missing between two replies");
                case Place.BehindArray:
                    throw Malformed("there is text after the array of replies");
                case var _ when next is (byte)']' or (byte)'}' or (byte)',' or (byte)':':
                    throw Malformed($"'{(char)next}' is unexpected between replies");
                default:
                    _place = _place == Place.Start ? Place.BetweenValues : _place;
                    return true;
            }

            buffer = buffer.Slice(1);
        }
    }

    // Returns in length the end of the first value, or the number of scanned bytes if the value is
    // incomplete.
    private bool TryFindEnd(in ReadOnlySequence<byte> buffer, bool isEnd, out long length)
    {
        SequenceReader<byte> reader = new(buffer);
        reader.Advance(_scanned);
        bool found = false;
        while (!found && !reader.End)
        {
            found = _inString ? TryEndString(ref reader)
                : _depth > 0 ? TryEndBrackets(ref reader)
                : TryEndScalar(ref reader);
        }

        length = reader.Consumed;

        // Only a number or a word can end with the body; all other values have an end character.
        return found || (isEnd && _depth == 0 && !_inString);
    }

    private bool TryEndString(ref SequenceReader<byte> reader)
    {
        if (_isEscaped)
        {
            reader.Advance(1);
            _isEscaped = false;
            return false;
        }

        if (!reader.TryAdvanceToAny("\"\\"u8, advancePastDelimiter: false))
        {
            reader.AdvanceToEnd();
            return false;
        }

        reader.TryRead(out byte sign);
        _isEscaped = sign == (byte)'\\';
        _inString = _isEscaped;
        return !_inString && _depth == 0;
    }

    private bool TryEndBrackets(ref SequenceReader<byte> reader)
    {
        if (!reader.TryAdvanceToAny("\"{}[]"u8, advancePastDelimiter: false))
        {
            reader.AdvanceToEnd();
            return false;
        }

        reader.TryRead(out byte sign);
        _inString = sign == (byte)'"';
        _depth += sign is (byte)'{' or (byte)'[' ? 1 : _inString ? 0 : -1;
        return _depth == 0;
    }

    // Reads the first byte of a value, or a number or a word.
    private bool TryEndScalar(ref SequenceReader<byte> reader)
    {
        reader.TryPeek(out byte sign);
        if (reader.Consumed == 0 && sign is (byte)'"' or (byte)'{' or (byte)'[')
        {
            reader.Advance(1);
            _inString = sign == (byte)'"';
            _depth = _inString ? 0 : 1;
            return false;
        }

        if (reader.TryAdvanceToAny(",:\"{}[] \t\r\n"u8, advancePastDelimiter: false))
        {
            return true;
        }

        reader.AdvanceToEnd();
        return false;
    }

    // Returns the reply, or the error in an envelope.
    private ReadOnlySequence<byte> Open(ReadOnlySequence<byte> item, out bool isError)
    {
        isError = false;
        try
        {
            Utf8JsonReader json = JsonSequence.Read(item, Reading);
            if (!json.Read() || json.TokenType != JsonTokenType.StartObject
                || !json.Read() || json.TokenType != JsonTokenType.PropertyName)
            {
                return item;
            }

            if (json.ValueTextEquals("result"u8))
            {
                return (isGateway || names.LacksResult)
                    && TryEnter(ref json, item, out ReadOnlySequence<byte> result)
                        ? result
                        : item;
            }

            if (json.ValueTextEquals("@error"u8))
            {
                isError = TryEnter(ref json, item, out ReadOnlySequence<byte> error);
                return isError ? error : item;
            }

            isError = json.ValueTextEquals("error"u8) && (isGateway || names.LacksError)
                ? TryEnter(ref json, item, out _)
                : names.LacksStatus && IsStatus(ref json);
        }
        catch (JsonException)
        {
            // The reader of the reply reports the error.
        }

        return item;
    }

    // Returns the value of an object's only member.
    private static bool TryEnter(
        ref Utf8JsonReader json, in ReadOnlySequence<byte> item, out ReadOnlySequence<byte> value)
    {
        json.Read();
        long start = json.TokenStartIndex;
        json.Skip();
        value = item.Slice(start, json.BytesConsumed - start);
        return json.Read() && json.TokenType == JsonTokenType.EndObject;
    }

    // Whether the object is a google.rpc.Status without other members. Begins at the name of its first
    // member.
    private static bool IsStatus(ref Utf8JsonReader json)
    {
        bool hasCode = false;
        int members = 0;
        while (json.TokenType == JsonTokenType.PropertyName)
        {
            bool isCode = json.ValueTextEquals("code"u8);
            if (!isCode && !json.ValueTextEquals("message"u8) && !json.ValueTextEquals("details"u8))
            {
                return false;
            }

            json.Read();
            hasCode |= isCode && json.TokenType == JsonTokenType.Number && json.TryGetInt32(out int code)
                && RestStatus.IsCode(code);
            json.Skip();
            json.Read();
            members++;
        }

        return hasCode && members > 1;
    }

    private static RpcException Malformed(string problem) => new(
        RpcStatusCode.Internal, $"The stream of replies is not JSON: {problem}.")
    {
        ErrorId = RpcErrorIds.BadReply,
        MayHaveExecuted = true,
    };
}

/// <summary>The names in a reply, which distinguish a reply from an envelope.</summary>
/// <param name="IsList">Whether the reply is a list.</param>
/// <param name="LacksResult">Whether the reply has no field <c>result</c>.</param>
/// <param name="LacksError">Whether the reply has no field <c>error</c>.</param>
/// <param name="LacksStatus">Whether the reply has neither a field <c>code</c> nor <c>message</c>.</param>
internal readonly record struct RestReplyNames(
    bool IsList, bool LacksResult, bool LacksError, bool LacksStatus)
{
    /// <summary>The names of the replies of a binding.</summary>
    public static RestReplyNames From(RestBinding binding)
    {
        RpcMessageInfo? type = binding.ReplyField is { } field
            ? field.IsRepeated ? null : field.MessageType
            : binding.Method.ReplyType;
        WellKnownType known = type is null ? WellKnownType.None : WellKnownTypes.Get(type);
        bool isList = binding.ReplyField is { IsRepeated: true, IsMap: false }
            || known is WellKnownType.ListValue or WellKnownType.Value;
        bool hasAny = binding.ReplyField is { IsMap: true }
            || known is WellKnownType.Struct or WellKnownType.Value or WellKnownType.Any;
        return new(isList, Lacks("result"), Lacks("error"), Lacks("code") && Lacks("message"));

        bool Lacks(string name) => !hasAny
            && type?.Fields.Any(field => field.Name == name || field.JsonKey == name) != true;
    }
}

/// <summary>A stream of <c>google.api.HttpBody</c>: each received piece of bytes is a message.</summary>
internal sealed class RestRawStream(MessageFormat replies)
    : HttpStreamFormat(replies, "application/octet-stream", "*/*")
{
    public override void Write(IBufferWriter<byte> output, IMessage message, FormatOptions options) =>
        throw new NotSupportedException("Bytes are written by the server.");

    public override void WriteError(IBufferWriter<byte> output, ErrorResult error, FormatOptions options) =>
        throw new NotSupportedException("Bytes have no error behind them.");

    public override bool TryRead(
        ref ReadOnlySequence<byte> buffer, bool isEnd, int maxBytes, out ReadOnlySequence<byte> item,
        out bool isError)
    {
        isError = false;
        item = buffer.Slice(0, Math.Min(maxBytes, buffer.Length));
        buffer = buffer.Slice(item.End);
        return !item.IsEmpty;
    }
}

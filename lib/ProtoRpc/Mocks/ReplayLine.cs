using System.Text;
using System.Text.Json;
using Google.Protobuf;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Schema;
using ProtoRpc.Server.Recording;

namespace ProtoRpc.Mocks;

/// <summary>Reads one line of recorded calls.</summary>
internal sealed class ReplayLine(
    string path, int line, ReadOnlyMemory<byte> text, IReadOnlyList<RpcMethodInfo> methods)
{
    private const int MaxJsonDepth = 512;
    private const int LongestBegin = 16;

    // What clients and tools ask every server: schemas, health, and whether it is there.
    private static readonly string[] OfServers = ["grpc.reflection.", "grpc.health.", "protorpc.BuiltIn/"];

    private readonly Dictionary<string, (int Start, int End)> _members = new(StringComparer.Ordinal);

    /// <summary>The call; null for one that is no call of a service, but of the server.</summary>
    /// <exception cref="RpcException">The line is no recorded call: where, and why.</exception>
    public ReplayedCall? Read()
    {
        try
        {
            return ReadCall();
        }
        catch (Exception e) when (e is JsonException or InvalidOperationException)
        {
            throw Bad(0, "the line has text that is not valid UTF-8, or is nested too deep.", e);
        }
    }

    private ReplayedCall? ReadCall()
    {
        FindMembers();
        if (FindMethod() is not { } method)
        {
            return null;
        }

        if (_members.TryGetValue(RecordNames.Truncated, out (int Start, int End) truncated))
        {
            throw Bad(
                truncated.Start, "the call was recorded without all of its messages. Remove the line, or "
                + "record smaller calls.");
        }

        List<DynamicMessage> requests =
            ReadMessages(method.RequestType, RecordNames.Request, RecordNames.Requests);
        List<DynamicMessage> replies = ReadMessages(method.ReplyType, RecordNames.Reply, RecordNames.Replies);
        RpcException? failure = ReadFailure(method);
        if (failure is null && !method.IsServerStreaming && replies.Count != 1)
        {
            throw Bad(
                0,
                $"the call ended with OK and has {replies.Count} replies, but {method.FullName} sends one.");
        }

        List<IMessage> answer = failure is not null && !method.IsServerStreaming ? [] : [.. replies];
        return new ReplayedCall(method, requests, new GivenAnswer(answer, failure), ReadMask());
    }

    private void FindMembers()
    {
        Utf8JsonReader reader = new(text.Span, new JsonReaderOptions { MaxDepth = MaxJsonDepth });
        try
        {
            if (!reader.Read() || reader.TokenType != JsonTokenType.StartObject)
            {
                throw Bad((int)reader.TokenStartIndex, "the line is not an object of JSON.");
            }

            while (reader.Read() && reader.TokenType == JsonTokenType.PropertyName)
            {
                string name = reader.GetString()!;
                reader.Read();
                int start = (int)reader.TokenStartIndex;
                reader.Skip();
                if (!_members.TryAdd(name, (start, (int)reader.BytesConsumed)))
                {
                    throw Bad(start, $"'{name}' occurs twice.");
                }
            }

            if (reader.Read())
            {
                throw Bad((int)reader.TokenStartIndex, "there is text after the end of the object.");
            }
        }
        catch (JsonException e)
        {
            throw Bad((int)(e.BytePositionInLine ?? 0), "the line is not JSON.", e);
        }
        catch (InvalidOperationException e)
        {
            throw Bad((int)reader.TokenStartIndex, "the text is not valid UTF-8.", e);
        }
    }

    private RpcMethodInfo? FindMethod()
    {
        string name = ReadText(RecordNames.Method)
            ?? throw Bad(0, $"'{RecordNames.Method}' is missing.");
        return methods.FirstOrDefault(method => method.FullName == name)
            ?? (OfServers.Any(prefix => name.StartsWith(prefix, StringComparison.Ordinal)) ? null : throw Bad(
                _members[RecordNames.Method].Start,
                SchemaError.NameNotFound("method", name, [.. methods.Select(m => m.FullName)]).Message));
    }

    private RpcException? ReadFailure(RpcMethodInfo method)
    {
        string status = ReadText(RecordNames.Status) ?? throw Bad(0, $"'{RecordNames.Status}' is missing.");
        if (!Enum.TryParse(status, out RpcStatusCode code) || code.ToString() != status)
        {
            throw Bad(
                _members[RecordNames.Status].Start, $"'{status}' is not a status such as OK or NotFound.");
        }

        return code == RpcStatusCode.OK
            ? null
            : new RpcException(code, ReadText(RecordNames.Message) ?? "", isByProtoRpc: false)
            {
                Details = ReadDetails(method),
            };
    }

    private List<DynamicMessage> ReadDetails(RpcMethodInfo method)
    {
        List<DynamicMessage> details = [];
        foreach (JsonElement detail in Elements(RecordNames.Details))
        {
            if (detail.ValueKind == JsonValueKind.Object
                && detail.TryGetProperty(RecordNames.Type, out JsonElement type)
                && type.ValueKind == JsonValueKind.String
                && detail.TryGetProperty(RecordNames.Value, out JsonElement value)
                && type.GetString() is { } name
                && (GrpcStatusDetails.Schema.FindMessage(name) ?? method.Service.Schema.FindMessage(name))
                    is { } known)
            {
                int start = _members[RecordNames.Details].Start;
                details.Add(ReadMessage(known, Encoding.UTF8.GetBytes(value.GetRawText()), start));
                continue;
            }

            throw Bad(
                _members[RecordNames.Details].Start,
                "a detail is not an object with '@type', the full name of a known message, and 'value'.");
        }

        return details;
    }

    private IReadOnlyList<string> ReadMask()
    {
        List<string> names = [.. Elements(RecordNames.Mask).Select(name =>
            name.ValueKind == JsonValueKind.String && name.GetString() is { Length: > 0 } text
                ? text
                : throw Bad(_members[RecordNames.Mask].Start, "a mask is not a string."))];
        try
        {
            return new MessageMask(names).Names;
        }
        catch (RpcException e)
        {
            throw Bad(_members[RecordNames.Mask].Start, e.Message, e);
        }
    }

    private IEnumerable<JsonElement> Elements(string name)
    {
        if (!_members.TryGetValue(name, out (int Start, int End) place))
        {
            return [];
        }

        JsonElement list = ElementAt(place);
        return list.ValueKind == JsonValueKind.Array
            ? list.EnumerateArray()
            : throw Bad(place.Start, $"'{name}' is not a list.");
    }

    private List<DynamicMessage> ReadMessages(RpcMessageInfo type, string one, string many)
    {
        if (_members.TryGetValue(one, out (int Start, int End) single))
        {
            return [ReadMessage(type, text[single.Start..single.End], single.Start)];
        }

        if (!_members.TryGetValue(many, out (int Start, int End) list))
        {
            return [];
        }

        List<DynamicMessage> messages = [];
        foreach ((int start, int end) in ElementsOf(list.Start, list.End))
        {
            messages.Add(ReadMessage(type, text[start..end], start));
        }

        return messages;
    }

    private List<(int Start, int End)> ElementsOf(int start, int end)
    {
        Utf8JsonReader reader = new(text.Span[start..end], new JsonReaderOptions { MaxDepth = MaxJsonDepth });
        reader.Read();
        if (reader.TokenType != JsonTokenType.StartArray)
        {
            throw Bad(start, "the messages of a stream are a list.");
        }

        List<(int Start, int End)> elements = [];
        while (reader.Read() && reader.TokenType != JsonTokenType.EndArray)
        {
            int at = (int)reader.TokenStartIndex;
            reader.Skip();
            elements.Add((start + at, start + (int)reader.BytesConsumed));
        }

        return elements;
    }

    private DynamicMessage ReadMessage(RpcMessageInfo type, ReadOnlyMemory<byte> json, int start)
    {
        try
        {
            return ReadBinary(type, json) ?? MessageFormats.Json.Read(type, json);
        }
        catch (RpcException e)
        {
            throw Bad(start + ColumnOf(e), e.Message, e);
        }
    }

    private static DynamicMessage? ReadBinary(RpcMessageInfo type, ReadOnlyMemory<byte> json)
    {
        if (json.Span[..Math.Min(json.Length, LongestBegin)].IndexOf("\"@binary\""u8) < 0)
        {
            return null;
        }

        using JsonDocument document = JsonDocument.Parse(json);
        return document.RootElement.TryGetProperty(RecordNames.Binary, out JsonElement bytes)
            && bytes.ValueKind == JsonValueKind.String && bytes.TryGetBytesFromBase64(out byte[]? binary)
            ? DynamicMessage.Parse(type, binary)
            : null;
    }

    // The reader of messages counts from the message's own begin.
    private static int ColumnOf(RpcException error)
    {
        const string Column = "column ";
        int at = error.Message.IndexOf(Column, StringComparison.Ordinal);
        ReadOnlySpan<char> digits = at < 0 ? "" : error.Message.AsSpan(at + Column.Length);
        int length = digits.IndexOfAnyExceptInRange('0', '9');
        return int.TryParse(length < 0 ? digits : digits[..length], out int column) ? column - 1 : 0;
    }

    private JsonElement ElementAt((int Start, int End) place)
    {
        using JsonDocument document = JsonDocument.Parse(
            text[place.Start..place.End], new JsonDocumentOptions { MaxDepth = MaxJsonDepth });
        return document.RootElement.Clone();
    }

    private string? ReadText(string name)
    {
        if (!_members.TryGetValue(name, out (int Start, int End) place))
        {
            return null;
        }

        JsonElement value = ElementAt(place);
        return value.ValueKind == JsonValueKind.String
            ? value.GetString()
            : throw Bad(place.Start, $"'{name}' is not a string.");
    }

    private RpcException Bad(int offset, string why, Exception? inner = null) => new(
        RpcStatusCode.InvalidArgument, $"{path}:{line}:{offset + 1}: {why}", inner)
    {
        ErrorId = RpcErrorIds.InvalidRecording,
    };
}

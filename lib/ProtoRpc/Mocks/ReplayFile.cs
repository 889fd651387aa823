using System.Text.Json;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Schema;
using ProtoRpc.Server.Recording;

namespace ProtoRpc.Mocks;

/// <summary>Reads files of recorded calls.</summary>
internal static class ReplayFile
{
    private const long MaxBytes = 256 * 1024 * 1024;

    /// <summary>The calls of a file, in its order; lines without text are passed over, and so are questions
    /// for the schema, the health and the ping of a server.</summary>
    /// <param name="path">The file.</param>
    /// <param name="methods">The methods of the mock.</param>
    /// <exception cref="RpcException">It cannot be read, or a line is no recorded call: where, and
    /// why.</exception>
    public static IReadOnlyList<ReplayedCall> Read(string path, IReadOnlyList<RpcMethodInfo> methods)
    {
        byte[] content = ReadBytes(path);
        List<ReplayedCall> calls = [];
        int line = 0;
        for (int start = 0; start < content.Length;)
        {
            int length = content.AsSpan(start).IndexOf((byte)'\n');
            length = length < 0 ? content.Length - start : length;
            line++;
            ReadOnlyMemory<byte> text = content.AsMemory(start, length);
            if (text.Span.Trim(" \t\r"u8).Length > 0
                && new ReplayLine(path, line, text, methods).Read() is { } call)
            {
                calls.Add(call);
            }

            start += length + 1;
        }

        return calls;
    }

    private static byte[] ReadBytes(string path)
    {
        try
        {
            using FileStream file = File.OpenRead(path);
            if (file.Length > MaxBytes)
            {
                throw new RpcException(
                    RpcStatusCode.ResourceExhausted, RpcErrorIds.InvalidRecording,
                    $"'{path}' has {file.Length} bytes; a file to replay has {MaxBytes} at most. Keep the "
                    + "lines that the test needs.");
            }

            byte[] content = new byte[file.Length];
            int read = file.ReadAtLeast(content, content.Length, throwOnEndOfStream: false);
            content = content[..read];
            ReadOnlySpan<byte> mark = Encoding.UTF8.Preamble;
            return content.AsSpan().StartsWith(mark) ? content[mark.Length..] : content;
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException or NotSupportedException)
        {
            throw new RpcException(
                e is FileNotFoundException or DirectoryNotFoundException
                    ? RpcStatusCode.NotFound
                    : RpcStatusCode.InvalidArgument,
                RpcErrorIds.InvalidRecording,
                $"The recorded calls '{path}' cannot be read: {FileProblem.Describe(e, path)}.", e);
        }
    }
}

/// <summary>Reads one line of recorded calls.</summary>
internal sealed class ReplayLine(
    string path, int line, ReadOnlyMemory<byte> text, IReadOnlyList<RpcMethodInfo> methods)
{
    private const int MaxJsonDepth = 512;
    private const int LongestBegin = 16;

    // The calls that clients and tools make to every server: reflection, health and ping. They are not
    // replayed.
    private static readonly string[] OfServers = ["grpc.reflection.", "grpc.health.", "protorpc.BuiltIn/"];

    private readonly Dictionary<string, (int Start, int End)> _members = new(StringComparer.Ordinal);

    /// <summary>The call; null for a call of the server's own services, such as reflection.</summary>
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
        return new ReplayedCall(method, requests, new GivenReply(answer, failure), ReadMask());
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
        string name = ReadText(RecordNames.Method) ?? throw Bad(0, $"'{RecordNames.Method}' is missing.");
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

    // The position in the error is relative to the message, not to the line of the file.
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
        RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidRecording,
        $"{path}:{line}:{offset + 1}: {why}", inner);
}

/// <summary>Answers from recorded calls of one method: by equal requests, else in order.</summary>
internal sealed class ReplayedReplies : MockReplies
{
    private readonly Lock _gate = new();
    private readonly IReadOnlyList<ReplayedCall> _calls;
    private readonly IReadOnlyList<MessageMask> _masks;
    private readonly Dictionary<string, Queue<int>> _byRequests = new(StringComparer.Ordinal);
    private readonly HashSet<int> _played = [];
    private int _next;

    public ReplayedReplies(IReadOnlyList<ReplayedCall> calls)
    {
        _calls = calls;
        _masks =
        [
            .. calls.Select(call => call.Mask)
                .DistinctBy(names => string.Join('\n', names), StringComparer.Ordinal)
                .Select(names => new MessageMask(names)),
        ];
        Fill();
    }

    public override bool NeedsRequests => true;

    public override MockReply Next(IMessage? request) => Next(request is null ? [] : [request]);

    public override MockReply Next(IReadOnlyList<IMessage> requests)
    {
        string[] keys = [.. _masks.Select(mask => KeyOf(requests, mask))];
        lock (_gate)
        {
            foreach (string key in keys)
            {
                if (_byRequests.TryGetValue(key, out Queue<int>? same))
                {
                    int index = same.Count > 1 ? same.Dequeue() : same.Peek();
                    _played.Add(index);
                    return _calls[index].Answer;
                }
            }

            // The reply to unknown requests is the next one that was not used yet.
            while (_next < _calls.Count - 1 && _played.Contains(_next))
            {
                _next++;
            }

            _played.Add(_next);
            return _calls[_next].Answer;
        }
    }

    public override void Reset()
    {
        lock (_gate)
        {
            Fill();
        }
    }

    private void Fill()
    {
        _next = 0;
        _played.Clear();
        _byRequests.Clear();
        for (int i = 0; i < _calls.Count; i++)
        {
            string key = KeyOf(_calls[i].Requests, new MessageMask(_calls[i].Mask));
            if (!_byRequests.TryGetValue(key, out Queue<int>? same))
            {
                _byRequests.Add(key, same = new Queue<int>());
            }

            same.Enqueue(i);
        }
    }

    // Equal requests have the same JSON, with maps sorted by key. Fields that the recording masks are not
    // compared.
    private static string KeyOf(IReadOnlyList<IMessage> requests, MessageMask mask) =>
        string.Join('\n', requests.Select(request =>
        {
            DynamicMessage copy = new(((DynamicMessage)request).Type);
            copy.MergeFrom(request.ToByteArray());
            mask.Apply(copy, []);
            return TextOf(copy);
        }).Prepend(string.Join('.', mask.Names)));

    private static string TextOf(DynamicMessage message)
    {
        try
        {
            return MessageFormats.Json.ToText(message);
        }
        catch (RpcException)
        {
            return Convert.ToBase64String(message.ToByteArray());
        }
    }
}

/// <summary>A call of a file of recorded calls.</summary>
/// <param name="Method">The method.</param>
/// <param name="Requests">The requests.</param>
/// <param name="Answer">The reply.</param>
/// <param name="Mask">The fields that the requests were written without.</param>
internal sealed record ReplayedCall(
    RpcMethodInfo Method, IReadOnlyList<DynamicMessage> Requests, MockReply Answer,
    IReadOnlyList<string> Mask);

using System.Globalization;
using System.Text.Encodings.Web;
using System.Text.Json;
using ProtoRpc.Formats;
using ProtoRpc.Formats.Json;

namespace ProtoRpc.Tool.Replies;

/// <summary>A reply in JSON whose strings have placeholders: <c>"Hello {{request.name}}"</c>.</summary>
/// <remarks>
/// A string that is one placeholder becomes the value itself, be it a number, a list or a message; within
/// other text the value's own text. Values are put into the JSON tree and never read again, so that no caller
/// can write JSON or placeholders into it. It takes time and memory in proportion to what it writes, which is
/// limited.
/// </remarks>
internal sealed class ReplyTemplate
{
    // As deep as the reader of replies reads.
    private static readonly JsonDocumentOptions Reading =
        new() { MaxDepth = JsonMessageReader.MaxJsonDepth };

    // A template may write what ProtoJSON refuses, which says where.
    private static readonly JsonWriterOptions Writing = new()
    {
        Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping,
        MaxDepth = 4 * 100,
    };

    private readonly JsonElement _root;
    private readonly Dictionary<string, TemplateText> _texts = [];

    private ReplyTemplate(JsonElement root) => _root = root;

    /// <summary>Reads a template, and checks its placeholders.</summary>
    /// <exception cref="UsageException">It is not JSON, or has a placeholder that means nothing.</exception>
    public static ReplyTemplate Read(ReadOnlyMemory<byte> json, RpcMethodInfo method, string where)
    {
        try
        {
            using JsonDocument document = JsonDocument.Parse(json, Reading);
            ReplyTemplate template = new(document.RootElement.Clone());
            template.Collect(template._root, method, where);
            return template;
        }
        catch (JsonException e)
        {
            throw new UsageException($"{where} is not JSON: {e.Message}", e);
        }
    }

    /// <summary>The reply as JSON.</summary>
    /// <param name="values">What the placeholders stand for.</param>
    /// <param name="maxBytes">Bytes that it may have.</param>
    /// <exception cref="RpcException">ResourceExhausted: it is larger.</exception>
    public byte[] Write(TemplateValues values, int maxBytes)
    {
        using MemoryStream stream = new();
        using (Utf8JsonWriter writer = new(stream, Writing))
        {
            Write(writer, _root, values, maxBytes);
        }

        return stream.ToArray();
    }

    private void Collect(JsonElement element, RpcMethodInfo method, string where)
    {
        switch (element.ValueKind)
        {
            case JsonValueKind.Object:
                foreach (JsonProperty member in element.EnumerateObject())
                {
                    Collect(member.Value, method, where);
                }

                break;
            case JsonValueKind.Array:
                foreach (JsonElement item in element.EnumerateArray())
                {
                    Collect(item, method, where);
                }

                break;
            case JsonValueKind.String when element.GetString() is { } text
                && text.Contains("{{", StringComparison.Ordinal):
                _texts[text] = TemplateText.Read(text, method, where);
                break;
        }
    }

    private void Write(Utf8JsonWriter writer, JsonElement element, TemplateValues values, int maxBytes)
    {
        switch (element.ValueKind)
        {
            case JsonValueKind.Object:
                writer.WriteStartObject();
                foreach (JsonProperty member in element.EnumerateObject())
                {
                    writer.WritePropertyName(member.Name);
                    Write(writer, member.Value, values, maxBytes);
                }

                writer.WriteEndObject();
                break;
            case JsonValueKind.Array:
                writer.WriteStartArray();
                foreach (JsonElement item in element.EnumerateArray())
                {
                    Write(writer, item, values, maxBytes);
                }

                writer.WriteEndArray();
                break;
            case JsonValueKind.String when _texts.TryGetValue(element.GetString()!, out TemplateText? text):
                Write(writer, text, values, maxBytes);
                break;
            default:
                element.WriteTo(writer);
                break;
        }
    }

    private static void Write(Utf8JsonWriter writer, TemplateText text, TemplateValues values, int maxBytes)
    {
        if (text.Only is { } path)
        {
            if (values.Find(path) is { ValueKind: JsonValueKind.Number } number)
            {
                // ProtoJSON reads numbers in quotes, and texts need them.
                writer.WriteStringValue(number.GetRawText());
            }
            else if (values.Find(path) is { } value)
            {
                value.WriteTo(writer);
            }
            else
            {
                writer.WriteNullValue();
            }
        }
        else
        {
            StringBuilder whole = new();
            foreach ((string literal, string[]? placeholder) in text.Parts)
            {
                whole.Append(placeholder is null ? literal : values.TextOf(placeholder));
                Require(writer.BytesCommitted + writer.BytesPending + whole.Length, maxBytes);
            }

            writer.WriteStringValue(whole.ToString());
        }

        Require(writer.BytesCommitted + writer.BytesPending, maxBytes);
    }

    private static void Require(long bytes, int maxBytes)
    {
        if (bytes > maxBytes)
        {
            throw new RpcException(
                RpcStatusCode.ResourceExhausted,
                $"The reply that the template makes is larger than {maxBytes} bytes.");
        }
    }
}

/// <summary>Answers calls with replies that templates make of their requests.</summary>
/// <param name="method">The method.</param>
/// <param name="templates">A template for each reply.</param>
internal sealed class TemplateHandler(RpcMethodInfo method, IReadOnlyList<ReplyTemplate> templates)
{
    private static readonly int MaxBytes = RpcLimits.Default.MaxMessageBytes;
    private readonly FormatOptions _format = new() { Schema = method.ReplyType.Schema };
    private long _calls;

    /// <summary>A handler of a method.</summary>
    /// <param name="method">The method.</param>
    /// <param name="json">The template; of a stream of replies an array of them, or one after the
    /// other.</param>
    /// <param name="where">Where it stood, for errors.</param>
    /// <exception cref="RpcException">InvalidArgument: an array is not JSON.</exception>
    /// <exception cref="UsageException">It is not JSON, has an unknown placeholder, or there are
    /// several for one reply.</exception>
    public static RpcMethodHandler Create(RpcMethodInfo method, string json, string where)
    {
        IReadOnlyList<JsonPart> texts = JsonMessages.Split(method.ReplyType, json, method.IsServerStreaming);
        if (texts.Count != 1 && !method.IsServerStreaming)
        {
            throw new UsageException($"{where} has {texts.Count} replies, and {method.FullName} sends one.");
        }

        TemplateHandler handler = new(
            method, [.. texts.Select(text => ReplyTemplate.Read(text.Json, method, where))]);
        return RpcMethodHandler.OfStreams(handler.AnswerAsync);
    }

    // A reply for each request of two streams; else the replies for the last request.
    private async ValueTask AnswerAsync(RpcServerCallContext context, RpcServerStream stream)
    {
        long call = Interlocked.Increment(ref _calls);
        int count = 0;
        IMessage last = new DynamicMessage(method.RequestType);
        await foreach (IMessage request in stream.ReadAllAsync(context.CancellationToken))
        {
            last = request;
            count++;
            if (method.IsClientStreaming && method.IsServerStreaming)
            {
                await WriteAsync(stream, new TemplateValues(context, last, call, count));
            }
        }

        if (!method.IsClientStreaming || !method.IsServerStreaming)
        {
            await WriteAsync(stream, new TemplateValues(context, last, call, count));
        }
    }

    private async ValueTask WriteAsync(RpcServerStream stream, TemplateValues values)
    {
        foreach (ReplyTemplate template in templates)
        {
            await stream.WriteAsync(Make(template, values));
        }
    }

    private DynamicMessage Make(ReplyTemplate template, TemplateValues values)
    {
        byte[] json = template.Write(values, MaxBytes);
        try
        {
            return MessageFormats.Json.Read(method.ReplyType, json, _format);
        }
        catch (RpcException e)
        {
            throw new RpcException(
                RpcStatusCode.Internal, $"The template of {method.FullName} made no reply: {e.Message}", e);
        }
    }
}

/// <summary>A string of a template, cut at its placeholders.</summary>
/// <param name="Parts">Literal text, or the steps of a placeholder.</param>
internal sealed record TemplateText(IReadOnlyList<(string Literal, string[]? Placeholder)> Parts)
{
    private const string Start = "{{";
    private const string End = "}}";

    /// <summary>The placeholder that is the whole string; null if there is other text.</summary>
    public string[]? Only => Parts is [{ Placeholder: { } path }] ? path : null;

    /// <summary>Cuts a string.</summary>
    /// <exception cref="UsageException">A placeholder has no end, or is unknown for the method.</exception>
    public static TemplateText Read(string text, RpcMethodInfo method, string where)
    {
        List<(string, string[]?)> parts = [];
        int at = 0;
        while (text.IndexOf(Start, at, StringComparison.Ordinal) is >= 0 and var start)
        {
            int end = text.IndexOf(End, start, StringComparison.Ordinal);
            if (end < 0)
            {
                throw new UsageException($"{where} has a placeholder without an end: '{text[start..]}'.");
            }

            if (start > at)
            {
                parts.Add((text[at..start], null));
            }

            string name = text[(start + Start.Length)..end].Trim();
            parts.Add(("", Check(name, method, where)));
            at = end + End.Length;
        }

        if (at < text.Length)
        {
            parts.Add((text[at..], null));
        }

        return new TemplateText(parts);
    }

    private static string[] Check(string name, RpcMethodInfo method, string where)
    {
        string[] steps = name.Split('.');
        bool isKnown = steps switch
        {
            ["request", ..] => true,
            ["headers", .. { Length: > 0 }] => true,
            [var one] => TemplateValues.Names.Contains(one),
            _ => false,
        };
        if (!isKnown)
        {
            throw new UsageException(
                $"{where} has the placeholder '{{{{{name}}}}}', which is unknown. Use request, "
                + $"request.FIELD, headers.NAME, {string.Join(", ", TemplateValues.Names)}.");
        }

        return steps[0] switch
        {
            "request" => ["request", .. Fields(steps[1..], method, where)],

            // Names of headers may have dots.
            "headers" => ["headers", string.Join('.', steps[1..]).ToLowerInvariant()],
            _ => steps,
        };
    }

    // Steps by the names of the .proto file, up to where the schema does not say what follows.
    private static string[] Fields(string[] steps, RpcMethodInfo method, string where)
    {
        RpcMessageInfo? type = method.RequestType;
        for (int i = 0; i < steps.Length && type is not null; i++)
        {
            if (type.FullName.StartsWith("google.protobuf.", StringComparison.Ordinal))
            {
                break;
            }

            RpcFieldInfo field = type.FindField(steps[i])
                ?? throw new UsageException(
                    $"{where} has the placeholder '{{{{request.{string.Join('.', steps)}}}}}', and "
                    + $"{type.FullName} has no field '{steps[i]}'. It has "
                    + $"{string.Join(", ", type.Fields.Select(one => one.Name))}.");
            steps[i] = field.Name;
            type = field.IsMap ? null : field.MessageType;
            if (field.IsRepeated && i + 1 < steps.Length)
            {
                // An index, or the key of a map.
                i++;
            }
        }

        return steps;
    }
}

/// <summary>What the placeholders of a template stand for in one call.</summary>
/// <param name="context">The call.</param>
/// <param name="request">The request; of a stream the last one.</param>
/// <param name="call">The number of the call at this method, from 1.</param>
/// <param name="count">The requests of the call so far.</param>
internal sealed class TemplateValues(RpcServerCallContext context, IMessage request, long call, int count)
{
    private static readonly FormatOptions Format = new() { UseProtoNames = true, IncludeDefaults = true };
    private JsonElement? _request;

    /// <summary>The placeholders without steps.</summary>
    public static IReadOnlyList<string> Names { get; } =
        ["method", "user", "peer", "call", "count", "now", "uuid"];

    private JsonElement Request => _request ??= Parse(MessageFormats.Json.ToArray(request, Format));

    /// <summary>The value of a placeholder; null where the request does not have it.</summary>
    public JsonElement? Find(string[] path)
    {
        if (path[0] != "request")
        {
            return Parse(path[0] switch
            {
                "call" => Number(call),
                "count" => Number(count),
                _ => Encoding.UTF8.GetBytes($"\"{JsonEncodedText.Encode(TextOfName(path))}\""),
            });
        }

        JsonElement found = Request;
        foreach (string step in path.AsSpan(1))
        {
            switch (found.ValueKind)
            {
                case JsonValueKind.Object when found.TryGetProperty(step, out JsonElement member):
                    found = member;
                    break;
                case JsonValueKind.Array when int.TryParse(
                    step, NumberStyles.None, CultureInfo.InvariantCulture, out int index)
                    && index < found.GetArrayLength():
                    found = found[index];
                    break;
                default:
                    return null;
            }
        }

        return found;
    }

    /// <summary>The same as text; empty where the request does not have it.</summary>
    public string TextOf(string[] path) => Find(path) switch
    {
        null or { ValueKind: JsonValueKind.Null } => "",
        { ValueKind: JsonValueKind.String } value => value.GetString()!,
        { } value => value.GetRawText(),
    };

    private string TextOfName(string[] path) => path[0] switch
    {
        "headers" => context.RequestHeaders.GetText(path[1]) ?? "",
        "method" => context.Method.FullName,
        "user" => context.User.Name ?? "",
        "peer" => context.ClientAddress,
        "now" => DateTime.UtcNow.ToString("O", CultureInfo.InvariantCulture),
        "uuid" => Guid.NewGuid().ToString(),
        _ => "",
    };

    private static byte[] Number(long value) =>
        Encoding.UTF8.GetBytes(value.ToString(CultureInfo.InvariantCulture));

    private static JsonElement Parse(byte[] json)
    {
        using JsonDocument document = JsonDocument.Parse(json, new JsonDocumentOptions { MaxDepth = 400 });
        return document.RootElement.Clone();
    }
}

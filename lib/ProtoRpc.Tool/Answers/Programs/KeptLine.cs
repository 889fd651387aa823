using System.Text.Encodings.Web;
using System.Text.Json;
using Google.Protobuf;

namespace ProtoRpc.Tool.Answers.Programs;

/// <summary>The lines that the tool and a kept program write.</summary>
internal static class KeptLine
{
    private static readonly JsonWriterOptions Writing = new()
    {
        Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping,
        MaxDepth = 400,
        SkipValidation = true,
    };

    private static readonly JsonDocumentOptions Reading = new() { MaxDepth = 400 };

    /// <summary>The line that begins a call.</summary>
    public static byte[] Call(
        RpcServerCallContext context, long id, IMessage? request,
        ProgramEnvironment environment) => Write(writer =>
    {
        writer.WriteNumber("id", id);
        writer.WriteString("method", context.Method.FullName);
        writer.WritePropertyName("headers");
        CallVariables.WriteHeaders(writer, context, environment);
        writer.WriteString("peer", context.ClientAddress);
        writer.WriteString("user", context.User.Name);
        if (context.Deadline is { } deadline)
        {
            writer.WriteString("deadline", deadline.UtcDateTime);
        }

        if (request is not null)
        {
            WriteRequest(writer, request);
        }
    });

    /// <summary>The line of a request of a stream.</summary>
    public static byte[] Request(IMessage request) => Write(writer => WriteRequest(writer, request));

    /// <summary>The line after the last request of a stream.</summary>
    public static byte[] End() => Write(writer => writer.WriteBoolean("end", true));

    /// <summary>Reads a line of a program: a reply, a failure, or neither for the end of a
    /// stream.</summary>
    /// <exception cref="RpcException">Internal: it is none of them.</exception>
    public static (DynamicMessage? Reply, RpcException? Failure) Read(
        RpcMethodInfo method, byte[] line, long id, string program)
    {
        using JsonDocument document = Parse(line, program);
        JsonElement root = document.RootElement;
        if (root.ValueKind != JsonValueKind.Object)
        {
            throw NoAnswer(program, "it is no object");
        }

        if (root.TryGetProperty("id", out JsonElement given)
            && (given.ValueKind != JsonValueKind.Number || !given.TryGetInt64(out long number)
                || number != id))
        {
            throw NoAnswer(program, "its id is not that of the call");
        }

        if (root.TryGetProperty("reply", out JsonElement reply))
        {
            return (
                ProgramReply.Read(method, JsonSpan(reply), program), null);
        }

        if (root.TryGetProperty("status", out JsonElement status))
        {
            RpcStatusCode code = StatusText.Find(
                status.ValueKind == JsonValueKind.String ? status.GetString()! : status.GetRawText())
                ?? throw NoAnswer(program, "its status is none");
            string text = root.TryGetProperty("message", out JsonElement message)
                && message.ValueKind == JsonValueKind.String ? message.GetString()! : "";
            return code == RpcStatusCode.OK ? (null, null) : (null, new RpcException(code, text));
        }

        return root.TryGetProperty("end", out _) && method.IsServerStreaming
            ? (null, null)
            : throw NoAnswer(program, "it has no 'reply' and no 'status'");
    }

    private static ReadOnlyMemory<byte> JsonSpan(JsonElement element) =>
        System.Text.Encoding.UTF8.GetBytes(element.GetRawText());

    private static JsonDocument Parse(byte[] line, string program)
    {
        try
        {
            return JsonDocument.Parse(line, Reading);
        }
        catch (JsonException e)
        {
            throw NoAnswer(program, $"it is not JSON: {e.Message}");
        }
    }

    private static RpcException NoAnswer(string program, string why) => new(
        RpcStatusCode.Internal, $"The handler program {program} wrote a line that is no answer: {why}");

    private static void WriteRequest(Utf8JsonWriter writer, IMessage request)
    {
        writer.WritePropertyName("request");
        writer.WriteRawValue(MessageFormats.Json.ToArray(request), skipInputValidation: true);
    }

    private static byte[] Write(Action<Utf8JsonWriter> members)
    {
        using MemoryStream stream = new();
        using (Utf8JsonWriter writer = new(stream, Writing))
        {
            writer.WriteStartObject();
            members(writer);
            writer.WriteEndObject();
        }

        stream.WriteByte((byte)'\n');
        return stream.ToArray();
    }
}

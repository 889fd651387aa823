using System.Text.Json;
using ProtoRpc.Formats;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Protocols.Headers;

namespace ProtoRpc.Protocols.Http;

/// <summary>The frames of a Connect stream: the frames of gRPC, but the last frame of the replies contains
/// the result in JSON.</summary>
internal static class ConnectFraming
{
    /// <summary>The prefix of the media types of streams.</summary>
    public const string TypePrefix = "application/connect+";

    /// <summary>The flag of the last frame of the replies.</summary>
    public const byte EndStream = 0x02;

    /// <summary>The rules of requests.</summary>
    public static FrameRules Requests { get; } = new(
        FrameRules.Compressed, "a compression flag of 0 or 1", HttpNames.ConnectEncoding,
        static (why, inner) => new RpcException(
            RpcStatusCode.InvalidArgument, $"The request violates the framing of Connect: {why}.", inner));

    /// <summary>The rules of replies.</summary>
    public static FrameRules Replies { get; } = new(
        FrameRules.Compressed | EndStream, "flags for compression (0x01) and the end (0x02)",
        HttpNames.ConnectEncoding,
        static (why, inner) => new RpcException(
            RpcStatusCode.Internal, $"The reply violates the framing of Connect: {why}.", inner)
        {
            ErrorId = RpcErrorIds.BadReply,
            MayHaveExecuted = true,
        });

    /// <summary>Whether a media type is that of a stream, in any format.</summary>
    public static bool IsStream(string? contentType) =>
        contentType?.StartsWith(TypePrefix, StringComparison.OrdinalIgnoreCase) == true;

    /// <summary>The format that the media type of a stream names; null for another media type.</summary>
    /// <param name="contentType">The media type, with or without parameters.</param>
    public static MessageFormat? FormatOf(string? contentType)
    {
        if (!IsStream(contentType))
        {
            return null;
        }

        ReadOnlySpan<char> name = contentType.AsSpan(TypePrefix.Length);
        int parameters = name.IndexOf(';');
        string codec = (parameters < 0 ? name : name[..parameters]).Trim().ToString();
        return MessageFormats.All.FirstOrDefault(format => format.Row.ConnectName is { } known
            && known.Equals(codec, StringComparison.OrdinalIgnoreCase));
    }

    /// <summary>The media type of a stream of messages of a format.</summary>
    public static string TypeOf(MessageFormat format) => TypePrefix + format.Row.ConnectName;
}

/// <summary>The end of a stream of replies: the result of the call, and its trailers.</summary>
/// <param name="Error">Why the call failed; null if it succeeded.</param>
/// <param name="Trailers">The trailers.</param>
internal sealed record ConnectEnd(ErrorResult? Error, RpcMetadata Trailers)
{
    /// <summary>Reads the end of a stream.</summary>
    /// <param name="json">The body of the last frame.</param>
    /// <exception cref="RpcException">Internal: the JSON is malformed.</exception>
    public static ConnectEnd Read(ReadOnlyMemory<byte> json)
    {
        try
        {
            using JsonDocument document = JsonDocument.Parse(json);
            JsonElement end = document.RootElement;
            if (end.ValueKind != JsonValueKind.Object)
            {
                throw Malformed("it is not an object");
            }

            RpcMetadata trailers = new();
            if (end.TryGetProperty("metadata", out JsonElement metadata)
                && metadata.ValueKind != JsonValueKind.Null)
            {
                ReadTrailers(metadata, trailers);
            }

            return new ConnectEnd(
                end.TryGetProperty("error", out JsonElement error) && error.ValueKind != JsonValueKind.Null
                    ? ConnectError.Read(error) ?? new ErrorResult { ErrorText = "The call failed." }
                    : null,
                trailers);
        }
        catch (Exception e) when (e is JsonException or InvalidOperationException)
        {
            throw Malformed(e.Message, e);
        }
    }

    /// <summary>Writes the end of a stream.</summary>
    /// <param name="output">Receives the JSON.</param>
    /// <param name="error">Writes the error as a JSON object; null for a call that succeeded.</param>
    /// <param name="trailers">The trailers; null for none.</param>
    public static void Write(
        IBufferWriter<byte> output, Action<Utf8JsonWriter>? error, RpcMetadata? trailers)
    {
        using Utf8JsonWriter json = new(output);
        json.WriteStartObject();
        if (error is not null)
        {
            json.WritePropertyName("error");
            error(json);
        }

        if (trailers is { Count: > 0 })
        {
            json.WriteStartObject("metadata");
            foreach (IGrouping<string, object> values in trailers.GroupBy(
                entry => entry.Key, entry => entry.Value))
            {
                json.WriteStartArray(values.Key);
                foreach (object value in values)
                {
                    json.WriteStringValue(value as string ?? GrpcBinaryHeader.Encode((byte[])value));
                }

                json.WriteEndArray();
            }

            json.WriteEndObject();
        }

        json.WriteEndObject();
    }

    private static void ReadTrailers(JsonElement metadata, RpcMetadata trailers)
    {
        foreach (JsonProperty entry in metadata.EnumerateObject())
        {
            foreach (JsonElement value in entry.Value.EnumerateArray())
            {
                trailers.AddReceived(entry.Name, value.GetString() ?? throw Malformed("a value is null"));
            }
        }
    }

    private static RpcException Malformed(string why, Exception? inner = null) =>
        ConnectFraming.Replies.Violation($"the end of the stream cannot be read ({why.TrimEnd('.')})", inner);
}

/// <summary>Reads an error of the Connect protocol.</summary>
internal static class ConnectError
{
    /// <summary>The status for an HTTP status, if the reply has no error in JSON.</summary>
    public static RpcStatusCode OfHttpStatus(int status) => status switch
    {
        400 => RpcStatusCode.Internal,
        401 => RpcStatusCode.Unauthenticated,
        403 => RpcStatusCode.PermissionDenied,
        404 => RpcStatusCode.Unimplemented,
        429 or 502 or 503 or 504 => RpcStatusCode.Unavailable,
        _ => RpcStatusCode.Unknown,
    };

    /// <summary>Reads an error.</summary>
    /// <returns>Null for JSON that has no code.</returns>
    /// <exception cref="InvalidOperationException">A value has another type of JSON.</exception>
    public static ErrorResult? Read(JsonElement json)
    {
        if (!json.TryGetProperty("code", out JsonElement code))
        {
            return null;
        }

        string name = code.GetString() ?? "";
        string? text = json.TryGetProperty("message", out JsonElement message) ? message.GetString() : null;
        ErrorResult result = new()
        {
            Code = name,
            ErrorText = string.IsNullOrEmpty(text) ? $"The call failed with {name}." : text,
        };
        if (json.TryGetProperty("details", out JsonElement details)
            && details.ValueKind == JsonValueKind.Array)
        {
            result.Details.AddRange(
                details.EnumerateArray().Select(Detail).OfType<ErrorResult.Types.Detail>());
        }

        return result;
    }

    // Connect's base64 has no padding. A malformed detail is omitted, because the status is more important.
    private static ErrorResult.Types.Detail? Detail(JsonElement detail) =>
        detail.ValueKind == JsonValueKind.Object
        && detail.TryGetProperty("type", out JsonElement type)
        && detail.TryGetProperty("value", out JsonElement value)
        && type.GetString() is { } name
        && value.GetString() is { } text
        && Base64Text.TryDecode(text, out byte[] bytes)
            ? new ErrorResult.Types.Detail { Type = name, Value = ByteString.CopyFrom(bytes) }
            : null;
}

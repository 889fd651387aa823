using System.Buffers;
using System.Text.Encodings.Web;
using System.Text.Json;
using System.Text.Json.Serialization;

namespace ProtoRpc.Benchmarks.Codec;

/// <summary>What the JSON of ours is compared with: the messages of the benchmark as classes, with the code
/// that System.Text.Json generates for them. It reads and writes the same bytes.</summary>
internal static class SystemTextJson
{
    private static readonly JsonMessageContext Context = new(new JsonSerializerOptions
    {
        PropertyNamingPolicy = JsonNamingPolicy.CamelCase,
        Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping,
    });

    public static JsonMessage Read(ReadOnlySequence<byte> json)
    {
        Utf8JsonReader reader = new(json);
        return JsonSerializer.Deserialize(ref reader, Context.JsonMessage)!;
    }

    public static void Write(JsonMessage message, IBufferWriter<byte> output)
    {
        using Utf8JsonWriter writer = new(
            output,
            new JsonWriterOptions
            {
                Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping,
                SkipValidation = true,
            });
        JsonSerializer.Serialize(writer, message, Context.JsonMessage);
    }
}

/// <summary>The message of the benchmark.</summary>
internal sealed record JsonMessage(List<JsonRecord> Data);

/// <summary>One record; ProtoJSON has its time in quotes.</summary>
internal sealed record JsonRecord(byte[] Bytes, string Text, int Number, double Float)
{
    [JsonNumberHandling(JsonNumberHandling.AllowReadingFromString | JsonNumberHandling.WriteAsString)]
    public long Time { get; init; }
}

/// <summary>What System.Text.Json generates.</summary>
[JsonSerializable(typeof(JsonMessage))]
internal sealed partial class JsonMessageContext : JsonSerializerContext;

namespace ProtoRpc.Benchmarks.Codec;

/// <summary>Objects to messages and back, for a message with one field of each kind.</summary>
internal static class MappingBenchmark
{
    private static readonly Dictionary<string, object?> Part = new() { ["name"] = "bolt", ["count"] = 5 };

    // The first one is what a message costs without its field.
    private static readonly (string Kind, string? Field, object? Value)[] Kinds =
    [
        ("no field", null, null),
        ("int32", "int32", 5),
        ("int64", "int64", 5_000_000_000),
        ("double", "double", 1.5),
        ("bool", "bool", true),
        ("string", "string", "some text"),
        ("32 bytes", "bytes", new byte[32]),
        ("enum, by name", "enum", "COLOUR_RED"),
        ("message of 2 fields", "message", Part),
        ("oneof", "oneof", "some text"),
        ("10 int32", "numbers", Enumerable.Range(0, 10).ToArray()),
        ("10 strings", "strings", Enumerable.Repeat("some text", 10).ToArray()),
        ("10 messages of 2 fields", "messages", Enumerable.Repeat(Part, 10).ToArray()),
        ("map of 10 int32", "map", Enumerable.Range(0, 10).ToDictionary(i => $"key{i}", i => i)),
        ("Timestamp", "timestamp", new DateTimeOffset(2011, 10, 16, 1, 2, 3, TimeSpan.Zero)),
        ("Duration", "duration", TimeSpan.FromSeconds(1.5)),
        ("Int32Value", "wrapper", 5),
        ("Struct of 2 members", "struct", Part),
        ("Any of 2 fields", "any", new Dictionary<string, object?>(Part)
        {
            ["@type"] = "type.googleapis.com/Benchmark.Part",
        }),
        ("FieldMask of 2 paths", "field_mask", new[] { "name", "count" }),
    ];

    /// <summary>Measures all kinds of fields.</summary>
    public static MicroGroup Measure(BenchmarkOptions options)
    {
        RpcMessageInfo type = SampleData.LoadSchema("kinds.proto").GetMessage("Benchmark.Kinds");
        MessageMapper mapper = new();
        return new MicroGroup(
            "Objects and messages, by the kind of the field",
            ["object to message", "bytes to object"],
            [
                .. Kinds.Select(kind =>
                {
                    Dictionary<string, object?> value = [];
                    if (kind.Field is not null)
                    {
                        value[kind.Field] = kind.Value;
                    }

                    byte[] bytes = mapper.ToMessage(type, value).ToByteArray();
                    return (kind.Kind, MicroRace.Run(
                        options,
                        () => mapper.ToMessage(type, value),
                        () => mapper.ToObject(DynamicMessage.Parse(type, bytes))));
                }),
            ]);
    }
}

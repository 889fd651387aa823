using System.Buffers;
using System.Globalization;

namespace ProtoRpc.Benchmarks.Scale;

/// <summary>Messages: their records, maps and nesting, in each format.</summary>
internal static class MessageSubjects
{
    private static readonly RpcMessageInfo Request =
        SampleData.LoadSchema().GetMessage("Benchmark.SampleRequest");

    public static IReadOnlyList<ScaleSubject> All { get; } =
    [
        new("decode and encode", "records", 512, 65_536, Records),
        new("decode and encode a map", "entries", 512, 65_536, entries => Binary(Map(entries))),
        new("decode and encode nesting", "levels", 12, 96, levels => Binary(Nested(levels))),
        new("read and write JSON", "records", 256, 16_384, records => Text(MessageFormats.Json, records)),
        new("read and write text", "records", 256, 16_384, records => Text(MessageFormats.Text, records)),
        new("read and write XML", "records", 256, 16_384, records => Text(MessageFormats.Xml, records)),
    ];

    /// <summary>The schema of scale.proto.</summary>
    public static RpcSchema Schema { get; } = SampleData.LoadSchema("scale.proto");

    /// <summary>Its message.</summary>
    public static RpcMessageInfo Part { get; } = Schema.GetMessage("scale.Part");

    private static ScaleCase Records(int records) => Binary(SampleData.Dynamic(Request, records));

    private static DynamicMessage Map(int entries)
    {
        Dictionary<string, object?> map = Enumerable.Range(0, entries)
            .ToDictionary(i => $"key {i}", i => (object?)(long)i);
        return Make(new Dictionary<string, object?> { ["map"] = map });
    }

    private static DynamicMessage Nested(int levels)
    {
        Dictionary<string, object?> part = new() { ["words"] = new[] { "innermost" } };
        for (int i = 1; i < levels; i++)
        {
            part = new() { ["next"] = part, ["words"] = new[] { i.ToString(CultureInfo.InvariantCulture) } };
        }

        return Make(part);
    }

    private static DynamicMessage Make(Dictionary<string, object?> fields) =>
        new MessageMapper().ToMessage(Part, fields);

    private static ScaleCase Binary(DynamicMessage message)
    {
        byte[] bytes = message.ToByteArray();
        return new(() => DynamicMessage.Parse(message.Type, bytes).ToByteArray());
    }

    private static ScaleCase Text(MessageFormat format, int records)
    {
        DynamicMessage message = SampleData.Dynamic(Request, records);
        ReadOnlySequence<byte> text = new(format.ToArray(message));
        return new(() => format.ToArray(format.Read(message.Type, text)));
    }
}

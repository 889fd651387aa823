namespace ProtoRpc.Tests.Formats;

/// <summary>What a read of hostile JSON allocates.</summary>
public static class JsonMemoryTests
{
    // Type, before, piece (# is its number), after, and the most bytes for a byte of text.
    public static TheoryData<string, string, string, string, int> Shapes => new()
    {
        { "Singular", "", "[", "", 1 },
        { "Singular", "{\"fInt32\":1e", "1", "}", 8 },
        { "Singular", "{\"fInt32\":\"1e-", "1", "\"}", 8 },
        { "Singular", "{\"fInt32\":1", "0", "}", 8 },
        { "Singular", "{\"fInt32\":0.", "0", "}", 8 },
        { "Singular", "{\"fDouble\":1", "0", "e-50000}", 8 },
        { "Singular", "{\"fDouble\":\"0.", "1", "\"}", 8 },
        { "Singular", "{\"fString\":\"", "\\u0041", "\"}", 8 },
        { "Singular", "{\"fString\":\"", "\\ud800", "\"}", 8 },
        { "Singular", "{\"fBytes\":\"", "\\/\\/\\/\\/", "\"}", 8 },
        { "Singular", "{\"fBytes\":\"", " ", "\"}", 8 },
        { "Singular", "{", "\"fInt32\":1,", "\"fInt64\":1}", 1 },
        { "Singular", "{", "\"x\":1,", "\"x\":1}", 1 },
        { "Singular", "{\"\\u0066", "x", "\":1}", 16 },
        { "Repeated", "{\"fInt32\":[", "1e0,", "1]}", 8 },
        { "Repeated", "{\"fString\":[", "null,", "null]}", 8 },
        { "Maps", "{\"sint32Uint32\":{", "\"#\":1,", "\"-1\":1}}", 32 },
        { "Maps", "{\"sint32Uint32\":{", "\"1\":1,", "\"1\":1}}", 1 },
        { "WellKnown", "{\"fieldMask\":\"", "aB,", "c\"}", 48 },
        { "WellKnown", "{\"fieldMask\":\"", "A", "\"}", 16 },
        { "WellKnown", "{\"fieldMask\":\"", ",", "\"}", 16 },
        { "WellKnown", "{\"duration\":\"1.", "0", "s\"}", 8 },
        { "WellKnown", "{\"duration\":\"", "1", "s\"}", 8 },
        { "WellKnown", "{\"timestamp\":\"2024-02-29T12:00:00.", "0", "Z\"}", 8 },
        { "WellKnown", "{\"listValue\":[", "null,", "null]}", 64 },
        { "WellKnown", "{\"struct\":{", "\"#\":null,", "\"x\":null}}", 64 },
        { "WellKnown", "{\"any\":{", "\"x\":1,", "\"@type\":\"a/google.protobuf.Empty\"}}", 1 },
    };

    [Theory]
    [MemberData(nameof(Shapes))]
    public static void Twice_the_text_takes_twice_the_memory(
        string type, string before, string piece, string after, int most) =>
        ReadMemory.RequireLinear(MessageFormats.Json, type, (before, piece, after), most);
}

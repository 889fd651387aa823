using System.Text.Json;

namespace ProtoRpc.Formats.Json;

/// <summary>Reads JSON that arrived in several pieces.</summary>
internal static class JsonSequence
{
    /// <summary>A reader of a whole text.</summary>
    public static Utf8JsonReader Read(in ReadOnlySequence<byte> json, JsonReaderOptions options) =>
        json.IsSingleSegment ? new(json.FirstSpan, options) : new(WithoutEmptyEnd(json), options);

    // Utf8JsonReader of .NET 10 throws IndexOutOfRangeException for text that ends inside 'true', 'false'
    // or 'null' if the last segment is empty. Slice keeps an empty segment, and PipeReader may return one.
    private static ReadOnlySequence<byte> WithoutEmptyEnd(in ReadOnlySequence<byte> json)
    {
        SequencePosition end = json.Start;
        SequencePosition current = end;
        SequencePosition next = end;
        while (json.TryGet(ref next, out ReadOnlyMemory<byte> segment))
        {
            if (segment.Length > 0)
            {
                end = new SequencePosition(current.GetObject(), current.GetInteger() + segment.Length);
            }

            current = next;
        }

        return json.Slice(json.Start, end);
    }
}

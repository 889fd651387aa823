using System.Text;
using System.Text.Json;

namespace ProtoRpc.Fuzz.Inputs;

/// <summary>Changes JSON member by member; what is no JSON any more is changed as a text. The first byte of
/// an input stays.</summary>
internal sealed class JsonMutator : IMutator
{
    private static readonly string[] Odd =
    [
        .. JsonOddities.Any, .. JsonOddities.Numbers, .. JsonOddities.Texts, .. JsonOddities.Base64,
        .. JsonOddities.Timestamps, .. JsonOddities.Durations, .. JsonOddities.FieldMasks,
        .. JsonOddities.Anys,
    ];

    private static readonly TextMutator Text = new(
        "{", "}", "[", "]", "\\u0000", "\\ud800", "\"@type\":", "\"value\":", "null", "//", "/*", "*/",
        "\ufeff", "{\"",
        "\":", "e", "E+", "\\u");

    private static readonly WireMutator Wire = new(1);

    public byte[] Change(Random random, byte[] input, IReadOnlyList<byte[]> others)
    {
        if (input.Length > 0 && input[0] >= 0x80)
        {
            return Wire.Change(random, input, others);
        }

        if (random.Next(2) == 0)
        {
            // It is asked up to six times in a row, and most changes end what is valid.
            return input;
        }

        if (input.Length == 0 || random.Next(8) == 0 || Spans(input) is not { Count: > 0 } spans)
        {
            return Text.Change(random, input, others);
        }

        Span span = spans[random.Next(spans.Count)];
        byte[] value = input[span.Start..span.End];
        switch (random.Next(8))
        {
            case 0 or 1 or 2:
                return Replace(input, span, Encoding.UTF8.GetBytes(Odd[random.Next(Odd.Length)]));
            case 3 when span.Name >= 0:
                // The member once more, with this or another value.
                Span other = spans[random.Next(spans.Count)];
                return
                [
                    .. input[..span.End], (byte)',', .. input[span.Name..span.Start],
                    .. random.Next(2) == 0 ? value : input[other.Start..other.End], .. input[span.End..],
                ];
            case 4 when value[0] != '"':
                return Replace(input, span, [(byte)'"', .. value, (byte)'"']);
            case 4:
                return Replace(input, span, value[1..^1]);
            case 5:
                return Replace(input, span, [(byte)'[', .. value, (byte)']']);
            case 6 when others.Count > 0:
                byte[] from = others[random.Next(others.Count)];
                if (from.Length == 0 || Spans(from) is not { Count: > 0 } more)
                {
                    goto default;
                }

                Span piece = more[random.Next(more.Count)];
                return Replace(input, span, from[piece.Start..piece.End]);
            case 7 when value.Length > 2 && value[0] == '"':
                int at = random.Next(1, value.Length - 1);
                return value[at] is > 0x20 and < 0x7F and not (byte)'\\' && value[at - 1] != '\\'
                    ? Replace(input, span, [.. value[..at], .. Escape(value[at]), .. value[(at + 1)..]])
                    : input;
            default:
                Span source = spans[random.Next(spans.Count)];
                return Replace(input, span, input[source.Start..source.End]);
        }
    }

    private static byte[] Escape(byte character) => Encoding.UTF8.GetBytes($"\\u{character:x4}");

    private static byte[] Replace(byte[] input, Span span, ReadOnlySpan<byte> value) =>
        [.. input.AsSpan(0, span.Start), .. value, .. input.AsSpan(span.End)];

    // Null where it is no JSON.
    private static List<Span>? Spans(byte[] input)
    {
        List<Span> spans = [];
        Stack<(int Start, int Name)> open = new();
        Utf8JsonReader reader = new(input.AsSpan(1));
        int name = -1;
        try
        {
            while (reader.Read())
            {
                int start = (int)reader.TokenStartIndex + 1;
                int end = (int)reader.BytesConsumed + 1;
                switch (reader.TokenType)
                {
                    case JsonTokenType.PropertyName:
                        name = start;
                        continue;
                    case JsonTokenType.StartObject or JsonTokenType.StartArray:
                        open.Push((start, name));
                        break;
                    case JsonTokenType.EndObject or JsonTokenType.EndArray:
                        (int from, int named) = open.Pop();
                        spans.Add(new Span(named, from, end));
                        break;
                    default:
                        spans.Add(new Span(name, start, end));
                        break;
                }

                name = -1;
            }
        }
        catch (JsonException)
        {
            return null;
        }

        return spans;
    }

    /// <summary>Where a value stands, and its name; -1 where it has none.</summary>
    private readonly record struct Span(int Name, int Start, int End);
}

using System.Text;
using System.Text.Json;
using System.Xml;
using ProtoRpc.Fuzz.Engine;
using ProtoRpc.Fuzz.Inputs;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>One text as the value of one field: in quotes in JSON, in XML, in a form, and as an object. An
/// input is a type, a field and the text.</summary>
internal sealed class SpellingTarget : FuzzTarget
{
    private const int Head = 2;

    private static readonly MessageMapper Mapper = new();
    private static readonly string[] Texts =
    [
        .. ((string[])
        [
            .. JsonOddities.Numbers, .. JsonOddities.Texts, .. JsonOddities.Base64,
            .. JsonOddities.Timestamps, .. JsonOddities.Durations, .. JsonOddities.FieldMasks,
        ]).Select(Unquoted).OfType<string>().Distinct(),
        "true", "True", "false ", "on", "RED", "red", " RED", "1e-30", "-1e-30",
        "0.99999999999999999999999999999", "1.00000000000000000000000000001",
        "1.00000005960464477539062500000001", "1\0", "true\0", "NaN\0",
        "utf8:foo", "utf8:", "base64:Zm9v", "base64:Zm 9v",
        "base64:*", "base64:", "UTF8:foo", "utf8:base64:Zm9v",
    ];

    private static readonly IReadOnlyList<(RpcMessageInfo Type, RpcFieldInfo Field)> Fields =
    [
        .. MessageTypes.All.SelectMany(type => type.Fields.Where(IsOneText).Select(field => (type, field))),
    ];

    public override string Name => "spellings";

    public override string Promise =>
        "a text is the same value in JSON, XML, a form and an object, or the difference is judged";

    public override IMutator Mutator { get; } =
        new TextMutator("-", "+", ".", "0", "e", " ", "\0", "Z", "s", "=", "utf8:", "base64:");

    public override int? BytesPerByte => 2048;

    public override int FixedBytes => 256 * 1024;

    public override IEnumerable<byte[]> Seeds()
    {
        for (int i = 0; i < Texts.Length; i++)
        {
            for (int field = i % 7; field < Fields.Count; field += 7)
            {
                yield return Make(field, Texts[i]);
            }
        }
    }

    public override byte[] Generate(Random random) =>
        Make(random.Next(Fields.Count), Texts[random.Next(Texts.Length)]);

    public override bool Run(byte[] input, Meter meter)
    {
        if (input.Length < Head)
        {
            return false;
        }

        (RpcMessageInfo type, RpcFieldInfo field) = Fields[((input[0] << 8) + input[1]) % Fields.Count];
        string text = Encoding.UTF8.GetString(input.AsSpan(Head));
        DynamicMessage? value = Read(() => meter.Measure(
            () => Mapper.ToMessage(type, new Dictionary<string, object?> { [field.Name] = text })));
        Compare(SpellingDifference.Object, field, text, value, Json(field, Quoted(text)));
        DynamicMessage? expected = IsJson(SpellingDifference.ValueOf(field))
            ? Json(field, Quoted(text.Trim()))
            : value;
        Compare(
            SpellingDifference.Form, field, text,
            Read(() => meter.Measure(() => MessageFormats.Form.Read(
                type, $"{field.Name}={Uri.EscapeDataString(text)}"))),
            expected);
        if (XmlText(text) is { } escaped)
        {
            Compare(
                SpellingDifference.Xml, field, text,
                Read(() => meter.Measure(() => MessageFormats.Xml.Read(
                    type, $"<root><{field.Name}>{escaped}</{field.Name}></root>"))),
                // An empty element is an empty text, which is no number.
                text.Length == 0 ? Json(field, Quoted("")) : expected);
        }

        return value is not null;
    }

    public override void Dispose()
    {
        foreach (SpellingDifference difference in SpellingDifference.All)
        {
            Console.WriteLine($"{difference.Count,9:N0} {difference.Reason}");
        }
    }

    // Scalars, and messages that are one text in JSON, where a NullValue is no text but null.
    private static bool IsOneText(RpcFieldInfo field) => !field.IsRepeated
        && field.EnumType?.FullName != "google.protobuf.NullValue"
        && (field.MessageType is not { } type || type.FullName is "google.protobuf.Timestamp"
            or "google.protobuf.Duration" or "google.protobuf.FieldMask"
            || (type.FullName.StartsWith("google.protobuf.", StringComparison.Ordinal)
                && type.FullName.EndsWith("Value", StringComparison.Ordinal) && type.Name != "Value"
                && type.Name != "ListValue"));

    private static string? Unquoted(string json)
    {
        if (!json.StartsWith('"'))
        {
            return json;
        }

        try
        {
            return JsonSerializer.Deserialize<string>(json);
        }
        catch (Exception e) when (e is JsonException or InvalidOperationException or ArgumentException)
        {
            return null;
        }
    }

    private static byte[] Make(int field, string text) =>
        [(byte)(field >> 8), (byte)field, .. Encoding.UTF8.GetBytes(text)];

    // Null where XML cannot hold a character.
    private static string? XmlText(string text) => text.All(XmlConvert.IsXmlChar)
        ? string.Concat(text.Select(c => char.IsAsciiLetterOrDigit(c) ? $"{c}" : $"&#{(int)c};"))
        : null;

    private static string Quoted(string text) => JsonSerializer.Serialize(text);

    // Forms and XML have numbers, bools and enums as objects have them, and all else as JSON has it.
    private static bool IsJson(RpcFieldInfo value) =>
        value.MessageType is not null || value.Kind == RpcFieldKind.Bytes;

    private static DynamicMessage? Json(RpcFieldInfo field, string value) => Read(
        () => MessageFormats.Json.Read(field.ContainingType, $$"""{"{{field.JsonKey}}":{{value}}}"""));

    private static DynamicMessage? Read(Func<DynamicMessage> read)
    {
        DynamicMessage? message = null;
        Accepts(() => message = read(), RpcStatusCode.InvalidArgument);
        return message;
    }

    private static void Compare(
        string place, RpcFieldInfo field, string text, DynamicMessage? read, DynamicMessage? expected)
    {
        string? message = read?.ToString();
        if (message == expected?.ToString())
        {
            return;
        }

        RpcFieldInfo value = SpellingDifference.ValueOf(field);
        foreach (SpellingDifference row in SpellingDifference.All)
        {
            // An empty value of JSON stands for any.
            if (row.Place == place && row.Is(value) && row.Json(value, text) is { } json
                && (json.Length == 0 || Json(field, json)?.ToString() == message))
            {
                row.Count++;
                return;
            }
        }

        Require(
            false,
            $"{Quoted(text)} in {field.FullName} ({field.TypeName}), read in {place}: "
                + $"{message ?? "refused"}, and expected: {expected?.ToString() ?? "a refusal"}");
    }
}

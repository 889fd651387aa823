using System.Globalization;
using System.Text;
using System.Text.Json;
using System.Text.RegularExpressions;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>A text that is a value in one place and another or none in JSON, and was judged.</summary>
/// <param name="Reason">Who is right, and why.</param>
/// <param name="Place">Where the text is read.</param>
/// <param name="Is">Whether it is about a value of this kind.</param>
/// <param name="Json">The value of JSON that the text stands for; null if the row is not about it.</param>
internal sealed partial record SpellingDifference(
    string Reason, string Place, Func<RpcFieldInfo, bool> Is, Func<RpcFieldInfo, string, string?> Json)
{
    /// <summary>The text as a value of a dictionary or an object.</summary>
    public const string Object = "object";

    /// <summary>The text in a form.</summary>
    public const string Form = "form";

    /// <summary>The text in an element.</summary>
    public const string Xml = "XML";

    private const string Mask = "google.protobuf.FieldMask";

    /// <summary>All of them.</summary>
    public static SpellingDifference[] All { get; } =
    [
        new(
            "Empty text in an object is an empty cell of a table, and leaves the field out.", Object,
            field => field.Kind != RpcFieldKind.String, (_, text) => text.Length == 0 ? "null" : null),
        new(
            "Numbers in an object are spelled as in .NET: with spaces, +, zeros, and 1. or .5.", Object,
            IsNumber, (_, text) => Number(text)),
        new(
            "A bool in an object is also True, 1 or 0, as shells and tables write it.", Object,
            field => field.Kind == RpcFieldKind.Bool, (_, text) => Bool(text)),
        new(
            "An enum in an object is also a number, or a name in other case.", Object,
            field => field.Kind == RpcFieldKind.Enum, Enum),
        new(
            "Bytes in an object are text after utf8: or base64:, which may have line breaks and any padding.",
            Object, field => field.Kind == RpcFieldKind.Bytes, (_, text) => Bytes(text)),
        new(
            "A FieldMask in an object has paths as the schema names them.", Object,
            field => field.MessageType?.FullName == Mask, (_, _) => ""),
        new(
            "A time or duration in an object may lack its zone or its time, and have spaces around it.",
            Object,
            field => field.MessageType?.FullName is "google.protobuf.Timestamp" or "google.protobuf.Duration",
            (_, _) => ""),
        new(
            "A box that is checked is \"on\" in a form.", Form,
            field => field.Kind == RpcFieldKind.Bool, (_, text) => text == "on" ? "true" : null),
        new(
            "A field of a form that is left empty is not set.", Form,
            field => field.MessageType is not null, (_, text) => text.Length == 0 ? "null" : null),
    ];

    /// <summary>How often it occurred.</summary>
    public long Count { get; set; }

    /// <summary>The kind of what the text is: of a wrapper, that of its value.</summary>
    public static RpcFieldInfo ValueOf(RpcFieldInfo field) =>
        field.MessageType is { } type && type.FullName.EndsWith("Value", StringComparison.Ordinal)
            ? type.Fields[0]
            : field;

    private static string Quoted(string text) => JsonSerializer.Serialize(text);

    private static bool IsNumber(RpcFieldInfo field) => field.MessageType is null && field.Kind is not (
        RpcFieldKind.Bool or RpcFieldKind.Enum or RpcFieldKind.String or RpcFieldKind.Bytes);

    // As JSON spells it; null for what is no number.
    private static string? Number(string text)
    {
        string trimmed = text.Trim();
        if (Special().Match(trimmed) is { Success: true } special)
        {
            bool isNumber = special.Groups[2].Value.StartsWith("i", StringComparison.OrdinalIgnoreCase);
            return Quoted(isNumber ? $"{special.Groups[1].Value.TrimStart('+')}Infinity" : "NaN");
        }

        if (Decimal().Match(trimmed) is not { Success: true } parts)
        {
            return null;
        }

        string whole = parts.Groups["whole"].Value.TrimStart('0');
        string fraction = parts.Groups["fraction"].Value;
        return parts.Groups["sign"].Value.TrimStart('+') + (whole.Length == 0 ? "0" : whole)
            + (fraction.Length == 0 ? "" : $".{fraction}") + parts.Groups["exponent"].Value;
    }

    // Without a prefix, an object has no bytes, and neither has this JSON.
    private static string Bytes(string text) => Quoted(
        text.StartsWith("utf8:", StringComparison.Ordinal)
            ? Convert.ToBase64String(Encoding.UTF8.GetBytes(text["utf8:".Length..]))
            : text.StartsWith("base64:", StringComparison.Ordinal)
                ? string.Concat(text["base64:".Length..].Where(c => !char.IsWhiteSpace(c))).TrimEnd('=')
                : "*");

    private static string? Bool(string text) => text.Trim().ToLowerInvariant() switch
    {
        "true" => "true",
        "false" => "false",
        _ when Number(text) is { } number =>
            double.Parse(number.Trim('"'), CultureInfo.InvariantCulture) switch
            {
                0 => "false",
                1 => "true",
                _ => null,
            },
        _ => null,
    };

    private static string? Enum(RpcFieldInfo field, string text) => Number(text)
        ?? field.EnumType!.Values.Select(value => value.Key)
            .Where(name => name.Equals(text.Trim(), StringComparison.OrdinalIgnoreCase))
            .Select(Quoted).FirstOrDefault();

    [GeneratedRegex("^([+-]?)(nan|infinity)$", RegexOptions.CultureInvariant | RegexOptions.IgnoreCase)]
    private static partial Regex Special();

    [GeneratedRegex(
        @"^(?<sign>[+-]?)(?=\.?[0-9])(?<whole>[0-9]*)\.?(?<fraction>[0-9]*)(?<exponent>([eE][+-]?[0-9]+)?)$",
        RegexOptions.CultureInvariant)]
    private static partial Regex Decimal();
}

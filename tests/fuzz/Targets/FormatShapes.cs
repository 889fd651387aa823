using System.Text;
using ProtoRpc.Fuzz.Engine;
using ProtoRpc.Fuzz.Inputs;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>Texts that grow, in each format.</summary>
internal static class FormatShapes
{
    private const string Maps = "everything.proto3.Maps";
    private const string Singular = "everything.proto3.Singular";
    private const string Repeated = "everything.proto2.Repeated";

    public static IReadOnlyList<GrowingInput> Json { get; } =
    [
        Shape("keys of a map", Maps, "{\"int32_map\":{", i => $"\"{i}\":1,", "\"-1\":1}}"),
        Shape("unknown names", Singular, "{", i => $"\"x{i}\":1,", "\"y\":1}"),
        Shape("a name without end", Singular, "{\"", _ => "a", "\":1}", 65_536),
        Shape("escapes", Singular, "{\"string_field\":\"", _ => "\\u0041", "\"}", 65_536),
        Shape("digits", Singular, "{\"double_field\":", _ => "1", "}", 65_536),
        Shape("depth", Singular, "", _ => "[", "", 65_536),
        Shape("spaces", Singular, "{", _ => " ", "}", 65_536),
        Shape("lines", Singular, "{", _ => "\n", "x}", 65_536),
        Shape("elements", Repeated, "{\"int32_field\":[", _ => "1,", "x]}"),
    ];

    public static IReadOnlyList<GrowingInput> Xml { get; } =
    [
        Shape("elements", Singular, "<root>", _ => "<x/>", "</root>"),
        Shape("attributes", Singular, "<root ", i => $"a{i}=\"\" ", "/>"),
        Shape("namespaces", Singular, "<root ", i => $"xmlns:a{i}=\"u\" ", "/>"),
        Shape("depth", Singular, "", _ => "<a>", "", 16_384),
        Shape("entities", Singular, "<root>", _ => "&amp;", "</root>", 65_536),
        Shape("comments", Singular, "<root>", _ => "<!---->", "</root>", 16_384),
        Shape("texts", Singular, "<root><string_field>", _ =>
            "<![CDATA[x]]>", "</string_field></root>", 16_384),
        Shape("entries", Maps, "<root>", i =>
            $"<int32_map><key>{i}</key><value>1</value></int32_map>", "</root>"),
    ];

    public static IReadOnlyList<GrowingInput> Form { get; } =
    [
        Shape("pairs", Singular, "", i => $"x{i}=1&", ""),
        Shape("the same pair", Repeated, "", _ => "int32_field=1&", ""),
        Shape("ampersands", Singular, "", _ => "&", "", 65_536),
        Shape("escapes", Singular, "string_field=", _ => "%41", "", 65_536),
        Shape("percent signs", Singular, "string_field=", _ => "%", "", 65_536),
    ];

    public static IReadOnlyList<GrowingInput> Text { get; } =
    [
        Shape("unknown fields", Singular, "", i => $"{9000 + i}: 1 ", ""),
        Shape("comments", Singular, "", _ => "# x\n", "?", 65_536),
        Shape("strings side by side", Singular, "string_field: ", _ => "'a' ", "", 16_384),
        Shape("depth", Singular, "", _ => "a {", "", 65_536),
        Shape("lists", Singular, "a: ", _ => "[", "", 65_536),
        Shape("digits", Singular, "double_field: ", _ => "1", "", 65_536),
        Shape("escapes", Singular, "string_field: '", _ => "\\101", "'", 65_536),
        Shape("lines", Singular, "", _ => "\n", "?", 65_536),
        Shape("entries", Maps, "", i => $"int32_map {{ key: {i} value: 1 }} ", ""),
    ];

    private static GrowingInput Shape(
        string name, string type, string before, Func<int, string> piece, string after, int pieces = 4096) =>
            new(
        name,
        n =>
        {
            int index = MessageTypes.All.Select(t => t.FullName).ToList().IndexOf(type);
            string text = before + string.Concat(Enumerable.Range(0, n).Select(piece)) + after;
            return [(byte)index, .. Encoding.UTF8.GetBytes(text)];
        },
        pieces);
}

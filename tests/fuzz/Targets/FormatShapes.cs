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
        Shape("keys of a map", Maps, "{\"int32_double\":{", i => $"\"{i}\":1,", "\"-1\":1}}"),
        Shape("keys of one hash", Maps, "{\"int64_float\":{", i =>
            $"\"{KeyOfHash(i)}\":1,", "\"-1\":1}}", 8192),
        Shape("unknown names", Singular, "{", i => $"\"x{i}\":1,", "\"y\":1}"),
        Shape("a name without end", Singular, "{\"", _ => "a", "\":1}", 65_536),
        Shape("escapes", Singular, "{\"f_string\":\"", _ => "\\u0041", "\"}", 65_536),
        Shape("digits", Singular, "{\"f_double\":", _ => "1", "}", 65_536),
        Shape("depth", Singular, "", _ => "[", "", 65_536),
        Shape("spaces", Singular, "{", _ => " ", "}", 65_536),
        Shape("lines", Singular, "{", _ => "\n", "x}", 65_536),
        Shape("elements", Repeated, "{\"f_int32\":[", _ => "1,", "x]}"),
    ];

    public static IReadOnlyList<GrowingInput> Xml { get; } =
    [
        Shape("elements", Singular, "<root>", _ => "<x/>", "</root>"),
        Shape("attributes", Singular, "<root ", i => $"a{i}=\"\" ", "/>"),
        Shape("namespaces", Singular, "<root ", i => $"xmlns:a{i}=\"u\" ", "/>"),
        Shape("depth", Singular, "", _ => "<a>", "", 16_384),
        Shape("entities", Singular, "<root>", _ => "&amp;", "</root>", 65_536),
        Shape("comments", Singular, "<root>", _ => "<!---->", "</root>", 16_384),
        Shape("texts", Singular, "<root><f_string>", _ =>
            "<![CDATA[x]]>", "</f_string></root>", 16_384),
        Shape("entries", Maps, "<root>", i =>
            $"<int32_double><key>{i}</key><value>1</value></int32_double>", "</root>"),
        Shape("entries of one hash", Maps, "<root>", i =>
            $"<int64_float><key>{KeyOfHash(i)}</key></int64_float>", "</root>", 8192),
    ];

    public static IReadOnlyList<GrowingInput> Form { get; } =
    [
        Shape("pairs", Singular, "", i => $"x{i}=1&", ""),
        Shape("the same pair", Repeated, "", _ => "f_int32=1&", ""),
        Shape("ampersands", Singular, "", _ => "&", "", 65_536),
        Shape("escapes", Singular, "f_string=", _ => "%41", "", 65_536),
        Shape("percent signs", Singular, "f_string=", _ => "%", "", 65_536),
    ];

    public static IReadOnlyList<GrowingInput> Text { get; } =
    [
        Shape("unknown fields", Singular, "", i => $"{9000 + i}: 1 ", ""),
        Shape("comments", Singular, "", _ => "# x\n", "?", 65_536),
        Shape("strings side by side", Singular, "f_string: ", _ => "'a' ", "", 16_384),
        Shape("depth", Singular, "", _ => "a {", "", 65_536),
        Shape("lists", Singular, "a: ", _ => "[", "", 65_536),
        Shape("digits", Singular, "f_double: ", _ => "1", "", 65_536),
        Shape("escapes", Singular, "f_string: '", _ => "\\101", "'", 65_536),
        Shape("lines", Singular, "", _ => "\n", "?", 65_536),
        Shape("entries", Maps, "", i => $"int32_double {{ key: {i} value: 1 }} ", ""),
        Shape("entries of one hash", Maps, "", i => $"int64_float {{ key: {KeyOfHash(i)} }} ", "", 8192),
    ];

    /// <summary>Numbers of 64 bits that .NET hashes to the same number of 32.</summary>
    private static long KeyOfHash(int i) => (long)BinaryTarget.KeyOfHash(i);

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

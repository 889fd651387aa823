using System.Text;
using ProtoRpc.Fuzz.Engine;
using ProtoRpc.Fuzz.Inputs;
using ProtoRpc.Schema.Sources.Protoc;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>Texts of .proto files, from which the imports and options that protoc does not know are erased.
/// The first byte chooses which tokens protoc reports.</summary>
internal sealed class OptionTarget : FuzzTarget
{
    private static readonly string[] Files =
    [
        "custom_options.proto", "everything_proto2.proto", "everything_proto3.proto",
        "edition_2024.proto",
    ];

    public override string Name => "options";

    public override string Promise =>
        "erased text becomes blank, and each other token keeps its line and column";

    public override IMutator Mutator { get; } = new TextMutator(
        "import ", "public ", "option ", "option (a) = ", "(a)", "(.a.b).c", "[(a) = 1]", "[", "]", "{", "}",
        "{ b: 'c' }", "extend ", "message M {", "// c\n", "/* ", "*/", "\\\"", "\uFEFF");

    public override int MaxLength => 8 * 1024;

    // The two copies of the text, and a name of 512 letters for each option.
    public override int? BytesPerByte => 64;

    public override IEnumerable<byte[]> Seeds()
    {
        string folder = Path.Combine(AppContext.BaseDirectory, "Schema", "protos");
        for (byte choice = 0; choice < 4; choice++)
        {
            foreach (string file in Files.Select(name => Path.Combine(folder, name)).Where(File.Exists))
            {
                yield return [choice, .. File.ReadAllBytes(file).Take(MaxLength - 1)];
            }

            yield return
            [
                choice, .. "import public 'a' \"b\"; option (a).b = { c: '}' }; message M { extend F { } "u8,
                .. "int32 x = 1 [(a) = 1, deprecated = true, (.b.c) = { d: [']'] }]; option (a) = 1; }"u8,
            ];
        }
    }

    public override IEnumerable<GrowingInput> Growing()
    {
        foreach (string piece in new[]
        {
            "option (a)=1;", "[(a)=1]", "(a)=1,", "[", "{", "import 'a';", "\"", "/*", "//\n", "(a).", "a=",
            "\t",
        })
        {
            yield return new($"many {piece.Trim()}", n =>
                [1, .. Encoding.UTF8.GetBytes("x [" + string.Concat(Enumerable.Repeat(piece, n)))], 16_384);
        }
    }

    public override bool Run(byte[] input, Meter meter)
    {
        if (input.Length == 0)
        {
            return false;
        }

        byte[] text = input[1..];
        byte[] same = [.. text];
        OptionEraser.Erase(same, new ErasedParts());
        Require(same.AsSpan().SequenceEqual(text), "without a report the text stays");

        ErasedParts parts = new();
        Dictionary<TextPlace, string> before = TokensOf(text);
        parts.Places.UnionWith(before.Keys.Where((_, i) => i % 4 == input[0] % 4));
        parts.Names.UnionWith(input[0] % 2 == 0 ? ["(a)", "(my_option)"] : []);
        byte[] erased = [.. text];
        meter.Measure(() => OptionEraser.Erase(erased, parts));

        for (int i = 0; i < text.Length; i++)
        {
            Require(
                erased[i] == text[i] || (erased[i] == ' ' && text[i] is < (byte)'\t' or > (byte)'\r'),
                "a byte stays or becomes a space, and white space stays");
        }

        foreach ((TextPlace place, string token) in TokensOf(erased))
        {
            Require(before.GetValueOrDefault(place) == token, $"{place} has the same token: {token}");
        }

        return !erased.AsSpan().SequenceEqual(text);
    }

    private static Dictionary<TextPlace, string> TokensOf(byte[] text)
    {
        Dictionary<TextPlace, string> tokens = [];
        ProtoTokenReader reader = new(text);
        while (reader.Read())
        {
            tokens.Add(reader.Place, Encoding.Latin1.GetString(reader.Text));
        }

        return tokens;
    }
}

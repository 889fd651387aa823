using System.Globalization;
using System.Text;
using ProtoRpc.Fuzz.Engine;
using ProtoRpc.Fuzz.Inputs;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>Texts of others on their way to a terminal.</summary>
internal sealed class TerminalTarget : FuzzTarget
{
    public override string Name => "terminal";

    public override string Promise => "no control or bidirectional character is left; safe text stays";

    public override IMutator Mutator { get; } = new TextMutator(
        "\u001b]0;x\u0007", "\u009b2J", "\u202e", "\u2066", "\u200f", "\u2028", "\u0085", "\u061c", "\r\n",
            "\r");

    public override int? BytesPerByte => 64;

    public override IEnumerable<byte[]> Seeds() =>
        [[.. "plain\ttext\n"u8], [.. "\u001b[31mred"u8], [0xED, 0xA0, 0x80]];

    public override IEnumerable<GrowingInput> Growing()
    {
        yield return new("escapes", n => [.. Enumerable.Repeat((byte)27, n)], 65_536);
    }

    public override bool Run(byte[] input, Meter meter)
    {
        string text = Encoding.UTF8.GetString(input);
        string shown = meter.Measure(() => TerminalText.Neutralize(text));
        for (int i = 0; i < shown.Length; i++)
        {
            char c = shown[i];
            bool isBreak = c is '\n' or '\t' || (c == '\r' && i + 1 < shown.Length && shown[i + 1] == '\n');
            Require(
                isBreak || !(char.IsControl(c) || IsBidirectional(c)
                    || char.GetUnicodeCategory(c) is UnicodeCategory.LineSeparator
                        or UnicodeCategory.ParagraphSeparator),
                $"no control character is shown: U+{(int)c:X4}");
        }

        Require(TerminalText.Neutralize(shown) == shown, "safe text stays as it is");
        return shown == text;
    }

    private static bool IsBidirectional(char c) =>
        c is '\u061C' or '\u200E' or '\u200F' or (>= '\u202A' and <= '\u202E') or (
            >= '\u2066' and <= '\u2069');
}

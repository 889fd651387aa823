using System.Text.RegularExpressions;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>What both read, but not as the same message: ours and Google.Protobuf's are the same but for
/// this.</summary>
/// <param name="Reason">Who is right, and by which word.</param>
/// <param name="Different">What differs in the text format, as a regular expression.</param>
/// <param name="Same">What stands for it, so that both are the same.</param>
internal sealed record JsonReading(string Reason, string Different, string Same)
{
    private readonly Regex _different = new(Different, RegexOptions.CultureInvariant);

    /// <summary>All of what may be read.</summary>
    public static JsonReading[] All { get; } =
    [
        new(
            "Capitals in a FieldMask: it takes fooBAR for foo_bar, C++ and Java for foo_b_a_r.",
            @"(?<=\bpaths: ""[^""]*)_", ""),
        new("It reads numbers as double, so large ones of 64 bits lose digits.", @"\d{16,20}", "#"),
        new(
            "An Any without @type: it reads and writes one as {}, ours has the two fields.",
            @"(?<=[aA]ny\w*\]? \{(?:\s*key: ""(?:[^""\\]|\\.)*"")?(?:\s*value \{)?)"
                + @"(?:\s*(?:(?:type_url|value): ""(?:[^""\\]|\\.)*""|\[[^\]""]*\] \{\s*\}))+(?=\s*\})", ""),
    ];

    /// <summary>Those of what we write: such numbers are in quotes.</summary>
    public static JsonReading[] Written { get; } = [All[0], All[2]];

    /// <summary>Those of what Google.Protobuf writes.</summary>
    public static JsonReading[] TheyWrote { get; } = [All[2]];

    /// <summary>How often it occurred.</summary>
    public long Count { get; private set; }

    /// <summary>Whether two messages, in the text format, only differ in what is judged; that is
    /// counted.</summary>
    public static bool IsJudged(JsonReading[] rows, string ours, string theirs)
    {
        foreach (JsonReading row in rows)
        {
            ours = row.WithoutDifference(ours);
            theirs = row.WithoutDifference(theirs);
            if (ours == theirs)
            {
                row.Count++;
                return true;
            }
        }

        return false;
    }

    // An Any may be in an Any.
    private string WithoutDifference(string text)
    {
        string shorter = _different.Replace(text, Same);
        return shorter.Length < text.Length ? WithoutDifference(shorter) : shorter;
    }
}

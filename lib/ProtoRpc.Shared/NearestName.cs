using System.Text.RegularExpressions;

namespace ProtoRpc;

/// <summary>Finds the names that a mistyped one may have meant.</summary>
internal static class NearestName
{
    // A peer may send long names, and comparing them takes quadratic time.
    private const int MaxLength = 128;
    private const int MaxHints = 3;

    /// <summary>A sentence for an error message, with a space before it;
    /// empty when nothing is near.</summary>
    public static string Hint(string name, IEnumerable<string> candidates) =>
        Ask(Find(name, candidates));

    /// <summary>The sentence for names that may be meant.</summary>
    public static string Ask(IReadOnlyList<string> names) => names.Count == 0
        ? ""
        : $" Did you mean {EndpointKinds.Enumerate([.. names.Select(name => $"'{name}'")], "or")}?";

    /// <summary>The nearest candidates, best first; none when nothing is near.</summary>
    /// <remarks>A candidate with dots is also compared by its last part, when the name has none.</remarks>
    public static IReadOnlyList<string> Find(string name, IEnumerable<string> candidates)
    {
        if (name.Length is 0 or > MaxLength)
        {
            return [];
        }

        int allowed = Math.Max(1, name.Length / 3);
        bool isBare = name.IndexOfAny(['.', '/']) < 0;
        return
        [
            .. candidates
                .Distinct(StringComparer.Ordinal)
                .Select(c => (Name: c, Distance: Distance(name, isBare ? LastPart(c) : c, allowed)))
                .Where(c => c.Distance <= allowed)
                .OrderBy(c => c.Distance)
                .ThenBy(c => c.Name, StringComparer.Ordinal)
                .Take(MaxHints)
                .Select(c => c.Name),
        ];
    }

    /// <summary>How many letters must be changed, added, left out or swapped with their neighbour.</summary>
    /// <returns>The number, without regard to case;
    /// <paramref name="limit"/> + 1 for all that is more.</returns>
    public static int Distance(string from, string to, int limit)
    {
        if (Math.Abs(from.Length - to.Length) > limit || to.Length > MaxLength || from.Length > MaxLength)
        {
            return limit + 1;
        }

        string a = from.ToUpperInvariant();
        string b = to.ToUpperInvariant();
        int[,] rows = new int[a.Length + 1, b.Length + 1];
        for (int i = 0; i <= a.Length; i++)
        {
            for (int j = 0; j <= b.Length; j++)
            {
                rows[i, j] = i == 0 || j == 0 ? i + j : Step(rows, a, b, i, j);
            }
        }

        return Math.Min(rows[a.Length, b.Length], limit + 1);
    }

    private static int Step(int[,] rows, string a, string b, int i, int j)
    {
        int changed = rows[i - 1, j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
        int best = Math.Min(changed, Math.Min(rows[i - 1, j], rows[i, j - 1]) + 1);
        bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
        return swapped ? Math.Min(best, rows[i - 2, j - 2] + 1) : best;
    }

    private static string LastPart(string name) => name[(name.LastIndexOfAny(['.', '/']) + 1)..];
}

/// <summary>Replaces the names of options and limits in error texts of the core. The cmdlets and the tool
/// insert the names of their parameters and flags.</summary>
internal static partial class MemberTexts
{
    /// <summary>Puts other names into a text.</summary>
    /// <param name="text">The text.</param>
    /// <param name="nameOf">The other name of <c>TYPE.MEMBER</c>, or what to say for an advice of the core;
    /// null to keep it.</param>
    public static string Rename(string text, Func<string, string?> nameOf) =>
        Members().Replace(text, match => nameOf(match.Value) ?? match.Value);

    [GeneratedRegex(
        @"\bRpc(Limits|(Client|Server|Tls|Load|RandomMessage)Options|(Client|Server)Security|NamedEndpoint"
        + @"|RetryPolicy)"
        + @"\.[A-Za-z]+\b"
        + @"|\b(Give a schema|Choose fewer services|as an import path|allow unencrypted traffic"
        + @"|the documentation of RpcEndpoint)\b|\ba byte array, (?=')",
        RegexOptions.CultureInvariant | RegexOptions.ExplicitCapture)]
    private static partial Regex Members();
}

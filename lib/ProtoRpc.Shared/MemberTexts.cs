using System.Text.RegularExpressions;

namespace ProtoRpc;

/// <summary>Error texts of the core name members of options and limits. Those who know these by other names,
/// as parameters or as flags, put their own names in.</summary>
internal static partial class MemberTexts
{
    /// <summary>Puts other names into a text.</summary>
    /// <param name="text">The text.</param>
    /// <param name="nameOf">The other name of <c>TYPE.MEMBER</c>, or what to say for an advice of the core;
    /// null to keep it.</param>
    public static string Rename(string text, Func<string, string?> nameOf) =>
        Members().Replace(text, match => nameOf(match.Value) ?? match.Value);

    [GeneratedRegex(
        @"\bRpc(Limits|(Client|Server|Tls|Load|RandomMessage)Options|(Client|Server)Security|NamedEndpoint)"
        + @"\.[A-Za-z]+\b"
        + @"|\b(Give a schema|Choose fewer services|as an import path|allow unencrypted traffic)\b",
        RegexOptions.CultureInvariant | RegexOptions.ExplicitCapture)]
    private static partial Regex Members();
}

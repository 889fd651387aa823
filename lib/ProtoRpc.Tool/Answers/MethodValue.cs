using System.Text.RegularExpressions;

namespace ProtoRpc.Tool.Answers;

/// <summary>The value of an option that is for one method, <c>METHOD=VALUE</c>, or for all.</summary>
/// <param name="Method">The method's name; null where the value is for every method.</param>
/// <param name="Value">The value.</param>
internal sealed partial record MethodValue(string? Method, string Value)
{
    // No JSON, no @FILE and no path of a program has this form before an equals sign.
    [GeneratedRegex(@"\A([A-Za-z_][\w.]*(?:/[A-Za-z_]\w*)?)=(.*)\z", RegexOptions.Singleline)]
    private static partial Regex OfOneMethod { get; }

    public static MethodValue Read(string text) => OfOneMethod.Match(text) is { Success: true } match
        ? new(match.Groups[1].Value, match.Groups[2].Value)
        : new(null, text);
}

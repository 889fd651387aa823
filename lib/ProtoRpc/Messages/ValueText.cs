using System.Collections;
using System.Globalization;

namespace ProtoRpc.Messages;

/// <summary>Values and names as error messages show them.</summary>
internal static class ValueText
{
    private const int MaxLength = 60;
    private const int MaxNames = 12;
    private const int MaxNameLength = 200;

    /// <summary>The value, shortened, and its type: <c>'abc' (String)</c>.</summary>
    public static string Of(object? value) => value switch
    {
        null => "null",
        string text => $"'{Shortened(text)}' (String)",
        IDictionary dictionary => $"a dictionary with {dictionary.Count} keys ({TypeName(value)})",
        ICollection list => $"a list of {list.Count} ({TypeName(value)})",
        IFormattable or IConvertible =>
            $"'{Shortened(Convert.ToString(value, CultureInfo.InvariantCulture) ?? "")}' ({TypeName(value)})",
        _ => $"an object ({TypeName(value)})",
    };

    /// <summary>Names after an introduction, as many as one can read.</summary>
    public static string OfNames(IEnumerable<string> names, string introduction, string none)
    {
        string[] all = names.ToArray();
        string more = all.Length > MaxNames ? $" and {all.Length - MaxNames} more" : "";
        return all.Length == 0 ? none : $"{introduction} {string.Join(", ", all.Take(MaxNames))}{more}";
    }

    /// <summary>A name that a user gave: whole, unless it is too long for a name.</summary>
    public static string OfName(string name) =>
        name.Length <= MaxNameLength ? name : string.Concat(name.AsSpan(0, MaxNameLength), "...");

    private static string TypeName(object value) => value.GetType() is { IsEnum: true } type
        ? type.FullName ?? type.Name
        : value.GetType().Name;

    private static string Shortened(string text) =>
        text.Length <= MaxLength ? text : string.Concat(text.AsSpan(0, MaxLength), "...");
}

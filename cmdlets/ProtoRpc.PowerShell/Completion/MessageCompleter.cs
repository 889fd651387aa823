using System.Collections;
using System.Globalization;

namespace ProtoRpc.PowerShell;

/// <summary>Offers the method's whole request as a hashtable, ready to be filled in.</summary>
public sealed class MessageCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound)
    {
        if (Unwrap(bound["Method"]) is not string name)
        {
            return [];
        }

        return SchemasOf(bound)
            .SelectMany(schema => schema.Services)
            .SelectMany(service => service.Methods)
            .Where(method => name.Equals(method.Name, StringComparison.OrdinalIgnoreCase)
                || name.Equals(method.FullName, StringComparison.OrdinalIgnoreCase))
            .Select(method => new Candidate(
                Literal(RpcCmdlet.MapperFor(asHashtable: true).Template(method.RequestType)),
                method.RequestType.FullName,
                IsScript: true));
    }

    private static string Literal(object? value) => value switch
    {
        null => "$null",
        string text => $"'{text.Replace("'", "''")}'",
        bool flag => flag ? "$true" : "$false",
        IDictionary { Count: 0 } => "@{}",
        IDictionary dictionary => $"@{{ {string.Join("; ", Entries(dictionary))} }}",
        byte[] => "''",
        IEnumerable list => $"@({string.Join(", ", list.Cast<object?>().Select(Literal))})",
        IFormattable and (int or uint or long or ulong or float or double) =>
            ((IFormattable)value).ToString(null, CultureInfo.InvariantCulture),
        _ => $"'{value}'",
    };

    private static IEnumerable<string> Entries(IDictionary dictionary)
    {
        foreach (DictionaryEntry entry in dictionary)
        {
            yield return $"{Key(entry.Key)} = {Literal(entry.Value)}";
        }
    }

    // The keys of a map may be numbers and bools, too.
    private static string Key(object key) => key is string name && !IsBare(name) ? Literal(name) : $"{key}";

    private static bool IsBare(string name) => name.Length > 0 && !char.IsAsciiDigit(name[0])
        && name.All(c => char.IsAsciiLetterOrDigit(c) || c == '_');
}

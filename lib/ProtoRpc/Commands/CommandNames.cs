namespace ProtoRpc.Commands;

/// <summary>Gives each method the name of a command, and no two of them the same.</summary>
internal static class CommandNames
{
    private const string OtherVerb = "Invoke";

    // Identifiers of a schema may be longer than the names of classes may be.
    private const int MaxLength = 200;

    /// <summary>The names in the order of the methods.</summary>
    /// <param name="methods">The methods of one module.</param>
    /// <param name="prefix">What each noun begins with; may be empty.</param>
    /// <param name="taken">Names that the module has already.</param>
    /// <remarks>Names differ without regard to case. Methods that would get the same name get a longer one
    /// each: <c>Invoke-Method</c>, with the service, with the package, and at last with a number. Long names
    /// are cut.</remarks>
    public static IReadOnlyList<string> Of(
        IReadOnlyList<RpcMethodInfo> methods, string prefix, params IEnumerable<string> taken)
    {
        string[] names = [.. methods.Select(method => Shortest(method, prefix))];
        HashSet<string> used = new(taken, StringComparer.OrdinalIgnoreCase);
        foreach (Func<RpcMethodInfo, string, string> longer in new[] { Plain, WithService, WithPackage })
        {
            Dictionary<string, int> counts = names.CountBy(name => name, StringComparer.OrdinalIgnoreCase)
                .ToDictionary(StringComparer.OrdinalIgnoreCase);
            for (int i = 0; i < names.Length; i++)
            {
                if (counts[names[i]] > 1 || used.Contains(names[i]))
                {
                    names[i] = Cut(longer(methods[i], prefix));
                }
            }
        }

        Dictionary<string, int> last = new(StringComparer.OrdinalIgnoreCase);
        for (int i = 0; i < names.Length; i++)
        {
            string name = names[i];
            while (!used.Add(names[i]))
            {
                // The number goes on where the name's last one ended: there may be thousands.
                last[name] = last.GetValueOrDefault(name, 1) + 1;
                names[i] = $"{name}{last[name]}";
            }
        }

        return names;
    }

    /// <summary>The name of a method that is the only one of its module.</summary>
    public static string Shortest(RpcMethodInfo method, string prefix) =>
        Cut(VerbAndNoun(method, prefix) ?? Plain(method, prefix));

    private static string Cut(string name) => name.Length <= MaxLength ? name : name[..MaxLength];

    // Null where the method's first words are no verb.
    private static string? VerbAndNoun(RpcMethodInfo method, string prefix)
    {
        IReadOnlyList<string> words = NameWords.Split(method.Name);
        for (int length = Math.Min(2, words.Count); length > 0; length--)
        {
            if (VerbTable.Find(string.Concat(words.Take(length))) is { } verb)
            {
                string rest = NameWords.Pascal(words.Skip(length));
                string noun = prefix + rest;
                return $"{verb}-{(noun.Length > 0 ? noun : NounOf(method.Service))}";
            }
        }

        return null;
    }

    private static string Plain(RpcMethodInfo method, string prefix) =>
        $"{OtherVerb}-{prefix}{PascalOrNumbered(method.Name)}";

    private static string WithService(RpcMethodInfo method, string prefix) =>
        $"{OtherVerb}-{prefix}{NounOf(method.Service)}{PascalOrNumbered(method.Name)}";

    private static string WithPackage(RpcMethodInfo method, string prefix)
    {
        string service = string.Concat(method.Service.FullName.Split('.').Select(NameWords.Pascal));
        return $"{OtherVerb}-{prefix}{service}{PascalOrNumbered(method.Name)}";
    }

    private static string NounOf(RpcServiceInfo service) => PascalOrNumbered(service.Name);

    // An identifier may consist of underscores.
    private static string PascalOrNumbered(string name) =>
        NameWords.Pascal(name) is { Length: > 0 } pascal ? pascal : "Method";
}

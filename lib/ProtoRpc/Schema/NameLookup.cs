namespace ProtoRpc.Schema;

/// <summary>The one order in which services, messages, enums and methods are found by name.</summary>
internal static class NameLookup
{
    /// <summary>An item by full name, by bare name, and by either without regard to case; or null.</summary>
    /// <exception cref="RpcException">InvalidArgument where several items have the bare name.</exception>
    public static T? Find<T>(
        string kind, string name, IReadOnlyList<T> items, Func<T, string> fullName, Func<T, string> bareName)
        where T : class
    {
        return Find(StringComparison.Ordinal) ?? Find(StringComparison.OrdinalIgnoreCase);

        T? Find(StringComparison comparison) =>
            Single(kind, name, items, fullName, comparison)
            ?? Single(kind, name, items, bareName, comparison, fullName);
    }

    private static T? Single<T>(
        string kind, string name, IReadOnlyList<T> items, Func<T, string> nameOf, StringComparison comparison,
        Func<T, string>? fullName = null)
        where T : class
    {
        T[] found = [.. items.Where(i => nameOf(i).Equals(name, comparison))];
        return found.Length > 1
            ? throw SchemaError.Ambiguous(kind, name, found.Select(fullName ?? nameOf))
            : found.FirstOrDefault();
    }
}

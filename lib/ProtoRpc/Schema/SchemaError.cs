using System.Diagnostics;

namespace ProtoRpc.Schema;

/// <summary>The errors of schemas.</summary>
internal static class SchemaError
{
    private const int Listed = 10;

    public static RpcException Invalid(string message, Exception? cause = null) =>
        new(RpcStatusCode.InvalidArgument, RpcErrorIds.SchemaError, message, cause);

    /// <summary>A file that is not there.</summary>
    public static RpcException FileNotFound(string message) =>
        new(RpcStatusCode.NotFound, RpcErrorIds.SchemaNotFound, message);

    /// <summary>A name that the schema does not have; the error suggests the nearest ones.</summary>
    /// <param name="kind">The kind of the named element.</param>
    /// <param name="name">The name.</param>
    /// <param name="candidates">The names that the schema has.</param>
    /// <param name="leftOut">Says which files were left out, which may declare the name; null for
    /// none.</param>
    public static RpcException NameNotFound(
        string kind, string name, IReadOnlyCollection<string> candidates,
        IReadOnlyList<string>? leftOut = null)
    {
        string hint = RpcEndpoint.TryParse(name, out _)
            ? $" This is an endpoint: give it as the endpoint, and a {kind} in its place."
            : NearestName.Hint(name, candidates);
        if (hint.Length == 0 && candidates.Count > 0)
        {
            string more = candidates.Count > Listed ? $" and {candidates.Count - Listed} more" : "";
            hint = $" It has {string.Join(", ", candidates.Take(Listed))}{more}.";
        }

        hint += string.Concat((leftOut ?? []).Take(Listed).Select(file => $" {file}"));
        string errorId = kind switch
        {
            "service" => RpcErrorIds.ServiceNotFound,
            "method" => RpcErrorIds.MethodNotFound,
            "message" => RpcErrorIds.MessageNotFound,
            "enum" => RpcErrorIds.EnumNotFound,
            "file" => RpcErrorIds.FileNotFound,
            _ => throw new UnreachableException(kind),
        };
        string nothing = candidates.Count == 0 ? $"; it has no {kind} at all" : "";
        return new RpcException(
            RpcStatusCode.NotFound, errorId,
            $"The schema has no {kind} '{name}'{nothing}.{hint}");
    }

    /// <summary>A short name that several have.</summary>
    public static RpcException Ambiguous(string kind, string name, IEnumerable<string> candidates)
    {
        string[] names = [.. candidates];
        string more = names.Length > Listed ? ", ..." : "";
        return new RpcException(
            RpcStatusCode.InvalidArgument, RpcErrorIds.AmbiguousName,
            (kind == "method"
                ? $"Several services have a method '{name}'"
                : $"Several {kind}s are named '{name}'")
            + $": {string.Join(", ", names.Take(Listed))}{more}. {Remedy(kind, names)}");
    }

    // A method is also found by its service without the package.
    private static string Remedy(string kind, string[] names)
    {
        string[] shorter =
        [
            .. names.Select(name => name[(name.LastIndexOf('.', Math.Max(0, name.IndexOf('/'))) + 1)..]),
        ];
        bool isEnough = shorter.Distinct(StringComparer.OrdinalIgnoreCase).Count() == names.Length;
        return kind == "method" && isEnough
            ? $"Write the service, too, as in {shorter[0]}."
            : "Write the full name.";
    }
}

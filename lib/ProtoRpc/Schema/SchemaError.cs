using System.Diagnostics;

namespace ProtoRpc.Schema;

/// <summary>The errors of schemas.</summary>
internal static class SchemaError
{
    public static RpcException Invalid(string message, Exception? cause = null) =>
        new(RpcStatusCode.InvalidArgument, RpcErrorIds.SchemaError, message, cause);

    /// <summary>A file that is not there.</summary>
    public static RpcException FileNotFound(string message) =>
        new(RpcStatusCode.NotFound, RpcErrorIds.SchemaNotFound, message);

    /// <summary>A name that the schema does not have; the error suggests the nearest ones.</summary>
    /// <param name="kind">What has the name.</param>
    /// <param name="name">The name.</param>
    /// <param name="candidates">The names that the schema has.</param>
    /// <param name="leftOut">Says which files were left out, which may declare the name; null for
    /// none.</param>
    public static RpcException NameNotFound(
        string kind, string name, IReadOnlyCollection<string> candidates,
        IReadOnlyList<string>? leftOut = null)
    {
        const int Listed = 10;
        string hint = NearestName.Hint(name, candidates);
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
    public static RpcException Ambiguous(string kind, string name, IEnumerable<string> candidates) =>
        new(
            RpcStatusCode.InvalidArgument, RpcErrorIds.AmbiguousName,
            $"Several have the {kind} name '{name}': {string.Join(", ", candidates)}. Write the full name.");
}

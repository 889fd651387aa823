using System.Collections;

namespace ProtoRpc;

/// <summary>Offers methods: bare names if they are unique, otherwise full names.</summary>
public sealed class MethodCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound)
    {
        List<RpcMethodInfo> methods = [.. SchemasOf(bound)
            .SelectMany(schema => schema.Services)
            .SelectMany(service => service.Methods)];
        HashSet<string> unique = [.. methods.CountBy(method => method.Name)
            .Where(count => count.Value == 1)
            .Select(count => count.Key)];
        return methods
            .Where(method => unique.Contains(method.Name))
            .Select(method => new Candidate(method.Name, ToolTip(method)))
            .Concat(methods.Select(method => new Candidate(
                method.FullName, ToolTip(method), unique.Contains(method.Name) ? null : method.Name)));
    }

    internal static string ToolTip(RpcMethodInfo method) =>
        $"{method.Service.FullName}/{method.Signature}"
        + (method.Comment.Length > 0 ? $"{Environment.NewLine}{method.Comment}" : "");
}

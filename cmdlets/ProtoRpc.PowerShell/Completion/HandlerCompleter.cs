using System.Collections;
using ProtoRpc.PowerShell.Completion;

namespace ProtoRpc;

/// <summary>Offers a hashtable with an empty handler for each method of the services.</summary>
public sealed class HandlerCompleter : RpcCompleter
{
    private const string Handler = "{ param($Request) @{} }";

    internal override IEnumerable<Candidate> Candidates(IDictionary bound)
    {
        List<string> wanted = [.. (Unwrap(bound["Service"]) as IEnumerable ?? Array.Empty<object>())
            .Cast<object>().Select(name => $"{name}")];
        if (Unwrap(bound["Service"]) is string one)
        {
            wanted = [one];
        }

        foreach (RpcSchema schema in SchemasOf(bound))
        {
            List<RpcServiceInfo> services = [.. schema.Services.Where(service =>
                wanted.Count == 0 || wanted.Contains(service.FullName) || wanted.Contains(service.Name))];
            bool bare = services.Count == 1;
            yield return Candidate.OfScript(
                ScriptLiteral.Table(services.SelectMany(service => service.Methods).Select(method =>
                    KeyValuePair.Create<object, string>(bare ? method.Name : method.FullName, Handler))),
                "A handler for each method");
        }
    }
}

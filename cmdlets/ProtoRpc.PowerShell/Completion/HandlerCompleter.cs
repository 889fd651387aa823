using System.Collections;
using ProtoRpc.Messages;
using ProtoRpc.PowerShell.Completion;

namespace ProtoRpc;

/// <summary>Offers a hashtable with an empty handler for each method of the services.</summary>
public sealed class HandlerCompleter : RpcCompleter
{
    private const string Handler = "{ param($Request) @{} }";

    internal override IEnumerable<Candidate> Candidates(IDictionary bound)
    {
        foreach (List<RpcServiceInfo> services in
            SchemasOf(bound).Select(schema => ServicesOf(schema, bound)))
        {
            bool bare = services.Count == 1;
            yield return Candidate.OfScript(
                ScriptLiteral.Table(services.SelectMany(service => service.Methods).Select(method =>
                    KeyValuePair.Create<object, string>(bare ? method.Name : method.FullName, Handler))),
                "A handler for each method");
        }
    }

    internal override TableShape? TableOf(IDictionary bound) =>
        TableShape.OfReplies(SchemasOf(bound).SelectMany(schema => ServicesOf(schema, bound)));

    private static List<RpcServiceInfo> ServicesOf(RpcSchema schema, IDictionary bound)
    {
        string[] wanted = Unwrap(bound["Service"]) switch
        {
            null => [],
            string one => [one],
            IEnumerable several => [.. several.Cast<object>().Select(name => $"{name}")],
            object other => [$"{other}"],
        };
        return
        [
            .. schema.Services.Where(service =>
                wanted.Length == 0 || wanted.Contains(service.FullName) || wanted.Contains(service.Name)),
        ];
    }
}

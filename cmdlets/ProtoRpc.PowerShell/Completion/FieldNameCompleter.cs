using System.Collections;

namespace ProtoRpc.PowerShell.Completion;

/// <summary>Offers the names of the fields in messages of the services, nested ones included.</summary>
internal sealed class FieldNameCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound)
    {
        Queue<RpcMessageInfo> waiting = new(SchemasOf(bound)
            .SelectMany(schema => schema.Services)
            .SelectMany(service => service.Methods)
            .SelectMany(method => new[] { method.RequestType, method.ReplyType }));
        HashSet<RpcMessageInfo> seen = [.. waiting];
        HashSet<string> names = [];
        while (waiting.TryDequeue(out RpcMessageInfo? type))
        {
            foreach (RpcFieldInfo field in type.Fields)
            {
                if (!type.IsMapEntry && names.Add(field.Name))
                {
                    yield return new Candidate(field.Name, $"{field.TypeName} of {type.FullName}");
                }

                if (field.MessageType is { } nested && seen.Add(nested))
                {
                    waiting.Enqueue(nested);
                }
            }
        }
    }
}

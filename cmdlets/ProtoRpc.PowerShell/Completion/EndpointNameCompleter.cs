using System.Collections;

namespace ProtoRpc;

/// <summary>Offers the names of registered endpoints.</summary>
public sealed class EndpointNameCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) => Names();

    internal static IReadOnlyList<Candidate> Names()
    {
        try
        {
            return
            [
                .. RpcEndpointRegistry.OfUser.Read().Select(endpoint => new Candidate(
                    endpoint.Name, $"{endpoint.Endpoint} {string.Join(", ", endpoint.Tag)}".TrimEnd())),
            ];
        }
        catch (RpcException)
        {
            // The registry's file cannot be read. The cmdlet reports that when it runs.
            return [];
        }
    }
}

using System.Collections;
using System.Management.Automation;

namespace ProtoRpc.PowerShell.Completion;

/// <summary>Offers the names of the hosts of <c>-Endpoint</c>.</summary>
internal class HostCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) =>
        HostsOf(bound).Select(host => new Candidate(host.Name, host.Endpoint));

    private protected static IEnumerable<(string Name, string Endpoint)> HostsOf(IDictionary bound) =>
        (LanguagePrimitives.ConvertTo<string[]>(bound["Endpoint"]) ?? [])
            .SelectMany(text => RpcEndpoint.TryParse(text, out RpcEndpoint? endpoint)
                ? [endpoint]
                : RpcEndpointRegistry.OfUser.Find(text).Select(named => named.Endpoint))
            .Where(endpoint => endpoint.Host.Length > 0)
            .Select(endpoint => (endpoint.Host, endpoint.ToString()))
            .DistinctBy(host => host.Host, StringComparer.OrdinalIgnoreCase);
}

/// <summary>Offers Kerberos service principal names for the hosts of <c>-Endpoint</c>.</summary>
internal sealed class PrincipalCompleter : HostCompleter
{
    private static readonly string[] Services = ["host", "HTTP", "RestrictedKrbHost"];

    internal override IEnumerable<Candidate> Candidates(IDictionary bound) => Services.SelectMany(
        _ => HostsOf(bound).DefaultIfEmpty((Environment.MachineName, "this machine")),
        (service, host) => new Candidate($"{service}/{host.Item1}", host.Item2));
}

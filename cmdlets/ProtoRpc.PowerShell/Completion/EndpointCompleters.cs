using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using ProtoRpc.PowerShell.Connections;

namespace ProtoRpc.PowerShell.Completion;

/// <summary>Offers registered names, the endpoints of this runspace's listeners and connections,
/// and the forms of endpoints.</summary>
internal class EndpointCompleter : RpcCompleter
{
    /// <summary>Whether the forms of endpoints that only clients have are offered.</summary>
    private protected virtual bool OffersClientOnly => true;

    internal override IEnumerable<Candidate> Candidates(IDictionary bound)
    {
        RunspaceStore store = RunspaceStore.Current;
        return EndpointNameCompleter.Names().Concat(store.Listeners.SelectMany(listener => listener.Endpoint)
            .Concat(store.Connections.Select(connection => connection.Endpoint))
            .Distinct()
            .Select(endpoint => new Candidate(endpoint.ToString(), endpoint.Uri)))
            .Concat((OffersClientOnly ? EndpointKinds.All : EndpointKinds.Served)
                .Select(kind => new Candidate(kind.ExampleBinding(HostOf(kind)), kind.Hint)))
            .Concat(OffersClientOnly
                ? GrpcNameSyntax.Examples.Select(example => new Candidate(example.Name, example.Hint))
                : []);
    }

    private static string HostOf(EndpointKindAttribute kind) =>
        kind.Has(EndpointFeatures.Tls) ? "HOST"
        : kind.Has(EndpointFeatures.AspNetCore | EndpointFeatures.ClientOnly) ? "localhost"
        : "127.0.0.1";
}

/// <summary>Offers what <see cref="EndpointCompleter"/> does for the endpoints of listeners.</summary>
internal sealed class ListenerEndpointCompleter : EndpointCompleter
{
    private protected override bool OffersClientOnly => false;
}

/// <summary>Offers the names of registered endpoints.</summary>
internal sealed class EndpointNameCompleter : RpcCompleter
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

/// <summary>Offers the names of the hosts of <c>-Endpoint</c>; without it, those of open connections and
/// registered endpoints.</summary>
internal class HostCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) =>
        HostsOf(bound).Select(host => new Candidate(host.Name, host.Endpoint));

    private protected static IEnumerable<(string Name, string Endpoint)> HostsOf(IDictionary bound) =>
        EndpointsOf(bound)
            .Where(endpoint => endpoint.Host.Length > 0)
            .Select(endpoint => (endpoint.Host, endpoint.ToString()))
            .DistinctBy(host => host.Host, StringComparer.OrdinalIgnoreCase)
            .DefaultIfEmpty((Environment.MachineName, "this machine"));

    private static IEnumerable<RpcEndpoint> EndpointsOf(IDictionary bound) => bound["Endpoint"] is { } given
        ? LanguagePrimitives.ConvertTo<string[]>(given)
            .SelectMany(text => RpcEndpoint.TryParse(text, out RpcEndpoint? endpoint)
                ? [endpoint]
                : RpcEndpointRegistry.OfUser.Find(text).Select(named => named.Endpoint))
        : RunspaceStore.Current.Connections.Select(connection => connection.Endpoint)
            .Concat(RpcEndpointRegistry.OfUser.Read().Select(named => named.Endpoint));
}

/// <summary>Offers Kerberos service principal names for these hosts.</summary>
internal sealed class PrincipalCompleter : HostCompleter
{
    private static readonly string[] Services = ["host", "HTTP", "RestrictedKrbHost"];

    internal override IEnumerable<Candidate> Candidates(IDictionary bound) => Services.SelectMany(
        _ => HostsOf(bound), (service, host) => new Candidate($"{service}/{host.Name}", host.Endpoint));
}

/// <summary>Offers the thumbprints of certificates with a private key in the stores of the user and the
/// machine. The word may also match their subjects. Without a match, the shell offers files.</summary>
internal sealed class CertificateCompleter : RpcCompleter
{
    private static readonly StoreLocation[] Locations =
        [StoreLocation.CurrentUser, StoreLocation.LocalMachine];

    internal override IEnumerable<Candidate> Candidates(IDictionary bound) => Locations
        .SelectMany(Certificates)
        .DistinctBy(candidate => candidate.Name);

    private static List<Candidate> Certificates(StoreLocation location)
    {
        try
        {
            using X509Store store = new(
                StoreName.My, location, OpenFlags.ReadOnly | OpenFlags.OpenExistingOnly);
            List<Candidate> found = [];
            foreach (X509Certificate2 certificate in store.Certificates)
            {
                using (certificate)
                {
                    if (certificate.HasPrivateKey)
                    {
                        found.Add(new Candidate(
                            certificate.Thumbprint,
                            $"{certificate.Subject}, valid until {certificate.NotAfter:yyyy-MM-dd}",
                            certificate.GetNameInfo(X509NameType.SimpleName, forIssuer: false)));
                    }
                }
            }

            return found;
        }
        catch (CryptographicException)
        {
            // This account has no such store.
            return [];
        }
    }
}

/// <summary>Offers the open connections of this runspace.</summary>
internal sealed class ConnectionCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) =>
        RunspaceStore.Current.Connections.Select(connection => Candidate.OfScript(
            $"(Get-RpcConnection {connection.Id})", $"{connection.Endpoint} {connection.Service}"));
}

/// <summary>Offers the listeners of this runspace.</summary>
internal sealed class ListenerCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) =>
        RunspaceStore.Current.Listeners.Select(listener => Candidate.OfScript(
            $"(Get-RpcListener {listener.Id})", listener.ToString()));
}

/// <summary>Offers the ids of the listeners of this runspace.</summary>
internal sealed class ListenerIdCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) =>
        RunspaceStore.Current.Listeners.Select(listener => OfId(listener.Id, listener.ToString()));
}

/// <summary>Offers the mocks of this runspace.</summary>
internal sealed class MockCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) =>
        RunspaceStore.Current.Listeners.OfType<RpcMockListener>().Select(mock => Candidate.OfScript(
            $"(Get-RpcListener {mock.Id})", mock.ToString()));
}

/// <summary>Offers references to secrets in environment variables. Never reads their values.</summary>
internal sealed class SecretCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) => Environment
        .GetEnvironmentVariables().Keys.Cast<string>()
        .Order(StringComparer.OrdinalIgnoreCase)
        .Select(name => new Candidate($"env:{name}", $"The environment variable {name}"));
}

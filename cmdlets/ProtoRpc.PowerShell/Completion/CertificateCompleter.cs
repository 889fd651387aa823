using System.Collections;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace ProtoRpc.PowerShell.Completion;

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

using System.Net;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Security.Principal;
using System.Text;
using ProtoRpc.Transports;

namespace ProtoRpc.Tool.Verbs;

/// <summary>Whom a listener of the tool lets in.</summary>
/// <param name="Users">Users with their passwords.</param>
/// <param name="Token">The bearer token; null for none.</param>
/// <param name="Authorities">The authorities of callers' certificates.</param>
/// <param name="Accepted">The mechanisms that were named; 0 for none.</param>
internal sealed record ListenAccess(
    IReadOnlyList<NetworkCredential> Users, string? Token, X509Certificate2Collection Authorities,
    RpcAuthentication Accepted)
{
    // TLS Web Client Authentication, RFC 5280 section 4.2.1.12.
    private const string ClientAuthentication = "1.3.6.1.5.5.7.3.2";

    /// <summary>Whether anything was said.</summary>
    public bool IsGiven => Users.Count > 0 || Token is not null || Authorities.Count > 0 || Accepted != 0;

    /// <summary>Of native endpoints.</summary>
    public RpcServerSecurity OfServer()
    {
        RpcServerSecurity security = new() { NtlmAccounts = [.. Users.Select(NtlmAccount.From)] };
        if (Accepted != 0 || Users.Count > 0)
        {
            security.Authentication = Accepted != 0 ? Accepted : RpcAuthentication.Ntlm;
        }

        return security;
    }

    /// <summary>Of HTTP and gRPC endpoints.</summary>
    public HttpServerSecurity OfHttp() => new()
    {
        Basic = Users.Count == 0 ? null : (given, _) => new(FindUser(given)),
        Bearer = Token is null
            ? null
            : (given, _) => new(IsSame(given, Token) ? new GenericIdentity("bearer", "Bearer") : null),
        ClientCertificate = Authorities.Count == 0 ? null : (given, _) => new(FindHolder(given)),
        AllowAnonymous = Accepted.HasFlag(RpcAuthentication.None),
    };

    // All are looked at, so that the time says nothing of which there are.
    private GenericIdentity? FindUser(NetworkCredential given)
    {
        GenericIdentity? found = null;
        foreach (NetworkCredential user in Users)
        {
            bool isName = IsSame(given.UserName, user.UserName);
            if (IsSame(given.Password, user.Password) & isName)
            {
                found = new GenericIdentity(user.UserName, "Basic");
            }
        }

        return found;
    }

    private GenericIdentity? FindHolder(X509Certificate2 given)
    {
        // The authorities of the option are private ones as a rule, whose lists of revoked certificates are
        // nowhere to be had.
        using X509Chain chain = new() { ChainPolicy = CallerChain.NewPolicy() };
        chain.ChainPolicy.TrustMode = X509ChainTrustMode.CustomRootTrust;
        chain.ChainPolicy.CustomTrustStore.AddRange(Authorities);
        chain.ChainPolicy.ApplicationPolicy.Add(new Oid(ClientAuthentication));
        return chain.Build(given)
            ? new GenericIdentity(given.GetNameInfo(X509NameType.SimpleName, forIssuer: false), "Certificate")
            : null;
    }

    private static bool IsSame(string given, string known) => CryptographicOperations.FixedTimeEquals(
        SHA256.HashData(Encoding.UTF8.GetBytes(given)), SHA256.HashData(Encoding.UTF8.GetBytes(known)));
}

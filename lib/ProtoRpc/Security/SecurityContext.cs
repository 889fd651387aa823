using System.Net;
using System.Security.Principal;
using ProtoRpc.Security.Gss;
using ProtoRpc.Security.Ntlm;
using ProtoRpc.Security.Spnego;

namespace ProtoRpc.Security;

/// <summary>One side of one authentication: tokens until both sides agree,
/// then signatures and encryption.</summary>
/// <remarks>Independent of the PDUs that carry its tokens. Messages of one direction must be protected in the
/// order in which they are sent. Not thread-safe.</remarks>
internal abstract class SecurityContext : IDisposable
{
    /// <summary>The mechanism of the caller: NTLM or Kerberos, even if it was negotiated.</summary>
    public abstract string AuthenticationType { get; }

    /// <summary>Whether this side has all that it needs; its last token may still have to be sent.</summary>
    public abstract bool IsComplete { get; }

    /// <summary>On a server that is complete, who the client is.</summary>
    public abstract IIdentity Identity { get; }

    /// <summary>Whether both sides agreed that signatures cover the
    /// header and trailer of a PDU too.</summary>
    public bool SignsHeaders { get; set; }

    /// <summary>Processes the peer's token and creates the next one.</summary>
    /// <param name="token">Empty for a client's first step.</param>
    /// <returns>The token to send; empty for none.</returns>
    /// <exception cref="RpcException">Unauthenticated: the token is malformed, or proves nothing. The context
    /// is then of no more use.</exception>
    public abstract byte[] Step(ReadOnlySpan<byte> token);

    /// <summary>Whether the negotiated context supports a protection level.</summary>
    public abstract bool Supports(RpcProtectionLevel level);

    /// <summary>Octets of a signature.</summary>
    /// <param name="encrypted">Whether the signature belongs to encrypted data.</param>
    public abstract int SignatureSize(bool encrypted);

    /// <summary>Signs a PDU and encrypts its data in place.</summary>
    /// <param name="pdu">The PDU but for the signature.</param>
    /// <param name="data">Where stub and padding are in it.</param>
    /// <param name="encrypt">Whether to encrypt them.</param>
    /// <param name="signature">Receives the signature.</param>
    public abstract void Protect(Span<byte> pdu, Range data, bool encrypt, Span<byte> signature);

    /// <summary>Decrypts the data of a PDU in place and checks the signature.</summary>
    /// <returns>False if the PDU is not the peer's next one, or was changed; it must not be used
    /// then.</returns>
    public abstract bool Unprotect(Span<byte> pdu, Range data, bool encrypted, ReadOnlySpan<byte> signature);

    /// <summary>The signature that proves that a negotiation's list of mechanisms was not changed.</summary>
    public abstract byte[] SignNegotiation(ReadOnlySpan<byte> mechanisms);

    /// <summary>Checks the peer's code over the list of mechanisms.</summary>
    public abstract bool VerifyNegotiation(ReadOnlySpan<byte> mechanisms, ReadOnlySpan<byte> code);

    /// <summary>Erases the keys.</summary>
    public abstract void Dispose();
}

/// <summary>The table of mechanisms: everything else reads it. A new one is one row here.</summary>
internal static class SecurityMechanisms
{
    private static readonly SecurityMechanism Kerberos = new(
        RpcMechanism.Kerberos, RpcAuthentication.Kerberos, SecurityPackage.Kerberos, "Kerberos")
    {
        Oid = SpnegoOid.Kerberos,
        TakesPrincipal = true,
        ForClient = proof => GssApi.IsAvailable
            ? () => KerberosContext.ForClient(
                proof.Credential is { } user ? GssCredential.Create(
                    user) : GssCredential.OfSelf(), proof.Service)
            : null,
        ForServer = proof => proof.Keys() is { } keys
            ? () => KerberosContext.ForServer(keys, proof.IsDce)
            : null,
        NotForServer = ServerSecurityErrors.NoKerberos,
    };

    private static readonly SecurityMechanism Ntlm = new(
        RpcMechanism.Ntlm, RpcAuthentication.Ntlm, SecurityPackage.Ntlm, NtlmContext.Name)
    {
        Oid = SpnegoOid.Ntlm,
        HttpScheme = "NTLM",
        TakesAccounts = true,
        NeedsSystemForPasswords = false,
        ForClient = NtlmClient,
        ForServer = proof => proof.Accounts is { } accounts
            ? () => new NtlmServerContext(accounts, proof.BoundNtlm())
            : null,
        NotForServer = ServerSecurityErrors.NoNtlmAccounts,
    };

    private static readonly SecurityMechanism Negotiate = new(
        RpcMechanism.Negotiate, RpcAuthentication.Negotiate, SecurityPackage.Negotiate, "Negotiate")
    {
        HttpScheme = "Negotiate",
        TakesAccounts = true,
        TakesPrincipal = true,
        ForClient = proof => Offered(
            row => row != Kerberos || proof.MayHaveTickets ? row.ForClient(proof) : null) is { } offered
                ? () => new SpnegoClientContext([.. offered])
                : null,
        ForServer = proof => Offered(row => row.ForServer(proof)) is { } offered
            ? () => new SpnegoServerContext(offered)
            : null,
        NotForServer = ServerSecurityErrors.NothingToNegotiate,
    };

    /// <summary>All mechanisms. Those that Negotiate can select are in the order of preference.</summary>
    public static IReadOnlyList<SecurityMechanism> All { get; } = [Kerberos, Ntlm, Negotiate];

    /// <summary>The mechanism that a client asks for.</summary>
    /// <param name="mechanism">The requested mechanism.</param>
    /// <param name="usual">The mechanism for the default.</param>
    public static SecurityMechanism Get(RpcMechanism mechanism, RpcMechanism usual) => All.First(
        row => row.Mechanism == (mechanism == RpcMechanism.Default ? usual : mechanism));

    /// <summary>The mechanism with a number of the wire; null for an unknown one.</summary>
    public static SecurityMechanism? OfPackage(byte package) =>
        All.FirstOrDefault(row => row.Package == package);

    private static Func<SecurityContext>? NtlmClient(ClientProof proof)
    {
        // Outside Windows, NTLM cannot authenticate the user's own account, because it needs the password.
        if (proof.Credential is not { } user)
        {
            return null;
        }

        NtlmCredential credential = NtlmCredential.From(user);
        NtlmClientOptions options = new()
        {
            TargetName = proof.Service,
            Workstation = Environment.MachineName,
        };
        return () => new NtlmClientContext(credential, options);
    }

    // The mechanisms that Negotiate can offer; null if there are none.
    private static List<SpnegoMechanism>? Offered(Func<SecurityMechanism, Func<SecurityContext>?> find)
    {
        List<SpnegoMechanism> offered = [];
        foreach (SecurityMechanism row in All)
        {
            if (row.Oid is { } oid && find(row) is { } create)
            {
                offered.Add(new SpnegoMechanism(oid, create));
            }
        }

        return offered.Count > 0 ? offered : null;
    }
}

/// <summary>A mechanism to authenticate callers.</summary>
/// <param name="Mechanism">As clients name it.</param>
/// <param name="Accepted">As listeners name it.</param>
/// <param name="Package">The authentication type of DCE/RPC.</param>
/// <param name="Name">For errors, and for the system.</param>
internal sealed record SecurityMechanism(
    RpcMechanism Mechanism, RpcAuthentication Accepted, byte Package, string Name)
{
    /// <summary>The object identifier by which Negotiate agrees on it; null for Negotiate itself.</summary>
    public string? Oid { get; init; }

    /// <summary>The name in HTTP (RFC 4559); null if HTTP does not support it.</summary>
    public string? HttpScheme { get; init; }

    /// <summary>Whether a listener verifies it by accounts that it was given,
    /// instead of by Windows.</summary>
    public bool TakesAccounts { get; init; }

    /// <summary>Whether a server is known by a service principal name.</summary>
    public bool TakesPrincipal { get; init; }

    /// <summary>Whether Windows proves it for a client that has a password.</summary>
    public bool NeedsSystemForPasswords { get; init; } = true;

    /// <summary>Creates the client's side; null if the client lacks the credentials.</summary>
    public required Func<ClientProof, Func<SecurityContext>?> ForClient { get; init; }

    /// <summary>Creates the listener's side; null if the listener lacks the keys or accounts.</summary>
    public required Func<ServerProof, Func<SecurityContext>?> ForServer { get; init; }

    /// <summary>The error for a listener without the keys or accounts.</summary>
    public required Func<RpcException> NotForServer { get; init; }
}

/// <summary>The credentials of a client.</summary>
/// <param name="Credential">The user; null for the account of the process.</param>
/// <param name="Service">The name of the server.</param>
internal sealed record ClientProof(NetworkCredential? Credential, string Service)
{
    // The name of an NTLM domain or machine is not a realm, and searching its KDC would take long.
    public bool MayHaveTickets => Credential is not { } user
        || user.UserName.Contains('@') || user.Domain.Contains('.');
}

/// <summary>The data by which a listener verifies callers.</summary>
/// <param name="Accounts">Those of NTLM; null for none.</param>
/// <param name="Keys">Those of Kerberos; null for none.</param>
/// <param name="Ntlm">Clock and names of NTLM.</param>
/// <param name="IsDce">Whether callers speak DCE/RPC, and Kerberos in its style.</param>
internal sealed record ServerProof(
    NtlmAccountTable? Accounts, Func<GssCredential?> Keys, NtlmServerOptions Ntlm, bool IsDce)
{
    /// <summary>The channel binding of the caller's TLS connection; null without TLS.</summary>
    public byte[]? Binding { get; init; }

    /// <summary>The options of NTLM for the caller's connection.</summary>
    public NtlmServerOptions BoundNtlm() => Binding is null
        ? Ntlm
        : Ntlm with { ChannelBinding = NtlmCrypto.BindingHash(Binding) };
}

/// <summary>The authentication types of DCE/RPC ([MS-RPCE] section 2.2.1.1.7).</summary>
internal static class SecurityPackage
{
    public const byte Negotiate = 9;
    public const byte Ntlm = 10;
    public const byte Kerberos = 16;

    public static string NameOf(byte package) =>
        SecurityMechanisms.OfPackage(package)?.Name ?? $"authentication type {package}";
}

/// <summary>Makes exceptions of authentications that failed.</summary>
internal static class SecurityErrors
{
    /// <summary>The peer's token is rejected.</summary>
    public static RpcException Refused(string mechanism, string why, Exception? cause = null) => new(
        RpcStatusCode.Unauthenticated, RpcErrorIds.AuthenticationFailed,
        $"{mechanism}: {why}.", cause);

    /// <summary>The peer's token does not belong to this mechanism.</summary>
    public static RpcException Malformed(string mechanism, string which) =>
        Refused(mechanism, $"{which} of the peer cannot be decoded. The peer may use another mechanism");

    /// <summary>The peer continues after the end of the authentication.</summary>
    public static RpcException OutOfTurn(string mechanism) =>
        Refused(mechanism, "the peer sent another token after the last one");
}

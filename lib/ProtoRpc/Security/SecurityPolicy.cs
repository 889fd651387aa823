using System.Runtime.Versioning;
using ProtoRpc.Security.Gss;
using ProtoRpc.Security.Ntlm;
using ProtoRpc.Security.Sspi;

namespace ProtoRpc.Security;

/// <summary>A checked <see cref="RpcServerSecurity"/>, ready for callers. Thread-safe.</summary>
internal sealed class SecurityPolicy
{
    private readonly Dictionary<byte, Func<byte[]?, SecurityContext>> _mechanisms = [];

    /// <param name="security">The required authentication.</param>
    /// <param name="needsMechanism">Whether a mechanism is required, because the kernel does not identify
    /// callers.</param>
    /// <param name="isDce">Whether callers use DCE/RPC, with Kerberos in its style, and not HTTP.</param>
    /// <exception cref="RpcException">InvalidArgument or Unimplemented: this system does not support the
    /// settings.</exception>
    public SecurityPolicy(RpcServerSecurity security, bool needsMechanism = true, bool isDce = true)
        : this(security, new NtlmServerOptions(), needsMechanism, isDce)
    {
    }

    /// <summary>The same, with another clock and other names.</summary>
    internal SecurityPolicy(
        RpcServerSecurity security, NtlmServerOptions options, bool needsMechanism = true, bool isDce = true)
    {
        Security = security;
        Check(security);
        if (needsMechanism && OperatingSystem.IsWindows())
        {
            foreach (byte package in SspiChoice.OfServer(security, isWindows: true))
            {
                _mechanisms.Add(package, ByWindows(package, security.ServicePrincipalName, isDce));
            }
        }

        bool asksForTickets = Has(RpcAuthentication.Kerberos | RpcAuthentication.Negotiate)
            && !Offers(SecurityPackage.Kerberos) && !Offers(SecurityPackage.Negotiate);
        Lazy<GssCredential?> keys = new(() => asksForTickets ? FindKeys(needsMechanism) : null);
        ServerProof proof = new(
            security.NtlmAccounts.Count > 0 ? new NtlmAccountTable(security.NtlmAccounts) : null,
            () => keys.Value, options, isDce);
        foreach (SecurityMechanism mechanism in SecurityMechanisms.All)
        {
            if (!Has(mechanism.Accepted) || Offers(mechanism.Package))
            {
                continue;
            }

            if (mechanism.ForServer(proof) is { } create)
            {
                _mechanisms.Add(mechanism.Package, binding => binding is null
                    ? create()
                    : mechanism.ForServer(proof with { Binding = binding })!());
            }
            else if (needsMechanism)
            {
                throw mechanism.NotForServer();
            }
        }
    }

    /// <summary>The policy of those who let everybody in.</summary>
    public static SecurityPolicy Open { get; } = new(RpcServerSecurity.Anonymous);

    /// <summary>The settings of the policy. Callers that authenticated under equal ones may call.</summary>
    public RpcServerSecurity Security { get; }

    /// <summary>Whether callers without a proof are served.</summary>
    public bool AllowsAnonymous => Has(RpcAuthentication.None);

    /// <summary>Whether callers can authenticate with a mechanism.</summary>
    public bool OffersMechanisms => _mechanisms.Count > 0;

    /// <summary>Whether callers may prove themselves by a package.</summary>
    public bool Offers(byte package) => _mechanisms.ContainsKey(package);

    /// <summary>Begins the authentication of a caller.</summary>
    /// <param name="package">The authentication type of DCE/RPC.</param>
    /// <param name="binding">The channel binding of the caller's TLS connection (<see cref="TlsEndPoint"/>);
    /// null to not check it. ProtoRpc's NTLM verifies it; Kerberos and the mechanisms of Windows do
    /// not.</param>
    /// <returns>Null when the package is not offered.</returns>
    public SecurityContext? TryBegin(byte package, byte[]? binding = null) =>
        _mechanisms.TryGetValue(package, out Func<byte[]?, SecurityContext>? create)
            ? create(binding)
            : null;

    [SupportedOSPlatform("windows")]
    private static Func<byte[]?, SecurityContext> ByWindows(byte package, string? service, bool isDce)
    {
        SspiCredential credential = SspiCredential.OfServer(SecurityPackage.NameOf(package));
        return _ => SspiContext.ForServer(credential, service, isDce);
    }

    // Without a key, Negotiate continues without Kerberos, unless Kerberos was requested explicitly.
    private GssCredential? FindKeys(bool needsMechanism)
    {
        bool isWanted = needsMechanism && Has(RpcAuthentication.Kerberos);
        if (!GssApi.IsAvailable)
        {
            return isWanted ? throw ServerSecurityErrors.NoKerberos() : null;
        }

        try
        {
            return GssCredential.OfService(Security.ServicePrincipalName);
        }
        catch (RpcException) when (!isWanted)
        {
            return null;
        }
    }

    private bool Has(RpcAuthentication any) => (Security.Authentication & any) != 0;

    private static void Check(RpcServerSecurity security)
    {
        RpcAuthentication known = FlagsOf(SecurityMechanisms.All) | RpcAuthentication.None;
        if (security.Authentication == 0 || (security.Authentication & ~known) != 0)
        {
            throw ServerSecurityErrors.Invalid(
                nameof(RpcServerSecurity.Authentication), security.Authentication);
        }

        if (!Enum.IsDefined(security.MinimumLevel))
        {
            throw ServerSecurityErrors.Invalid(nameof(RpcServerSecurity.MinimumLevel), security.MinimumLevel);
        }

        // Accounts or a service name without authentication would suggest that callers are authenticated.
        if (security.NtlmAccounts.Count > 0)
        {
            RequireUse(
                security, [.. SecurityMechanisms.All.Where(mechanism => mechanism.TakesAccounts)],
                nameof(RpcServerSecurity.NtlmAccounts));
        }

        if (security.ServicePrincipalName is not null)
        {
            RequireUse(
                security, [.. SecurityMechanisms.All.Where(mechanism => mechanism.TakesPrincipal)],
                nameof(RpcServerSecurity.ServicePrincipalName));
        }
    }

    private static void RequireUse(
        RpcServerSecurity security, SecurityMechanism[] users, string property)
    {
        if ((security.Authentication & FlagsOf(users)) == 0)
        {
            throw ServerSecurityErrors.Unused(
                property, security.Authentication,
                EndpointKinds.Enumerate([.. users.Select(mechanism => mechanism.Name)], "or"));
        }
    }

    private static RpcAuthentication FlagsOf(IEnumerable<SecurityMechanism> mechanisms) =>
        mechanisms.Aggregate((RpcAuthentication)0, (flags, mechanism) => flags | mechanism.Accepted);
}

/// <summary>Creates exceptions for invalid security settings of a listener.</summary>
internal static class ServerSecurityErrors
{
    public static RpcException Invalid(string property, object value) => new(
        RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidSecurity,
        $"{nameof(RpcServerSecurity)}.{property} cannot be '{value}'.");

    public static RpcException Unused(
        string property, RpcAuthentication authentication, string needed) => new(
        RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidSecurity,
        $"{nameof(RpcServerSecurity)}.{property} has no effect, because authentication is {authentication}. "
        + $"Add {needed} to the authentication, or leave {property} out.");

    public static RpcException NoNtlmAccounts() => new(
        RpcStatusCode.FailedPrecondition, RpcErrorIds.NoNtlmAccounts,
        "This system cannot verify NTLM for the listener. Set "
        + $"{nameof(RpcServerSecurity)}.{nameof(RpcServerSecurity.NtlmAccounts)} to the accounts that may "
        + "call, or use another mechanism.");

    public static RpcException NoKerberos() => new(
        RpcStatusCode.Unimplemented, RpcErrorIds.NoKerberos,
        "Kerberos is not available on this system. Use NTLM with accounts.");

    public static RpcException NothingToNegotiate() => new(
        RpcStatusCode.FailedPrecondition, RpcErrorIds.NothingToNegotiate,
        "Negotiate needs Kerberos or NTLM, and this listener has neither. Set "
        + $"{nameof(RpcServerSecurity)}.{nameof(RpcServerSecurity.NtlmAccounts)}, or give the machine "
        + "a Kerberos key.");
}

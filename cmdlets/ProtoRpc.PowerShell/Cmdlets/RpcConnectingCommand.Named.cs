using System.Net;
using System.Security.Cryptography.X509Certificates;
using ProtoRpc.PowerShell.Cmdlets;

namespace ProtoRpc;

// The options that are registered with an endpoint's name. Parameters override them.
public abstract partial class RpcConnectingCommand
{
    private static readonly string[] OfIdentity =
        [nameof(Authentication), nameof(Credential), nameof(Token)];

    private readonly Dictionary<string, RpcSchema> _schemas = [];

    // Each file is read once for all endpoints; there may be thousands of endpoints.
    private readonly Dictionary<string, X509Certificate2Collection> _authorities = [];
    private readonly Dictionary<string, X509Certificate2> _clientCertificates = [];

    /// <summary>The registration that was checked last; null for an endpoint without one.</summary>
    private protected RpcNamedEndpoint? Named { get; private set; }

    private bool UsesTls => IsGiven(nameof(Tls)) ? Tls && Takes(nameof(Tls)) : Named?.Tls == true;

    /// <summary>Checks the parameters for an endpoint or a registered name. The options of the name apply
    /// from then on.</summary>
    /// <exception cref="RpcException">InvalidArgument.</exception>
    private protected void CheckParameters(
        EndpointTarget target, IReadOnlyCollection<RpcEndpoint> all, bool isRaw = false)
    {
        Named = target.Named;
        CheckGiven(target.Require(), all, isRaw);
    }

    /// <summary>Whether a parameter was given.</summary>
    private protected virtual bool IsGiven(string parameter) =>
        MyInvocation.BoundParameters.ContainsKey(parameter);

    /// <summary>The schema that is registered with a name; null for none. The options of the name apply from
    /// then on.</summary>
    private protected RpcSchema? NamedSchema(EndpointTarget target)
    {
        Named = target.Named;
        if (Named is not { Schema.Count: > 0 })
        {
            return null;
        }

        if (!_schemas.TryGetValue(Named.Name, out RpcSchema? schema))
        {
            _schemas[Named.Name] = schema = ResolveKept(RpcSchemaSource.Of(Named));
        }

        return schema;
    }

    /// <summary>Clears the registration that was checked last.</summary>
    private protected void ForgetNamed() => Named = null;

    // If the command sets the authentication, the registered credential must not be sent.
    private RpcClientSecurity CreateSecurity() =>
        Named is not null && !OfIdentity.Any(IsGiven) ? NamedSecurity(Named) : GivenSecurity();

    private RpcClientSecurity GivenSecurity() => new()
    {
        Authentication = AuthenticationOf(),
        Credential = Takes(nameof(Credential)) ? Credential?.GetNetworkCredential() : null,
        Token = Token is not null && Takes(nameof(Token)) ? new NetworkCredential("", Token).Password : null,
        Mechanism = MechanismOf(Named),
        ProtectionLevel = ProtectionLevelOf(Named),
        ServicePrincipalName = ServicePrincipalNameOf(Named),
        ServerUser = ServerUserOf(Named),
    };

    private RpcClientSecurity NamedSecurity(RpcNamedEndpoint named) => new()
    {
        Authentication = named.Authentication
            ?? (named.Credential is not null ? RpcClientAuthentication.User
                : named.Token is not null ? RpcClientAuthentication.Bearer
                : RpcClientAuthentication.None),
        Credential = _secrets.CredentialOf(named),
        Token = _secrets.TokenOf(named),
        Mechanism = MechanismOf(named),
        ProtectionLevel = ProtectionLevelOf(named),
        ServicePrincipalName = ServicePrincipalNameOf(named),
        ServerUser = ServerUserOf(named),
    };

    private RpcMechanism MechanismOf(RpcNamedEndpoint? named) => IsGiven(nameof(Mechanism))
        ? Takes(nameof(Mechanism)) ? Mechanism : RpcMechanism.Default
        : named?.Mechanism ?? Mechanism;

    private RpcProtectionLevel ProtectionLevelOf(RpcNamedEndpoint? named) =>
        IsGiven(nameof(ProtectionLevel)) ? ProtectionLevel : named?.ProtectionLevel ?? ProtectionLevel;

    private string? ServicePrincipalNameOf(RpcNamedEndpoint? named) => IsGiven(nameof(ServicePrincipalName))
        ? Takes(nameof(ServicePrincipalName)) ? ServicePrincipalName : null
        : named?.ServicePrincipalName;

    private string? ServerUserOf(RpcNamedEndpoint? named) => IsGiven(nameof(ServerUser))
        ? Takes(nameof(ServerUser)) ? ServerUser : null
        : named?.ServerUser;

    private RpcTlsOptions CreateTls() => new()
    {
        CaCertificates = CACertificate.Length > 0 ? Authorities("", CACertificate)
            : Named is { CACertificate: { Count: > 0 } paths }
                ? Authorities(Named.Name, paths.Select(path => new RpcCertificateSource(path)))
            : null,
        ClientCertificate = ClientCertificate is { } given ? OwnCertificate("", given)
            : Named?.ClientCertificate is { } path
                ? OwnCertificate(Named.Name, new RpcCertificateSource(path))
            : null,
        ServerName = ServerName ?? Named?.ServerName,
        SkipCertificateCheck = SkipCertificateCheck,
    };

    private X509Certificate2Collection Authorities(string key, IEnumerable<RpcCertificateSource> sources)
    {
        if (!_authorities.TryGetValue(key, out X509Certificate2Collection? all))
        {
            _authorities[key] = all = [.. sources.SelectMany(source => source.ReadAll(ResolveLiteral))];
        }

        return all;
    }

    private X509Certificate2 OwnCertificate(string key, RpcCertificateSource source)
    {
        if (!_clientCertificates.TryGetValue(key, out X509Certificate2? certificate))
        {
            _clientCertificates[key] = certificate = source.ReadWithKey(ResolveLiteral);
        }

        return certificate;
    }
}

using System.Collections;
using System.Management.Automation;
using System.Reflection;
using System.Security;
using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Completion;
using ProtoRpc.PowerShell.Objects;
using ProtoRpc.PowerShell.Parameters;
using ProtoRpc.Security;

namespace ProtoRpc;

/// <summary>The base of cmdlets that connect to servers. Adds the parameters for authentication and
/// trust.</summary>
/// <remarks>The parameters are virtual, because not every parameter set of every cmdlet has them. The shell
/// reads the attributes of the overriding property.</remarks>
public abstract partial class RpcConnectingCommand : RpcCmdlet
{
    private static readonly HashSet<string> OfConnecting = new(
        typeof(RpcConnectingCommand)
            .GetProperties(BindingFlags.Public | BindingFlags.Instance | BindingFlags.DeclaredOnly)
            .Select(property => property.Name),
        StringComparer.OrdinalIgnoreCase);

    private readonly SecretReader _secrets = new();
    private IReadOnlySet<string> _ignored = new HashSet<string>();

    [Parameter]
    public virtual RpcClientAuthentication? Authentication { get; set; }

    [Parameter]
    [Credential]
    [ValidateNotNull]
    public virtual PSCredential? Credential { get; set; }

    [Parameter]
    [ValidateNotNull]
    public virtual SecureString? Token { get; set; }

    [Parameter]
    public virtual RpcMechanism Mechanism { get; set; }

    [Parameter]
    [ValidateSet("Connect", "Packet", "Integrity", "Privacy")]
    public virtual RpcProtectionLevel ProtectionLevel { get; set; } = RpcProtectionLevel.Privacy;

    [Parameter]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(PrincipalCompleter))]
    public virtual string? ServicePrincipalName { get; set; }

    [Parameter]
    [ValidateNotNullOrEmpty]
    public virtual string? ServerUser { get; set; }

    [Parameter]
    public virtual SwitchParameter Tls { get; set; }

    [Parameter]
    [ValidateNotNullOrEmpty]
    public virtual RpcCertificateSource[] CACertificate { get; set; } = [];

    [Parameter]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(CertificateCompleter))]
    public virtual RpcCertificateSource? ClientCertificate { get; set; }

    [Parameter]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(HostCompleter))]
    public virtual string? ServerName { get; set; }

    [Parameter]
    public virtual SwitchParameter SkipCertificateCheck { get; set; }

    [Parameter]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(HeaderCompleter))]
    public virtual IDictionary? Header { get; set; }

    /// <summary>The parameters of this class that were given.</summary>
    private protected IEnumerable<string> GivenForConnecting =>
        MyInvocation.BoundParameters.Keys.Where(OfConnecting.Contains);

    /// <summary>Finds the given parameters that do not apply to an endpoint. This is an error for a single
    /// endpoint, because the user relies on the parameter. With several endpoints, a parameter that applies
    /// to another one is ignored for this one.</summary>
    /// <param name="endpoint">The endpoint to connect to next.</param>
    /// <param name="all">All endpoints that the parameters were given for.</param>
    /// <param name="isRaw">Whether the calls send raw bytes instead of messages.</param>
    /// <exception cref="RpcException">InvalidArgument.</exception>
    private protected void CheckParameters(
        RpcEndpoint endpoint, IReadOnlyCollection<RpcEndpoint> all, bool isRaw = false)
    {
        Named = null;
        CheckGiven(endpoint, all, isRaw);
    }

    private void CheckGiven(RpcEndpoint endpoint, IReadOnlyCollection<RpcEndpoint> all, bool isRaw)
    {
        HashSet<string> ignored = new(StringComparer.OrdinalIgnoreCase);
        foreach (string name in MyInvocation.BoundParameters.Keys)
        {
            if (FindMisfit(name, endpoint, isRaw) is not { } misfit)
            {
                continue;
            }

            if (all.All(other => FindMisfit(name, other, isRaw) is not null))
            {
                throw misfit;
            }

            WriteVerbose($"{misfit.Message} It is ignored for this endpoint.");
            ignored.Add(name);
        }

        _ignored = ignored;
        if (AuthenticationOf() <= RpcClientAuthentication.Anonymous)
        {
            EndpointParameters.CheckAnonymous(MyInvocation.BoundParameters.Keys.Where(Takes), endpoint);
        }

        HeaderMapping.CheckSecrets(Takes(nameof(Header)) ? Header : null, endpoint);
    }

    /// <summary>Whether a parameter applies to the endpoint that was checked last.</summary>
    private protected bool Takes(string parameter) => !_ignored.Contains(parameter);

    /// <summary>The options for connecting to the endpoint that was checked last.</summary>
    private protected virtual RpcClientOptions CreateOptions() => new()
    {
        Security = CreateSecurity(),
        UseTls = UsesTls,
        Tls = CreateTls(),
        Headers = HeaderMapping.ToMetadata(Takes(nameof(Header)) ? Header : null),
    };

    /// <summary>The options for connecting to the server of a schema. Credentials are only sent to hosts that
    /// are called, not to another host that only has the schema. The certificate authorities apply to
    /// both.</summary>
    /// <param name="endpoint">The server of the schema.</param>
    /// <param name="all">The endpoints that are called.</param>
    /// <exception cref="RpcException">InvalidArgument.</exception>
    private protected RpcClientOptions SchemaOptionsFor(
        RpcEndpoint endpoint, IReadOnlyCollection<RpcEndpoint> all)
    {
        IReadOnlyCollection<RpcEndpoint> own = Named is null ? all : [Named.Endpoint];
        if (!own.Any(other => other.Host.Equals(endpoint.Host, StringComparison.OrdinalIgnoreCase)))
        {
            return new RpcClientOptions
            {
                Tls = new RpcTlsOptions { CaCertificates = CreateTls().CaCertificates },
            };
        }

        CheckGiven(endpoint, [.. own, endpoint], isRaw: false);
        return CreateOptions();
    }

    private RpcException? FindMisfit(string name, RpcEndpoint endpoint, bool isRaw) =>
        EndpointParameters.FindMisfit(name, new EndpointUse(endpoint, UsesTls, isRaw))
        ?? (OfConnecting.Contains(name) ? FindMisfit(name, endpoint) : null);

    // Misfits that depend on the value of a parameter, or on other parameters.
    private RpcException? FindMisfit(string name, RpcEndpoint endpoint) => name.ToUpperInvariant() switch
    {
        "TLS" when Tls => EndpointParameters.FindTlsMisfit(endpoint),
        "CREDENTIAL" => EndpointParameters.FindCredentialMisfit(endpoint, Mechanism),
        "TOKEN" => EndpointParameters.FindTokenMisfit(endpoint),
        "AUTHENTICATION" => Authentication switch
        {
            RpcClientAuthentication.User => EndpointParameters.FindCredentialMisfit(endpoint, Mechanism),
            RpcClientAuthentication.Bearer => EndpointParameters.FindTokenMisfit(endpoint),
            RpcClientAuthentication.Self when !endpoint.Has(EndpointFeatures.OwnAccount) =>
                ClientSecurityErrors.NoMechanisms(endpoint),
            _ => null,
        },
        _ => null,
    };

    // A given credential or token is always used, or reported as an error; never ignored.
    private RpcClientAuthentication AuthenticationOf() =>
        (Takes(nameof(Authentication)) ? Authentication : RpcClientAuthentication.None)
        ?? (Credential is not null && Takes(nameof(Credential)) ? RpcClientAuthentication.User
            : Token is not null && Takes(nameof(Token)) ? RpcClientAuthentication.Bearer
            : RpcClientAuthentication.None);
}

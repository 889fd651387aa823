using System.Collections;
using System.Management.Automation;
using System.Security.Cryptography.X509Certificates;
using ProtoRpc.Calls;
using ProtoRpc.Schema;
using ProtoRpc.Security;

namespace ProtoRpc.PowerShell;

/// <summary>The base of cmdlets that connect to endpoints: which ones, as whom, and whom to trust.</summary>
public abstract class RpcEndpointCommand : RpcCmdlet
{
    protected const string ByEndpoint = "Endpoint";
    protected const string ByListener = "Listener";

    [Parameter(Mandatory = true, Position = 0, ValueFromPipeline = true, ParameterSetName = ByEndpoint)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(EndpointCompleter))]
    public string[] Endpoint { get; set; } = [];

    [Parameter(Mandatory = true, ValueFromPipeline = true, ParameterSetName = ByListener)]
    [ArgumentCompleter(typeof(ListenerCompleter))]
    public RpcListener? Listener { get; set; }

    [Parameter(Position = 1, ParameterSetName = ByEndpoint)]
    [Parameter(Position = 1, ParameterSetName = ByListener)]
    public RpcSchemaSource? Schema { get; set; }

    [Parameter(ParameterSetName = ByEndpoint)]
    [Parameter(ParameterSetName = ByListener)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(ServiceCompleter))]
    public string? Service { get; set; }

    [Parameter(ParameterSetName = ByEndpoint)]
    [Parameter(ParameterSetName = ByListener)]
    public Guid? InterfaceId { get; set; }

    [Parameter(ParameterSetName = ByEndpoint)]
    [Parameter(ParameterSetName = ByListener)]
    public RpcClientAuthentication? Authentication { get; set; }

    [Parameter(ParameterSetName = ByEndpoint)]
    [Parameter(ParameterSetName = ByListener)]
    [Credential]
    [ValidateNotNull]
    public PSCredential? Credential { get; set; }

    [Parameter(ParameterSetName = ByEndpoint)]
    [Parameter(ParameterSetName = ByListener)]
    public RpcMechanism Mechanism { get; set; }

    [Parameter(ParameterSetName = ByEndpoint)]
    [Parameter(ParameterSetName = ByListener)]
    [ValidateSet("Connect", "Packet", "Integrity", "Privacy")]
    public RpcProtectionLevel ProtectionLevel { get; set; } = RpcProtectionLevel.Privacy;

    [Parameter(ParameterSetName = ByEndpoint)]
    [Parameter(ParameterSetName = ByListener)]
    [ValidateNotNullOrEmpty]
    public string? ServicePrincipalName { get; set; }

    [Parameter(ParameterSetName = ByEndpoint)]
    [Parameter(ParameterSetName = ByListener)]
    public SwitchParameter Tls { get; set; }

    [Parameter(ParameterSetName = ByEndpoint)]
    [Parameter(ParameterSetName = ByListener)]
    [ValidateNotNullOrEmpty]
    public RpcCertificateSource[] CACertificate { get; set; } = [];

    [Parameter(ParameterSetName = ByEndpoint)]
    [Parameter(ParameterSetName = ByListener)]
    [ValidateNotNull]
    public RpcCertificateSource? ClientCertificate { get; set; }

    [Parameter(ParameterSetName = ByEndpoint)]
    [Parameter(ParameterSetName = ByListener)]
    [ValidateNotNullOrEmpty]
    public string? ServerName { get; set; }

    [Parameter(ParameterSetName = ByEndpoint)]
    [Parameter(ParameterSetName = ByListener)]
    public SwitchParameter SkipCertificateCheck { get; set; }

    [Parameter(ParameterSetName = ByEndpoint)]
    [Parameter(ParameterSetName = ByListener)]
    [ValidateNotNull]
    public IDictionary? Header { get; set; }

    /// <summary>The endpoints, as text.</summary>
    private protected IEnumerable<string> Endpoints =>
        Listener?.Endpoint.Select(endpoint => endpoint.ToString()) ?? Endpoint;

    private protected RpcSchema? FindSchema() => Schema is null ? Listener?.Schema : Resolve(Schema);

    /// <summary>Refuses what was given and means nothing to an endpoint.</summary>
    /// <exception cref="RpcException">InvalidArgument.</exception>
    private protected void CheckParameters(RpcEndpoint endpoint, bool isRaw = false)
    {
        EndpointParameters.Check(MyInvocation.BoundParameters.Keys, new EndpointUse(endpoint, Tls, isRaw));
        if (Credential is null && Authentication is not (RpcClientAuthentication.Self or RpcClientAuthentication.User))
        {
            EndpointParameters.CheckAnonymous(MyInvocation.BoundParameters.Keys, endpoint);
        }
    }

    // Whoever gives a credential wants it to be used. A listener's schema may have more services than the listener.
    private protected virtual RpcClientOptions CreateOptions() => new()
    {
        Service = Service ?? (Listener?.Service is [string only] ? only : null),
        InterfaceId = InterfaceId,
        Security = CreateSecurity(),
        UseTls = Tls,
        Tls = CreateTls(),
        Headers = HeaderMapping.ToMetadata(Header),
    };

    private RpcClientSecurity CreateSecurity() => new()
    {
        Authentication = Authentication
            ?? (Credential is null ? RpcClientAuthentication.None : RpcClientAuthentication.User),
        Credential = Credential?.GetNetworkCredential(),
        Mechanism = Mechanism,
        ProtectionLevel = ProtectionLevel,
        ServicePrincipalName = ServicePrincipalName,
    };

    private RpcTlsOptions CreateTls()
    {
        X509Certificate2Collection? authorities = CACertificate.Length == 0 ? null : [];
        foreach (RpcCertificateSource source in CACertificate)
        {
            authorities!.AddRange(source.ReadAll(this));
        }

        return new RpcTlsOptions
        {
            CaCertificates = authorities,
            ClientCertificate = ClientCertificate?.ReadWithKey(this),
            ServerName = ServerName,
            SkipCertificateCheck = SkipCertificateCheck,
        };
    }
}

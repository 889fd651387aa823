using System.Management.Automation;
using ProtoRpc.Calls;
using ProtoRpc.Schema;
using ProtoRpc.Security;

namespace ProtoRpc.PowerShell;

[Cmdlet(VerbsCommunications.Connect, "RpcEndpoint", DefaultParameterSetName = ByEndpoint)]
[OutputType(typeof(RpcConnection))]
public sealed class ConnectRpcEndpointCommand : RpcCmdlet
{
    private const string ByEndpoint = "Endpoint";
    private const string ByListener = "Listener";

    [Parameter(Mandatory = true, Position = 0, ValueFromPipeline = true, ParameterSetName = ByEndpoint)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(EndpointCompleter))]
    public string[] Endpoint { get; set; } = [];

    [Parameter(Mandatory = true, ValueFromPipeline = true, ParameterSetName = ByListener)]
    [ArgumentCompleter(typeof(ListenerCompleter))]
    public RpcListener? Listener { get; set; }

    [Parameter(Position = 1)]
    public RpcSchemaSource? Schema { get; set; }

    [Parameter]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(ServiceCompleter))]
    public string? Service { get; set; }

    [Parameter]
    public Guid? InterfaceId { get; set; }

    [Parameter]
    public RpcClientAuthentication? Authentication { get; set; }

    [Parameter]
    [Credential]
    [ValidateNotNull]
    public PSCredential? Credential { get; set; }

    [Parameter]
    public RpcMechanism Mechanism { get; set; }

    [Parameter]
    [ValidateSet("Connect", "Packet", "Integrity", "Privacy")]
    public RpcProtectionLevel ProtectionLevel { get; set; } = RpcProtectionLevel.Privacy;

    [Parameter]
    [ValidateNotNullOrEmpty]
    public string? ServicePrincipalName { get; set; }

    [Parameter]
    public RpcLimits Limits { get; set; } = RpcLimits.Default;

    protected override void Process()
    {
        RpcSchema? schema = Schema is null ? Listener?.Schema : Resolve(Schema);
        RpcClientOptions options = new()
        {
            Limits = Limits,
            Service = Service ?? OnlyService,
            InterfaceId = InterfaceId,
            Security = CreateSecurity(),
        };
        foreach (string endpoint in Listener?.Endpoint.Select(endpoint => endpoint.ToString()) ?? Endpoint)
        {
            Guard(endpoint, () => Connect(RpcEndpoint.Parse(endpoint), schema, options));
        }
    }

    // A listener's schema may have more services than the listener.
    private string? OnlyService => Listener?.Service is [string only] ? only : null;

    // Whoever gives a credential wants it to be used.
    private RpcClientSecurity CreateSecurity() => new()
    {
        Authentication = Authentication
            ?? (Credential is null ? RpcClientAuthentication.None : RpcClientAuthentication.User),
        Credential = Credential?.GetNetworkCredential(),
        Mechanism = Mechanism,
        ProtectionLevel = ProtectionLevel,
        ServicePrincipalName = ServicePrincipalName,
    };

    private void Connect(RpcEndpoint endpoint, RpcSchema? schema, RpcClientOptions options)
    {
        WriteVerbose($"Connecting to {endpoint}");
        RpcClient client = RpcClient.Connect(endpoint, schema, options, Cancellation);
        RunspaceStore store = RunspaceStore.Current;
        RpcConnection connection = new(store.NextId(), client);
        store.Add(connection);
        WriteObject(connection);
    }
}

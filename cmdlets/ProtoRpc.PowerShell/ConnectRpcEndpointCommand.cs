using System.Collections;
using System.Management.Automation;
using System.Security.Cryptography.X509Certificates;
using ProtoRpc.Calls;
using ProtoRpc.Calls.Raw;
using ProtoRpc.Formats;
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
    public SwitchParameter Tls { get; set; }

    [Parameter]
    [ValidateNotNull]
    public IDictionary? Header { get; set; }

    [Parameter]
    [ValidateSet("Binary", "Json", "Xml", "Form")]
    public string Format { get; set; } = "Binary";

    [Parameter]
    public RpcCompression Compression { get; set; }

    [Parameter]
    [Deadline]
    public TimeSpan? KeepAlive { get; set; }

    [Parameter]
    [ValidateRange(1, int.MaxValue)]
    public int? MaxReceiveSize { get; set; }

    [Parameter]
    [ValidateNotNullOrEmpty]
    public RpcCertificateSource[] CACertificate { get; set; } = [];

    [Parameter]
    [ValidateNotNull]
    public RpcCertificateSource? ClientCertificate { get; set; }

    [Parameter]
    [ValidateNotNullOrEmpty]
    public string? ServerName { get; set; }

    [Parameter]
    public SwitchParameter SkipCertificateCheck { get; set; }

    [Parameter]
    public RpcLimits Limits { get; set; } = RpcLimits.Default;

    [Parameter]
    [ValidateNotNull]
    public IDictionary? CallContext { get; set; }

    [Parameter]
    public RpcExceptionTypes ExceptionType { get; set; } = RpcExceptionTypes.CoreLibrary;

    [Parameter]
    [ValidateRange(0, int.MaxValue)]
    public int? MultiPartThreshold { get; set; }

    protected override void Process()
    {
        RpcSchema? schema = Schema is null ? Listener?.Schema : Resolve(Schema);
        foreach (string endpoint in Listener?.Endpoint.Select(endpoint => endpoint.ToString()) ?? Endpoint)
        {
            Guard(endpoint, () => Connect(RpcEndpoint.Parse(endpoint), schema));
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

    private RpcTlsOptions CreateTls()
    {
        X509Certificate2Collection? authorities = CACertificate.Length == 0 ? null : [];
        foreach (RpcCertificateSource source in CACertificate)
        {
            authorities!.AddRange(source.ReadAll(FileOf(source)));
        }

        return new RpcTlsOptions
        {
            CaCertificates = authorities,
            ClientCertificate = ClientCertificate?.ReadWithKey(FileOf(ClientCertificate)),
            ServerName = ServerName,
            SkipCertificateCheck = SkipCertificateCheck,
        };
    }

    private string? FileOf(RpcCertificateSource source) =>
        source.Path is null ? null : GetUnresolvedProviderPathFromPSPath(source.Path);

    // Without a schema there is nothing but bytes to send to an interface.
    private Guid? RawInterface => Schema is not null ? null
        : Listener is null ? InterfaceId
        : Listener.IsRaw ? InterfaceId ?? Listener.InterfaceId[0]
        : null;

    private void Connect(RpcEndpoint endpoint, RpcSchema? schema)
    {
        WriteVerbose($"Connecting to {endpoint}");
        RunspaceStore store = RunspaceStore.Current;
        RpcConnection connection = RawInterface is { } raw
            ? new(store.NextId(), RpcRawClient.Connect(endpoint, raw, Limits, CreateSecurity(), Cancellation))
            : new(store.NextId(), ConnectClient(endpoint, schema));
        if (CallContext is not null)
        {
            SetCallContext(connection, CallContext);
        }

        store.Add(connection);
        WriteObject(connection);
    }

    private static void SetCallContext(RpcConnection connection, IDictionary values)
    {
        try
        {
            connection.CallContext = values;
        }
        catch
        {
            connection.Dispose();
            throw;
        }
    }

    private RpcClientOptions CreateOptions()
    {
        RpcClientOptions options = new()
        {
            Limits = MaxReceiveSize is { } size ? Limits with { MaxMessageBytes = size } : Limits,
            Service = Service ?? OnlyService,
            InterfaceId = InterfaceId,
            ExceptionTypes = ExceptionType,
            Security = CreateSecurity(),
            UseTls = Tls,
            Tls = CreateTls(),
            Format = MessageFormats.TryFind(Format, out MessageFormat? format) ? format : MessageFormats.Binary,
            Headers = HeaderMapping.ToMetadata(Header),
            Compression = Compression,
            KeepAlive = KeepAlive,
        };
        return MultiPartThreshold is not { } threshold
            ? options
            : options with { MultiPartThreshold = threshold == 0 ? null : threshold };
    }

    // A gRPC server tells what it serves.
    private RpcClient ConnectClient(RpcEndpoint endpoint, RpcSchema? schema)
    {
        RpcClient client = RpcClient.Connect(endpoint, schema, CreateOptions(), Cancellation);
        if (schema is not null || !endpoint.IsGrpc)
        {
            return client;
        }

        try
        {
            foreach (string warning in client.FetchSchema(Cancellation).Warnings)
            {
                WriteWarning(warning);
            }

            return client;
        }
        catch
        {
            client.Dispose();
            throw;
        }
    }
}

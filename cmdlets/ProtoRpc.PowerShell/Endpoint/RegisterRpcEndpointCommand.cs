using System.Management.Automation;
using ProtoRpc.PowerShell.Completion;
using ProtoRpc.PowerShell.Parameters;

namespace ProtoRpc;

[Cmdlet(VerbsLifecycle.Register, "RpcEndpoint", SupportsShouldProcess = true)]
[OutputType(typeof(RpcNamedEndpoint))]
public sealed class RegisterRpcEndpointCommand : RpcCmdlet
{
    [Parameter(Mandatory = true, Position = 0, ValueFromPipelineByPropertyName = true)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(EndpointNameCompleter))]
    public string Name { get; set; } = "";

    [Parameter(Mandatory = true, Position = 1, ValueFromPipelineByPropertyName = true)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(EndpointCompleter))]
    public string Endpoint { get; set; } = "";

    [Parameter(Position = 2, ValueFromPipelineByPropertyName = true)]
    [EmptyCell]
    public string[]? Schema { get; set; }

    [Parameter(ValueFromPipelineByPropertyName = true)]
    [ArgumentCompleter(typeof(ServiceCompleter))]
    public string? Service { get; set; }

    [Parameter(ValueFromPipelineByPropertyName = true)]
    [EmptyCell]
    [ArgumentCompleter(typeof(InterfaceIdCompleter))]
    public Guid? InterfaceId { get; set; }

    [Parameter(ValueFromPipelineByPropertyName = true)]
    [EmptyCell]
    [ArgumentCompleter(typeof(TagCompleter))]
    public string[]? Tag { get; set; }

    [Parameter]
    public RpcClientAuthentication? Authentication { get; set; }

    [Parameter(ValueFromPipelineByPropertyName = true)]
    public string? UserName { get; set; }

    [Parameter(ValueFromPipelineByPropertyName = true)]
    [SecretReference]
    [ArgumentCompleter(typeof(SecretCompleter))]
    public string? Credential { get; set; }

    [Parameter(ValueFromPipelineByPropertyName = true)]
    [SecretReference]
    [ArgumentCompleter(typeof(SecretCompleter))]
    public string? Token { get; set; }

    [Parameter]
    public RpcMechanism? Mechanism { get; set; }

    [Parameter]
    [ValidateSet("Connect", "Packet", "Integrity", "Privacy")]
    public RpcProtectionLevel? ProtectionLevel { get; set; }

    [Parameter]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(PrincipalCompleter))]
    public string? ServicePrincipalName { get; set; }

    [Parameter]
    public SwitchParameter Tls { get; set; }

    [Parameter]
    [ValidateNotNull]
    public string[] CACertificate { get; set; } = [];

    [Parameter]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(CertificateCompleter))]
    public string? ClientCertificate { get; set; }

    [Parameter]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(HostCompleter))]
    public string? ServerName { get; set; }

    [Parameter]
    [FormatName(ofHttp: true)]
    [ArgumentCompleter(typeof(HttpFormatCompleter))]
    public string? Format { get; set; }

    [Parameter]
    public RpcCompression? Compression { get; set; }

    [Parameter]
    [ValidateRange(0, 100)]
    public int? RetryCount { get; set; }

    [Parameter]
    public SwitchParameter Force { get; set; }

    [Parameter]
    public SwitchParameter PassThru { get; set; }

    protected override void Process()
    {
        RpcEndpointRegistry registry = RpcEndpointRegistry.OfUser;
        Guard(Name, () =>
        {
            RpcNamedEndpoint endpoint = Create();
            if (ShouldProcess($"'{Name}' in '{registry.Path}'", $"Register {endpoint.Endpoint}"))
            {
                registry.Register(endpoint, Force);
                if (PassThru)
                {
                    WriteObject(endpoint);
                }
            }
        });
    }

    private RpcNamedEndpoint Create() => new(Name, RpcEndpoint.Parse(Endpoint))
    {
        Schema = [.. Texts(Schema).Select(FullPath)],
        Service = OrNull(Service),
        InterfaceId = InterfaceId,
        Tag = [.. Texts(Tag)],
        Authentication = Authentication,
        UserName = OrNull(UserName),
        Credential = OrNull(Credential),
        Token = OrNull(Token),
        Mechanism = Mechanism,
        ProtectionLevel = ProtectionLevel,
        ServicePrincipalName = ServicePrincipalName,
        Tls = Tls,
        CACertificate = [.. CACertificate.Select(CertificatePath)],
        ClientCertificate = ClientCertificate is null ? null : CertificatePath(ClientCertificate),
        ServerName = ServerName,
        Format = Format,
        Compression = Compression,
        RetryCount = RetryCount,
    };

    // Import-Csv returns an empty text for an empty cell.
    private static string? OrNull(string? text) => string.IsNullOrEmpty(text) ? null : text;

    private static IEnumerable<string> Texts(string[]? texts) =>
        (texts ?? []).Where(text => !string.IsNullOrEmpty(text));

    // Paths are stored in full, because the name is also used from other locations.
    private string FullPath(string path) =>
        RpcSchemaLoader.IsAddress(path) ? path : ResolveLiteral(path);

    private string CertificatePath(string pathOrThumbprint) =>
        RpcCertificateSource.IsThumbprint(pathOrThumbprint)
            ? pathOrThumbprint
            : ResolveLiteral(pathOrThumbprint);
}

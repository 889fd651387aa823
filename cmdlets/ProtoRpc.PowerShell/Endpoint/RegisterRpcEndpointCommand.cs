using System.Collections;
using System.Management.Automation;
using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Completion;

namespace ProtoRpc;

[Cmdlet(VerbsLifecycle.Register, "RpcEndpoint", SupportsShouldProcess = true)]
[OutputType(typeof(RpcNamedEndpoint))]
public sealed class RegisterRpcEndpointCommand : RpcCmdlet
{
    private static readonly string[] NotEmpty =
    [
        nameof(ServicePrincipalName), nameof(ServerUser), nameof(CACertificate), nameof(ClientCertificate),
        nameof(ServerName), nameof(Format),
    ];

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

    [Parameter(ValueFromPipelineByPropertyName = true)]
    [EmptyCell]
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

    [Parameter(ValueFromPipelineByPropertyName = true)]
    [EmptyCell]
    public RpcMechanism? Mechanism { get; set; }

    [Parameter(ValueFromPipelineByPropertyName = true)]
    [EmptyCell]
    [OptionalLevel]
    [ArgumentCompletions("Connect", "Packet", "Integrity", "Privacy")]
    public RpcProtectionLevel? ProtectionLevel { get; set; }

    [Parameter(ValueFromPipelineByPropertyName = true)]
    [ArgumentCompleter(typeof(PrincipalCompleter))]
    public string? ServicePrincipalName { get; set; }

    [Parameter(ValueFromPipelineByPropertyName = true)]
    public string? ServerUser { get; set; }

    [Parameter(ValueFromPipelineByPropertyName = true)]
    [SwitchCell]
    public SwitchParameter Tls { get; set; }

    [Parameter(ValueFromPipelineByPropertyName = true)]
    [EmptyCell]
    public string[]? CACertificate { get; set; }

    [Parameter(ValueFromPipelineByPropertyName = true)]
    [ArgumentCompleter(typeof(CertificateCompleter))]
    public string? ClientCertificate { get; set; }

    [Parameter(ValueFromPipelineByPropertyName = true)]
    [ArgumentCompleter(typeof(HostCompleter))]
    public string? ServerName { get; set; }

    [Parameter(ValueFromPipelineByPropertyName = true)]
    [OptionalFormat]
    [ArgumentCompleter(typeof(HttpFormatCompleter))]
    public string? Format { get; set; }

    [Parameter(ValueFromPipelineByPropertyName = true)]
    [EmptyCell]
    public RpcCompression? Compression { get; set; }

    [Parameter(ValueFromPipelineByPropertyName = true)]
    [EmptyCell]
    [OptionalRange(0, 100)]
    public int? RetryCount { get; set; }

    [Parameter]
    public SwitchParameter Force { get; set; }

    [Parameter]
    public SwitchParameter PassThru { get; set; }

    // Before the first pipeline object, only the parameters of the command line are bound. A variable that is
    // unset there would otherwise drop an option, such as the certificates to trust.
    protected override void Begin()
    {
        foreach (string name in NotEmpty)
        {
            if (MyInvocation.BoundParameters.TryGetValue(name, out object? value)
                && value is (null or ""))
            {
                Fail(new RpcException(
                    RpcStatusCode.InvalidArgument, RpcErrorIds.ParameterNotSupported,
                    $"-{name} has no value."));
            }
        }
    }

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
        ServicePrincipalName = OrNull(ServicePrincipalName),
        ServerUser = OrNull(ServerUser),
        Tls = Tls,
        CACertificate = [.. Texts(CACertificate).Select(CertificatePath)],
        ClientCertificate = OrNull(ClientCertificate) is { } path ? CertificatePath(path) : null,
        ServerName = OrNull(ServerName),
        Format = OrNull(Format),
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

[Cmdlet(VerbsCommon.Get, "RpcEndpoint")]
[OutputType(typeof(RpcNamedEndpoint))]
public sealed class GetRpcEndpointCommand : RpcCmdlet
{
    [Parameter(Position = 0, ValueFromPipeline = true)]
    [ValidateNotNullOrEmpty]
    [SupportsWildcards]
    [ArgumentCompleter(typeof(EndpointNameCompleter))]
    public string[] Name { get; set; } = ["*"];

    [Parameter]
    [ValidateNotNullOrEmpty]
    [SupportsWildcards]
    [ArgumentCompleter(typeof(TagCompleter))]
    public string? Tag { get; set; }

    protected override void Process()
    {
        RpcEndpointRegistry registry = RpcEndpointRegistry.OfUser;
        foreach (string name in Name)
        {
            Guard(name, () => Write(registry, name));
        }
    }

    private void Write(RpcEndpointRegistry registry, string name)
    {
        IReadOnlyList<RpcNamedEndpoint> found = registry.Find(name, Tag);
        if (found.Count == 0 && Tag is null && !WildcardPattern.ContainsWildcardCharacters(name))
        {
            WriteError(RpcErrors.ToRecord(registry.NotFound(name), name));
        }

        WriteObject(found, enumerateCollection: true);
    }
}

[Cmdlet(VerbsLifecycle.Unregister, "RpcEndpoint", SupportsShouldProcess = true)]
public sealed class UnregisterRpcEndpointCommand : RpcCmdlet
{
    [Parameter(Mandatory = true, Position = 0, ValueFromPipeline = true)]
    [ValidateNotNullOrEmpty]
    [SupportsWildcards]
    [ArgumentCompleter(typeof(EndpointNameCompleter))]
    public string[] Name { get; set; } = [];

    protected override void Process()
    {
        RpcEndpointRegistry registry = RpcEndpointRegistry.OfUser;
        foreach (string name in Name)
        {
            Guard(name, () => Remove(registry, name));
        }
    }

    private void Remove(RpcEndpointRegistry registry, string name)
    {
        IReadOnlyList<RpcNamedEndpoint> found = registry.Find(name);
        if (found.Count == 0 && !WildcardPattern.ContainsWildcardCharacters(name))
        {
            WriteError(RpcErrors.ToRecord(registry.NotFound(name), name));
        }

        foreach (RpcNamedEndpoint endpoint in found)
        {
            if (ShouldProcess($"'{endpoint.Name}' in '{registry.Path}'", "Unregister"))
            {
                registry.Unregister(endpoint.Name);
            }
        }
    }
}

/// <summary>Offers the formats of messages that HTTP endpoints accept.</summary>
internal sealed class HttpFormatCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) => MessageFormats.OfHttp
        .Select(format => new Candidate(format.Name, format.MediaTypes[0]));
}

/// <summary>Offers references to secrets in environment variables. Never reads their values.</summary>
internal sealed class SecretCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) => Environment
        .GetEnvironmentVariables().Keys.Cast<string>()
        .Order(StringComparer.OrdinalIgnoreCase)
        .Select(name => new Candidate($"env:{name}", $"The environment variable {name}"));
}

/// <summary>Offers the tags of registered endpoints.</summary>
internal sealed class TagCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) =>
        RpcEndpointRegistry.OfUser.Read()
            .SelectMany(endpoint => endpoint.Tag.Select(tag => (Tag: tag, endpoint.Name)))
            .GroupBy(pair => pair.Tag, pair => pair.Name, StringComparer.OrdinalIgnoreCase)
            .Select(tag => new Candidate(tag.Key, string.Join(", ", tag)));
}

using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Completion;

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
    [SchemaList]
    [ArgumentCompleter(typeof(SchemaFileCompleter))]
    public RpcSchemaSource? Schema { get; set; }

    [Parameter(ValueFromPipelineByPropertyName = true)]
    [ArgumentCompleter(typeof(ServiceCompleter))]
    public string? Service { get; set; }

    [Parameter(ValueFromPipelineByPropertyName = true)]
    [EmptyCell]
    [ArgumentCompleter(typeof(TagCompleter))]
    public string[]? Tag { get; set; }

    // A parameter of the command line is not bound from the pipeline, so rows have their own.
    [Parameter(ValueFromPipeline = true)]
    [ConnectionOptionTable(TakesRows = true, IsStored = true)]
    public RpcConnectionOption? Row { get; set; }

    [Parameter]
    [ValidateNotNull]
    [ConnectionOptionTable(IsStored = true)]
    [ArgumentCompleter(typeof(ConnectionOptionCompleter))]
    public RpcConnectionOption? ConnectionOption { get; set; }

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

    private RpcNamedEndpoint Create()
    {
        RpcConnectionOption option = (Row ?? new()).WithGiven(ConnectionOption ?? new());
        if (option.Given.Except(OptionTableAttribute.Stored, StringComparer.OrdinalIgnoreCase)
            .FirstOrDefault() is { } other)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.ParameterNotSupported,
                $"{other} of -{nameof(ConnectionOption)} is not stored with a name. Give it when you "
                + $"connect: Connect-RpcEndpoint {Name} -{nameof(ConnectionOption)} @{{ {other} = ... }}.");
        }

        return new RpcNamedEndpoint(Name, RpcEndpoint.Parse(Endpoint))
        {
            Schema = [.. PathsOf(Schema).Select(FullPath)],
            Service = OrNull(Service) ?? option.Service,
            InterfaceId = option.InterfaceId,
            Tag = [.. Texts(Tag)],
            Authentication = option.Find<RpcClientAuthentication>(nameof(option.Authentication)),
            UserName = option.UserName,
            Credential = ReferenceOf(nameof(option.Credential), option.Credential?.Reference, option),
            Token = ReferenceOf(nameof(option.Token), option.Token?.Reference, option),
            Mechanism = option.Find<RpcMechanism>(nameof(option.Mechanism)),
            ProtectionLevel = option.Find<RpcProtectionLevel>(nameof(option.ProtectionLevel)),
            ServicePrincipalName = option.ServicePrincipalName,
            ServerUser = option.ServerUser,
            Tls = option.Tls,
            CACertificate = [.. option.CACertificate.Select(PathOf)],
            ClientCertificate = option.ClientCertificate is { } certificate ? PathOf(certificate) : null,
            ServerName = option.ServerName,
            Format = option.IsGiven(nameof(option.Format)) ? option.Format : null,
            Compression = option.Find<RpcCompression>(nameof(option.Compression)),
            Retry = option.Retry,
            HttpGet = option.HttpGet,
        };
    }

    // An object of New-RpcConnectionOption may have the secret itself.
    private static string? ReferenceOf(string name, SecretReference? reference, RpcConnectionOption option) =>
        reference is null && option.IsGiven(name)
            ? throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.PlainSecret,
                $"{name} is a secret, which is never written to a file. Store it with Set-Secret or in an "
                + $"environment variable, and give its reference: {SecretReference.Forms}.")
            : reference?.ToString();

    // Import-Csv returns an empty text for an empty cell.
    private static string? OrNull(string? text) => string.IsNullOrEmpty(text) ? null : text;

    private static IEnumerable<string> Texts(string[]? texts) =>
        (texts ?? []).Where(text => !string.IsNullOrEmpty(text));

    private static IEnumerable<string> PathsOf(RpcSchemaSource? source) =>
        source is { Schema: null, Import: null } or null
            ? Texts([.. source?.Paths ?? []]).Select(WildcardPattern.Unescape)
            : throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidSchemaSource,
                "A named endpoint stores the paths and addresses of its schema, not the schema itself. Give "
                + "paths.");

    // Paths are stored in full, because the name is also used from other locations.
    private string FullPath(string path) =>
        RpcSchemaLoader.IsAddress(path) ? path : ResolveLiteral(path);

    private string PathOf(RpcCertificateSource source) => source.Text is not { Length: > 0 } text
        ? throw new RpcException(
            RpcStatusCode.InvalidArgument, RpcErrorIds.ParameterNotSupported,
            "A certificate is stored by the path of its file or by its thumbprint. Give one of them.")
        : RpcCertificateSource.IsThumbprint(text) ? text : ResolveLiteral(text);
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

/// <summary>Offers the tags of registered endpoints.</summary>
internal sealed class TagCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) =>
        RpcEndpointRegistry.OfUser.Read()
            .SelectMany(endpoint => endpoint.Tag.Select(tag => (Tag: tag, endpoint.Name)))
            .GroupBy(pair => pair.Tag, pair => pair.Name, StringComparer.OrdinalIgnoreCase)
            .Select(tag => new Candidate(tag.Key, string.Join(", ", tag)));
}

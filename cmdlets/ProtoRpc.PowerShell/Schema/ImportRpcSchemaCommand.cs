using System.Management.Automation;

namespace ProtoRpc;

[Cmdlet(VerbsData.Import, "RpcSchema", DefaultParameterSetName = ByPath)]
[OutputType(typeof(RpcSchema))]
public sealed class ImportRpcSchemaCommand : RpcConnectingCommand
{
    private const string ByPath = "Path";
    private const string ByLiteralPath = "LiteralPath";
    private const string ByEndpoint = "Endpoint";

    private readonly List<string> _files = [];

    [Parameter(Mandatory = true, Position = 0, ValueFromPipeline = true, ParameterSetName = ByPath)]
    [ValidateNotNullOrEmpty]
    [SupportsWildcards]
    public string[] Path { get; set; } = [];

    [Parameter(Mandatory = true, ValueFromPipelineByPropertyName = true, ParameterSetName = ByLiteralPath)]
    [ValidateNotNullOrEmpty]
    [Alias("PSPath", "FullName")]
    public string[] LiteralPath { get; set; } = [];

    [Parameter(Mandatory = true, ParameterSetName = ByEndpoint)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(EndpointCompleter))]
    public string Endpoint { get; set; } = "";

    [Parameter(ParameterSetName = ByPath)]
    [Parameter(ParameterSetName = ByLiteralPath)]
    [ValidateNotNullOrEmpty]
    public string[] ImportPath { get; set; } = [];

    protected override void Process()
    {
        if (ParameterSetName == ByEndpoint)
        {
            Guard(Endpoint, Fetch);
            return;
        }

        foreach (string path in ParameterSetName == ByPath
            ? Path
            : LiteralPath.Select(WildcardPattern.Escape))
        {
            if (AddressOf(path) is { } address)
            {
                Guard(path, () => Write(Load(address)));
            }
            else
            {
                Guard(path, () =>
                {
                    CheckFile(path);
                    _files.AddRange(ResolveFiles([path]));
                });
            }
        }
    }

    // All files make one schema, so that they may import each other.
    protected override void End()
    {
        if (_files.Count == 0)
        {
            return;
        }

        Write(RpcSchema.Load(_files.Distinct(), ResolveFiles(ImportPath)));
    }

    private void Fetch()
    {
        RpcEndpoint endpoint = RpcEndpoint.Parse(Endpoint);
        CheckParameters(endpoint, [endpoint]);
        using RpcClient client = RpcClient.Connect(endpoint, null, CreateOptions(), Cancellation);
        Write(client.FetchSchema(null, Cancellation));
    }

    private RpcSchema Load(Uri address)
    {
        RpcEndpoint endpoint = RpcEndpoint.Parse(address.GetLeftPart(UriPartial.Authority));
        CheckParameters(endpoint, [endpoint]);
        return RpcHttpSchema.Load(address, CreateOptions(), Cancellation);
    }

    private static Uri? AddressOf(string path) =>
        Uri.TryCreate(path, UriKind.Absolute, out Uri? address) && address.Scheme is "http" or "https"
            ? address
            : null;

    // Beside an address, what is for the address is not for the file.
    private void CheckFile(string path)
    {
        if (GivenForConnecting.FirstOrDefault() is { } name
            && !Path.Any(other => AddressOf(other) is not null))
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"-{name} means nothing to the file '{path}'. It is for -Endpoint, and for paths that are "
                + "http:// or https:// addresses.")
            {
                ErrorId = RpcErrorIds.ParameterNotSupported,
            };
        }
    }

    private void Write(RpcSchema schema)
    {
        foreach (string warning in schema.Warnings)
        {
            WriteWarning(warning);
        }

        WriteObject(schema);
    }
}

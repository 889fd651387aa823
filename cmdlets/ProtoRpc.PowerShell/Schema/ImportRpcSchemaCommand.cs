using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Completion;

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
    [ArgumentCompleter(typeof(SchemaFileCompleter))]
    public string[] Path { get; set; } = [];

    [Parameter(Mandatory = true, ValueFromPipelineByPropertyName = true, ParameterSetName = ByLiteralPath)]
    [ValidateNotNullOrEmpty]
    [Alias("PSPath", "FullName")]
    [ArgumentCompleter(typeof(SchemaFileCompleter))]
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
            if (RpcSchemaLoader.IsAddress(Endpoint))
            {
                Guard(Endpoint, () => WriteObject(Fetch(Endpoint)));
                return;
            }

            foreach (EndpointTarget target in EndpointTarget.Find([Endpoint]))
            {
                Guard(target.Name, () => WriteObject(Fetch(target)));
            }

            return;
        }

        bool isLiteral = ParameterSetName == ByLiteralPath;
        foreach (string path in isLiteral ? LiteralPath : Path)
        {
            if (RpcSchemaLoader.IsAddress(path))
            {
                Guard(path, () => WriteObject(Fetch(path)));
            }
            else
            {
                Guard(path, () =>
                {
                    CheckFile(path);
                    _files.AddRange(LocateSchema(path, isLiteral));
                });
            }
        }
    }

    // All files form one schema, so that they can import each other.
    protected override void End()
    {
        if (_files.Count == 0)
        {
            return;
        }

        RpcSchema schema = RpcSchemaLoader.Load(
            _files.Distinct(),
            new RpcSchemaLoadOptions
            {
                ImportPaths = ResolveFiles(ImportPath),
                BaseFolder = Folder,
            },
            Cancellation);
        foreach (string warning in schema.Warnings)
        {
            WriteWarning(ParameterWording.Rename(warning));
        }

        WriteObject(schema);
    }

    // If a registered name has a schema, that schema is used.
    private RpcSchema Fetch(EndpointTarget target)
    {
        RpcEndpoint endpoint = target.Require();
        CheckParameters(target, [endpoint]);
        return NamedSchema(target) ?? LoadSchema([endpoint.ToString()]);
    }

    private RpcSchema Fetch(string address)
    {
        RpcEndpoint endpoint = RpcSchemaLoader.EndpointOf(address);
        CheckParameters(endpoint, [endpoint]);
        return LoadSchema([address]);
    }

    // With several sources, the parameters for addresses do not apply to files, and are ignored for them.
    private void CheckFile(string path)
    {
        if (ConnectionOption is not null && !Path.Any(RpcSchemaLoader.IsAddress))
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"-{nameof(ConnectionOption)} does not apply to the file '{path}', only to -Endpoint and to "
                + "paths that are endpoints or http:// addresses.")
            {
                ErrorId = RpcErrorIds.ParameterNotSupported,
            };
        }
    }

    // The schema of a registered name may be on another host.
    private protected override RpcClientOptions SchemaOptionsOf(RpcEndpoint endpoint) =>
        SchemaOptionsFor(endpoint, [endpoint]);
}

using System.Collections;
using System.Management.Automation;
using ProtoRpc.Calls;
using ProtoRpc.Calls.Http;
using ProtoRpc.Schema;

namespace ProtoRpc.PowerShell;

[Cmdlet(VerbsData.Import, "RpcSchema", DefaultParameterSetName = ByPath)]
[OutputType(typeof(RpcSchema))]
public sealed class ImportRpcSchemaCommand : RpcCmdlet
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

    [Parameter(ParameterSetName = ByEndpoint)]
    [ValidateNotNull]
    public IDictionary? Header { get; set; }

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

        foreach (string path in ParameterSetName == ByPath ? Path : LiteralPath.Select(WildcardPattern.Escape))
        {
            if (Uri.TryCreate(path, UriKind.Absolute, out Uri? address) && address.Scheme is "http" or "https")
            {
                Guard(path, () => Write(RpcHttpSchema.Load(address!, cancellation: Cancellation)));
            }
            else
            {
                _files.AddRange(ResolveFiles([path]));
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
        RpcClientOptions options = new() { Headers = HeaderMapping.ToMetadata(Header) };
        using RpcClient client = RpcClient.Connect(RpcEndpoint.Parse(Endpoint), null, options, Cancellation);
        Write(client.FetchSchema(Cancellation));
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

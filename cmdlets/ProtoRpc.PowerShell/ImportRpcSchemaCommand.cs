using System.Management.Automation;
using ProtoRpc.Schema;

namespace ProtoRpc.PowerShell;

[Cmdlet(VerbsData.Import, "RpcSchema", DefaultParameterSetName = ByPath)]
[OutputType(typeof(RpcSchema))]
public sealed class ImportRpcSchemaCommand : RpcCmdlet
{
    private const string ByPath = "Path";
    private const string ByLiteralPath = "LiteralPath";

    private readonly List<string> _files = [];

    [Parameter(Mandatory = true, Position = 0, ValueFromPipeline = true, ParameterSetName = ByPath)]
    [ValidateNotNullOrEmpty]
    [SupportsWildcards]
    public string[] Path { get; set; } = [];

    [Parameter(Mandatory = true, ValueFromPipelineByPropertyName = true, ParameterSetName = ByLiteralPath)]
    [ValidateNotNullOrEmpty]
    [Alias("PSPath", "FullName")]
    public string[] LiteralPath { get; set; } = [];

    [Parameter]
    [ValidateNotNullOrEmpty]
    public string[] ImportPath { get; set; } = [];

    protected override void Process() => _files.AddRange(
        ResolveFiles(ParameterSetName == ByPath ? Path : LiteralPath.Select(WildcardPattern.Escape)));

    // All files make one schema, so that they may import each other.
    protected override void End()
    {
        if (_files.Count == 0)
        {
            return;
        }

        RpcSchema schema = RpcSchema.Load(_files.Distinct(), ResolveFiles(ImportPath));
        foreach (string warning in schema.Warnings)
        {
            WriteWarning(warning);
        }

        WriteObject(schema);
    }
}

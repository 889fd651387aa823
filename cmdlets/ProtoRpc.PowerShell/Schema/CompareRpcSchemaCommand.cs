using ProtoRpc.PowerShell.Completion;

namespace ProtoRpc;

[Cmdlet(VerbsData.Compare, "RpcSchema")]
[OutputType(typeof(RpcBreakingChange))]
public sealed class CompareRpcSchemaCommand : RpcCmdlet
{
    private RpcSchema? _reference;

    [Parameter(Mandatory = true, Position = 0)]
    [SchemaList]
    [ArgumentCompleter(typeof(SchemaFileCompleter))]
    public RpcSchemaSource? ReferenceSchema { get; set; }

    [Parameter(Mandatory = true, Position = 1, ValueFromPipeline = true)]
    [SchemaList]
    [ArgumentCompleter(typeof(SchemaFileCompleter))]
    public RpcSchemaSource? DifferenceSchema { get; set; }

    [Parameter]
    [ValidateNotNullOrEmpty]
    [ValidateSet(
        nameof(RpcBreakingCategory.Wire), nameof(RpcBreakingCategory.Json),
        nameof(RpcBreakingCategory.Source), nameof(RpcBreakingCategory.File))]
    public RpcBreakingCategory[] Category { get; set; } = [RpcSchemaComparisonOptions.DefaultCategory];

    [Parameter]
    [SupportsWildcards]
    [ValidateNotNullOrEmpty]
    public string[] Exclude { get; set; } = [];

    // Resolved before any input, so that a wrong reference is an error even without input.
    protected override void Begin() => _reference = Resolve(ReferenceSchema!);

    protected override void Process()
    {
        RpcSchemaComparisonOptions options = new()
        {
            Category = Category.Aggregate(RpcBreakingCategory.None, static (all, one) => all | one),
            Exclude = Exclude,
        };
        WriteObject(
            RpcSchemaComparison.Compare(_reference!, Resolve(DifferenceSchema!), options),
            enumerateCollection: true);
    }
}

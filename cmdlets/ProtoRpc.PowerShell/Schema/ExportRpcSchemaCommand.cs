using System.Text;
using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Completion;
using ProtoRpc.PowerShell.Connections;

namespace ProtoRpc;

[Cmdlet(
    VerbsData.Export, "RpcSchema", SupportsShouldProcess = true, DefaultParameterSetName = ByConnection)]
public sealed class ExportRpcSchemaCommand : RpcCmdlet
{
    private const string ByConnection = "Connection";
    private const string DescriptorSet = "DescriptorSet";
    private const string OpenApi = "OpenApi";
    private const string Proto = "Proto";
    private const string BySchema = "Schema";

    [Parameter(Mandatory = true, Position = 0)]
    [ValidateNotNullOrEmpty]
    public string Path { get; set; } = "";

    [Parameter(ValueFromPipeline = true, ParameterSetName = ByConnection)]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(ConnectionCompleter))]
    public RpcConnection? Connection { get; set; }

    [Parameter(Mandatory = true, Position = 1, ValueFromPipeline = true, ParameterSetName = BySchema)]
    [SchemaList]
    [ArgumentCompleter(typeof(SchemaFileCompleter))]
    public RpcSchemaSource? Schema { get; set; }

    [Parameter]
    [ValidateSet(DescriptorSet, OpenApi, Proto)]
    public string? Format { get; set; }

    [Parameter]
    public SwitchParameter Force { get; set; }

    private bool IsProto => Is(Proto);

    private bool IsOpenApi => Format is null ? RpcOpenApi.IsFileName(Path) : Is(OpenApi);

    protected override void Process()
    {
        RpcSchema schema = FindSchema();
        string target = ResolveLiteral(Path);
        string action = IsProto ? "Write .proto files in this folder"
            : IsOpenApi ? "Write an OpenAPI document"
            : "Write a descriptor set";
        if (ShouldProcess(target, action))
        {
            Export(schema, target);
        }
    }

    private bool Is(string format) => format.Equals(Format, StringComparison.OrdinalIgnoreCase);

    private RpcSchema FindSchema()
    {
        if (Schema is not null)
        {
            return Resolve(Schema);
        }

        RpcConnection connection = RunspaceStore.Current.Resolve(Connection, "-Schema");
        return connection.Schema ?? throw RpcErrors.NoSchema(connection);
    }

    private void Export(RpcSchema schema, string target)
    {
        try
        {
            if (IsProto)
            {
                ExportProto(schema, target);
            }
            else if (IsOpenApi)
            {
                ExportOpenApi(schema, target);
            }
            else
            {
                ExportDescriptorSet(schema, target);
            }
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw new RpcException(
                RpcStatusCode.PermissionDenied, RpcErrorIds.CannotWriteFile,
                $"Cannot write '{target}': {FileProblem.Describe(e, target)}.", e);
        }
    }

    private void ExportDescriptorSet(RpcSchema schema, string path)
    {
        if (path.EndsWith(".proto", StringComparison.OrdinalIgnoreCase))
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.WrongFileEnding,
                $"A descriptor set is binary, but '{path}' has the ending of a text file. Use the ending "
                + ".pb, or -Format Proto with a folder.");
        }

        WriteFile(path, schema.ToDescriptorSet(), "a descriptor set is one file", "schema.pb");
        if (System.IO.Path.GetExtension(path).Length == 0)
        {
            WriteWarning(
                $"'{path}' is a descriptor set, a binary file. Name it .pb so that Import-RpcSchema reads "
                + "it, or use -Format Proto to write .proto files in a folder.");
        }
    }

    private void ExportOpenApi(RpcSchema schema, string path)
    {
        string text = RpcOpenApi.Write(schema.ServedServices);
        WriteFile(path, Encoding.UTF8.GetBytes(text), "an OpenAPI document is one file", "api.openapi.json");
    }

    private void WriteFile(string path, byte[] bytes, string what, string example)
    {
        if (Directory.Exists(path))
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.PathIsFolder,
                $"'{path}' is a folder, and {what}. Name a file such as {example}, or use -Format Proto to "
                + "write .proto files in the folder.");
        }

        RequireNew(path, Force);
        Directory.CreateDirectory(System.IO.Path.GetDirectoryName(path)!);
        File.WriteAllBytes(path, bytes);
    }

    // Importers name a .proto by its path, so the files are written below one folder.
    private void ExportProto(RpcSchema schema, string folder)
    {
        foreach ((string name, _) in schema.ToProtoTexts())
        {
            RequireNew(System.IO.Path.Combine(folder, name), Force);
        }

        schema.WriteProtoFiles(folder);
    }
}

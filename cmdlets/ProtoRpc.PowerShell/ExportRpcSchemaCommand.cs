using System.Management.Automation;
using ProtoRpc.Schema;

namespace ProtoRpc.PowerShell;

[Cmdlet(VerbsData.Export, "RpcSchema", SupportsShouldProcess = true)]
[OutputType(typeof(FileInfo))]
public sealed class ExportRpcSchemaCommand : RpcCmdlet
{
    [Parameter(Mandatory = true, Position = 0)]
    [ValidateNotNullOrEmpty]
    public string Path { get; set; } = "";

    [Parameter(Mandatory = true, Position = 1, ValueFromPipeline = true)]
    public RpcSchemaSource Schema { get; set; } = null!;

    [Parameter]
    public RpcSchemaFormat As { get; set; }

    [Parameter]
    public SwitchParameter Force { get; set; }

    [Parameter]
    public SwitchParameter PassThru { get; set; }

    protected override void Process()
    {
        RpcSchema schema = Resolve(Schema);
        string target = GetUnresolvedProviderPathFromPSPath(Path);
        if (ShouldProcess(target, "Write the schema"))
        {
            Export(schema, target);
        }
    }

    private void Export(RpcSchema schema, string target)
    {
        try
        {
            IReadOnlyList<string> written = As == RpcSchemaFormat.Proto
                ? ExportProto(schema, target)
                : ExportDescriptorSet(schema, target);
            if (PassThru)
            {
                WriteObject(written.Select(path => new FileInfo(path)), enumerateCollection: true);
            }
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw new RpcException(RpcStatusCode.PermissionDenied, $"Cannot write '{target}': {e.Message}", e)
            {
                ErrorId = "CannotWriteFile",
            };
        }
    }

    private string[] ExportDescriptorSet(RpcSchema schema, string path)
    {
        if (path.EndsWith(".proto", StringComparison.OrdinalIgnoreCase))
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"A descriptor set in '{path}' would be taken for text. Name it .pb, or use -As Proto with a folder.")
            {
                ErrorId = "WrongFileEnding",
            };
        }

        RequireNew(path);
        Directory.CreateDirectory(System.IO.Path.GetDirectoryName(path)!);
        File.WriteAllBytes(path, schema.ToDescriptorSet());
        return [path];
    }

    // A .proto is found by the path that its importers write, so the files are laid out under one folder.
    private IReadOnlyList<string> ExportProto(RpcSchema schema, string folder)
    {
        foreach ((string name, _) in schema.ToProtoTexts())
        {
            RequireNew(System.IO.Path.Combine(folder, name));
        }

        return schema.WriteProtoFiles(folder);
    }

    private void RequireNew(string path)
    {
        if (File.Exists(path) && !Force)
        {
            throw new RpcException(RpcStatusCode.AlreadyExists, $"'{path}' exists. Use -Force to replace it.")
            {
                ErrorId = "FileExists",
            };
        }
    }
}

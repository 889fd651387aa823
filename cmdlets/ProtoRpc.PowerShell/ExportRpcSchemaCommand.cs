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
        if (As == RpcSchemaFormat.Proto)
        {
            ExportProto(schema, target);
        }
        else
        {
            WriteFile(target, schema.ToDescriptorSet());
        }
    }

    // A .proto is found by the path that its importers write, so the tree is laid out under one folder.
    private void ExportProto(RpcSchema schema, string folder)
    {
        throw new NotImplementedException($"{schema} {folder}");
    }

    private void WriteFile(string path, byte[] bytes)
    {
        if (!ShouldProcess(path, "Write the schema"))
        {
            return;
        }

        if (File.Exists(path) && !Force)
        {
            throw new RpcException(RpcStatusCode.AlreadyExists, $"'{path}' exists. Use -Force to replace it.")
            {
                ErrorId = "FileExists",
            };
        }

        try
        {
            Directory.CreateDirectory(System.IO.Path.GetDirectoryName(path)!);
            File.WriteAllBytes(path, bytes);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw new RpcException(RpcStatusCode.PermissionDenied, $"Cannot write '{path}': {e.Message}", e)
            {
                ErrorId = "CannotWriteFile",
            };
        }

        if (PassThru)
        {
            WriteObject(new FileInfo(path));
        }
    }
}

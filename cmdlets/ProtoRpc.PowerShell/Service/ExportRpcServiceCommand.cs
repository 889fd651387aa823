using System.Management.Automation;
using ProtoRpc.Commands;
using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Parameters;
using ProtoRpc.PowerShell.Service;

namespace ProtoRpc;

[Cmdlet(
    VerbsData.Export, "RpcService", SupportsShouldProcess = true, DefaultParameterSetName = BySchema)]
[OutputType(typeof(FileInfo))]
public sealed class ExportRpcServiceCommand : RpcCmdlet
{
    private const string ByConnection = "Connection";
    private const string BySchema = "Schema";
    private const int MaxNameLength = 100;

    [Parameter(Mandatory = true, Position = 0)]
    [ValidateNotNullOrEmpty]
    public string OutputModule { get; set; } = "";

    [Parameter(Mandatory = true, Position = 1, ValueFromPipeline = true, ParameterSetName = BySchema)]
    [SchemaList]
    public RpcSchemaSource? Schema { get; set; }

    [Parameter(Mandatory = true, ValueFromPipeline = true, ParameterSetName = ByConnection)]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(ConnectionCompleter))]
    public RpcConnection? Connection { get; set; }

    [Parameter]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(EndpointCompleter))]
    public string? Endpoint { get; set; }

    [Parameter]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(ServiceCompleter))]
    public string[] Service { get; set; } = [];

    [Parameter]
    [ValidateNotNullOrEmpty]
    public string Prefix { get; set; } = "";

    [Parameter]
    public SwitchParameter Force { get; set; }

    [Parameter]
    public SwitchParameter PassThru { get; set; }

    protected override void Process() => Guard(OutputModule, () =>
    {
        string folder = ResolveLiteral(OutputModule);
        string name = CheckedName(folder);
        string? endpoint = Endpoint is null ? null : EndpointTarget.FindOne(Endpoint).RequireText();
        RpcSchema schema = Schema is not null ? Resolve(Schema) : SchemaOf(Connection!);
        ServicePlan plan = ServicePlan.Create(
            schema, Service, Prefix, ModuleFolder.ConnectName(Prefix, name));
        if (NameWarning.Of(plan) is { } warning)
        {
            WriteWarning(warning);
        }

        Version version = MyInvocation.MyCommand.Module?.Version ?? new Version(0, 1, 0);
        if (ShouldProcess(folder, $"Write a module with {plan.Commands.Count} commands"))
        {
            Write(folder, new ModuleFolder(name, plan, endpoint, version).Files());
        }
    });

    private RpcSchema SchemaOf(RpcConnection connection) => connection.Schema
        ?? (connection.InterfaceId is null && connection.Endpoint.Has(EndpointFeatures.Reflection)
            ? connection.Client.FetchSchema(null, Cancellation)
            : throw RpcErrors.NoSchema(connection));

    // The shell finds a module by the name of its folder.
    private string CheckedName(string folder)
    {
        string name = System.IO.Path.GetFileName(System.IO.Path.TrimEndingDirectorySeparator(folder));
        bool isName = name.Length is > 0 and <= MaxNameLength && char.IsAsciiLetter(name[0])
            && name.All(c => char.IsAsciiLetterOrDigit(c) || c is '.' or '_' or '-');
        return isName ? name : throw new RpcException(
            RpcStatusCode.InvalidArgument,
            $"'{OutputModule}' cannot be the folder of a module: its last part, '{name}', becomes the "
            + $"module's name. Use up to {MaxNameLength} ASCII letters, digits, '.', '_' and '-', a letter "
            + "first.")
        {
            ErrorId = RpcErrorIds.InvalidModuleName,
        };
    }

    private void Write(string folder, IReadOnlyList<KeyValuePair<string, byte[]>> files)
    {
        try
        {
            Directory.CreateDirectory(folder);
            foreach ((string file, _) in files)
            {
                RequireNew(System.IO.Path.Combine(folder, file));
            }

            foreach ((string file, byte[] content) in files)
            {
                string path = System.IO.Path.Combine(folder, file);
                if (new FileInfo(path).LinkTarget is not null)
                {
                    // The link is replaced, and not what it leads to.
                    File.Delete(path);
                }

                File.WriteAllBytes(path, content);
                if (PassThru)
                {
                    WriteObject(new FileInfo(path));
                }
            }
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw new RpcException(
                RpcStatusCode.PermissionDenied, $"Cannot write '{folder}': {FileProblem.Of(e, folder)}.", e)
            {
                ErrorId = RpcErrorIds.CannotWriteFile,
            };
        }
    }

    private void RequireNew(string path)
    {
        // A link whose target is missing also exists.
        if ((File.Exists(path) || new FileInfo(path).LinkTarget is not null) && !Force)
        {
            throw new RpcException(RpcStatusCode.AlreadyExists, $"'{path}' exists. Use -Force to replace it.")
            {
                ErrorId = RpcErrorIds.FileExists,
            };
        }
    }
}

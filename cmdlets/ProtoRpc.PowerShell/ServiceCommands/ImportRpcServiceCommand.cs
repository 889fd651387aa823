using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Completion;
using ProtoRpc.PowerShell.Connections;
using ProtoRpc.PowerShell.ServiceCommands;
using ProtoRpc.ServiceCommands;

namespace ProtoRpc;

[Cmdlet(VerbsData.Import, "RpcService", DefaultParameterSetName = BySchema)]
[OutputType(typeof(PSModuleInfo))]
public sealed class ImportRpcServiceCommand : RpcConnectingCommand
{
    private const string ByEndpoint = "Endpoint";
    private const string ByConnection = "Connection";
    private const string BySchema = "Schema";

    private EndpointTarget? _target;

    [Parameter(Mandatory = true, Position = 0, ParameterSetName = ByEndpoint)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(EndpointCompleter))]
    public string Endpoint { get; set; } = "";

    [Parameter(Mandatory = true, ValueFromPipeline = true, ParameterSetName = ByConnection)]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(ConnectionCompleter))]
    public RpcConnection? Connection { get; set; }

    [Parameter(ParameterSetName = ByEndpoint)]
    [Parameter(ParameterSetName = ByConnection)]
    [Parameter(Mandatory = true, ParameterSetName = BySchema)]
    [SchemaList]
    [ArgumentCompleter(typeof(SchemaFileCompleter))]
    public RpcSchemaSource? Schema { get; set; }

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

    protected override void Process() => Guard(
        ParameterSetName == ByEndpoint ? Endpoint : Connection,
        () =>
        {
            if (ParameterSetName == ByEndpoint)
            {
                ImportEndpoint();
            }
            else
            {
                CheckNothingToConnect();
                RpcSchema schema = Schema is not null ? Resolve(Schema) : SchemaOf(Connection!);
                Import(schema, Connection, connect: null);
            }
        });

    private protected override RpcClientOptions SchemaOptionsOf(RpcEndpoint endpoint) =>
        SchemaOptionsFor(endpoint, ParameterSetName == ByEndpoint ? [Target.Require()] : [endpoint]);

    private void ImportEndpoint()
    {
        EndpointTarget target = Target;
        RpcEndpoint endpoint = target.Require();
        CheckParameters(target, [endpoint]);
        RpcSchema? schema = Schema is not null ? Resolve(Schema)
            : NamedSchema(target) is { } registered ? registered
            : !endpoint.Has(EndpointFeatures.Reflection) && RpcSchemaLoader.IsAddress(Endpoint)
                ? LoadSchema([Endpoint])
            : null;
        // Checked again, because reading the schema may have checked the settings for another server.
        CheckParameters(target, [endpoint]);
        RefuseCallContext();
        RpcClientOptions options = CreateOptions();
        RpcClient client = RpcClient.Connect(endpoint, schema, options, Cancellation);
        RpcConnection connection = new(RunspaceStore.Current.NextId(), client)
        {
            WaitsForReady = Option.WaitForReady,
        };
        try
        {
            RpcSchema known = schema ?? SchemaOf(connection);
            Import(
                known, connection, cancellation => RpcClient.Connect(endpoint, known, options, cancellation));
        }
        catch
        {
            connection.Dispose();
            throw;
        }

        RunspaceStore.Current.Add(connection);
    }

    // Looked up once, because the registry is a file. A pattern may match several names, but a module has the
    // commands of one server.
    private EndpointTarget Target => _target ??= EndpointTarget.FindOne(Endpoint);

    private RpcSchema SchemaOf(RpcConnection connection)
    {
        if (connection is not { Schema: null, InterfaceId: null }
            || !connection.Endpoint.Has(EndpointFeatures.Reflection))
        {
            return connection.Schema ?? throw NoSchema(connection);
        }

        RpcSchema schema = connection.Client.FetchSchema(null, Cancellation);
        foreach (string warning in schema.Warnings)
        {
            WriteWarning(warning);
        }

        return schema;
    }

    private static RpcException NoSchema(RpcConnection connection) => new(
        RpcStatusCode.FailedPrecondition, RpcErrorIds.NoSchema,
        $"'{connection}' does not publish its schema. Give the service's .proto files with -Schema.",
        connection.Endpoint);

    private void Import(
        RpcSchema schema, RpcConnection? connection, Func<CancellationToken, RpcClient>? connect)
    {
        string[] services = Service.Length > 0 ? Service
            : connection?.Service is { Length: > 0 } only ? [only]
            : [];
        ServicePlan plan = ServicePlan.Create(schema, services, Prefix);
        SessionModules session = new(this);
        PSModuleInfo? earlier = session.FindImported(plan.ModuleName);
        if (Force)
        {
            SessionModules.RequireOnly(plan.ModuleName, loading: earlier);
        }

        string[] names = [.. plan.Commands.Select(command => command.Name)];
        HashSet<string> left = Force ? [] : LeaveOthers(session.FindCommands(names, earlier));
        if (NameWarning.Create(plan) is { } warning)
        {
            WriteWarning(warning);
        }

        WarnOfWholeRequests(plan);

        // Everything that can fail is done first, so that a failure does not change the earlier module.
        RpcServiceModule service = new(plan, connection, connect);
        PSModuleInfo module;
        try
        {
            service.Prepare(WriteWarning);
            session.Remove(earlier);
            List<CommandInfo> hidden = Force ? session.FindCommands(names, except: null) : [];
            module = session.Import(service, left, hidden);
            WarnOfHidden(hidden);
        }
        catch
        {
            service.Dispose();
            throw;
        }

        WriteVerbose($"The module {module.Name} has {plan.Commands.Count - left.Count} commands.");
        if (PassThru)
        {
            WriteObject(module);
        }
    }

    private HashSet<string> LeaveOthers(List<CommandInfo> others)
    {
        if (others.Count > 0)
        {
            WriteWarning(
                (others.Count == 1
                    ? "1 command of the service is not imported, because a command with its name exists"
                    : $"{others.Count} commands of the service are not imported, because commands with their "
                    + "names exist")
                + $": {NamesOf(others)}. Use -Prefix to give other names, or -Force to import anyway.");
        }

        return new(others.Select(command => command.Name), StringComparer.OrdinalIgnoreCase);
    }

    private void WarnOfHidden(List<CommandInfo> hidden)
    {
        if (hidden.Count > 0)
        {
            WriteWarning(
                (hidden.Count == 1
                    ? "1 command of the service hides another command"
                    : $"{hidden.Count} commands of the service hide other commands")
                + $" until the module is removed: {NamesOf(hidden)}.");
        }
    }

    private static string NamesOf(List<CommandInfo> commands) =>
        string.Join(", ", commands.Take(10).Select(command =>
            command.ModuleName is { Length: > 0 } module ? $"{command.Name} ({module})" : command.Name))
        + (commands.Count > 10 ? ", ..." : "");

    private void WarnOfWholeRequests(ServicePlan plan)
    {
        List<ServiceCommand> whole = [.. plan.WithoutParameters];
        if (whole.Count > 0)
        {
            WriteWarning(
                $"{whole.Count} commands have no parameters for the fields of their requests, which are too "
                + $"many: {string.Join(", ", whole.Take(5).Select(command => command.Name))}"
                + $"{(whole.Count > 5 ? ", ..." : "")}. Pass the request as a hashtable with -InputObject.");
        }
    }

    private void CheckNothingToConnect()
    {
        if (ConnectionOption is not null)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.ParameterNotSupported,
                $"-{nameof(ConnectionOption)} does not apply to an open connection. "
                + "Give it to Connect-RpcEndpoint, or use -Endpoint.");
        }
    }
}

[Cmdlet(
    VerbsData.Export, "RpcService", SupportsShouldProcess = true, DefaultParameterSetName = BySchema)]
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
    [ArgumentCompleter(typeof(SchemaFileCompleter))]
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

    protected override void Process() => Guard(OutputModule, () =>
    {
        string folder = ResolveLiteral(OutputModule);
        string name = CheckedName(folder);
        string? endpoint = Endpoint is null ? null : EndpointTarget.FindOne(Endpoint).RequireText();
        RpcSchema schema = Schema is not null ? Resolve(Schema) : SchemaOf(Connection!);
        ServicePlan plan = ServicePlan.Create(
            schema, Service, Prefix, ModuleFolder.ConnectName(Prefix, name));
        if (NameWarning.Create(plan) is { } warning)
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

    // PowerShell finds a module by the name of its folder.
    private string CheckedName(string folder)
    {
        string name = System.IO.Path.GetFileName(System.IO.Path.TrimEndingDirectorySeparator(folder));
        bool isName = name.Length is > 0 and <= MaxNameLength && char.IsAsciiLetter(name[0])
            && name.All(c => char.IsAsciiLetterOrDigit(c) || c is '.' or '_' or '-');
        return isName ? name : throw new RpcException(
            RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidModuleName,
            $"'{OutputModule}' cannot be the folder of a module: its last part, '{name}', becomes the "
            + $"module's name. Use up to {MaxNameLength} ASCII letters, digits, '.', '_' and '-', a letter "
            + "first.");
    }

    private void Write(string folder, IReadOnlyList<KeyValuePair<string, byte[]>> files)
    {
        try
        {
            Directory.CreateDirectory(folder);
            foreach ((string file, _) in files)
            {
                RequireNew(System.IO.Path.Combine(folder, file), Force);
            }

            foreach ((string file, byte[] content) in files)
            {
                string path = System.IO.Path.Combine(folder, file);
                if (new FileInfo(path).LinkTarget is not null)
                {
                    // A link is replaced, not its target.
                    File.Delete(path);
                }

                File.WriteAllBytes(path, content);
            }
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw new RpcException(
                RpcStatusCode.PermissionDenied, RpcErrorIds.CannotWriteFile,
                $"Cannot write '{folder}': {FileProblem.Describe(e, folder)}.", e);
        }
    }
}

/// <summary>The warning of Import-RpcService and Export-RpcService about commands that got a longer
/// name.</summary>
internal static class NameWarning
{
    private const int MaxNames = 10;

    /// <summary>The text; null if no command got a longer name.</summary>
    public static string? Create(ServicePlan plan)
    {
        string[] names = [.. plan.Renamed.Select(pair => $"{pair.Command.Name} (not {pair.Shorter})")];
        return names.Length == 0
            ? null
            : (names.Length == 1
                ? "1 command has a longer name"
                : $"{names.Length} commands have longer names")
                + ", because PowerShell or ProtoRpc has a command with the shorter name: "
                + $"{string.Join(", ", names.Take(MaxNames))}{(names.Length > MaxNames ? ", ..." : "")}. "
                + "Use -Prefix to give other names.";
    }
}

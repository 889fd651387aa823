using System.Collections.ObjectModel;
using System.Management.Automation;
using ProtoRpc.Commands;
using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Service;

namespace ProtoRpc;

// The module of a folder, which Export-RpcService made: it is imported without a connection, and connects
// when it is told to, or by its first call where it has an endpoint.
public sealed partial class RpcServiceModule
{
    // The module says what is called; the others say how to connect.
    private static readonly HashSet<string> NotOfModule = new(StringComparer.OrdinalIgnoreCase)
    {
        "Endpoint", "Listener", "Schema", "Service", "InterfaceId", "Lazy", "Reflection",
    };

    /// <summary>Reads the schema of a module's folder, and gives the module its commands; the module's script
    /// uses it.</summary>
    /// <param name="module">The module.</param>
    /// <param name="path">The descriptor set.</param>
    /// <param name="services">The services.</param>
    /// <param name="prefix">What each noun begins with.</param>
    /// <param name="connectName">The command that connects.</param>
    /// <param name="endpoint">Where the first call connects to, an endpoint or a registered name; null for
    /// nowhere.</param>
    /// <exception cref="RpcException">The file is missing, or not what was exported; or
    /// FailedPrecondition: another module of this name is loaded.</exception>
    public static RpcServiceModule Load(
        PSModuleInfo module, string path, string[] services, string prefix, string connectName,
        string? endpoint)
    {
        ArgumentNullException.ThrowIfNull(module);
        SessionModules.RequireOnly(module.Name, loading: module);
        RpcSchema schema = RpcSchemaLoader.Load([path], new RpcSchemaLoadOptions());
        ServicePlan plan = ServicePlan.Create(schema, services, prefix, connectName);
        RpcServiceModule service = new(plan, connection: null, connect: null)
        {
            _endpoint = string.IsNullOrEmpty(endpoint) ? null : endpoint,
            _connectName = connectName,
        };
        IReadOnlyList<CmdletInfo> cmdlets = PublishedCommands.Make(
            plan.Commands, ModuleFolder.HelpPath(Path.GetDirectoryName(path)!, module.Name));
        Modules.Add(module, service);
        PublishedCommands.Add(module, cmdlets);
        return service;
    }

    /// <summary>The parameters of Connect-RpcEndpoint that the module's command for connecting
    /// takes.</summary>
    /// <param name="command">The command.</param>
    public RuntimeDefinedParameterDictionary ConnectParameters(PSCmdlet command)
    {
        ArgumentNullException.ThrowIfNull(command);
        RuntimeDefinedParameterDictionary parameters = [];
        CommandInfo connect =
            command.InvokeCommand.GetCommand(@"ProtoRpc\Connect-RpcEndpoint", CommandTypes.Cmdlet);
        foreach (ParameterMetadata parameter in connect.Parameters.Values)
        {
            if (!NotOfModule.Contains(parameter.Name) && !Cmdlet.CommonParameters.Contains(parameter.Name))
            {
                // Of one parameter set, whatever sets the cmdlet has.
                Collection<Attribute> attributes =
                [
                    .. parameter.Attributes.Where(attribute => attribute is not ParameterAttribute),
                    new ParameterAttribute(),
                ];
                parameters.Add(
                    parameter.Name, new(parameter.Name, parameter.ParameterType, attributes));
            }
        }

        return parameters;
    }

    /// <summary>Connects the commands of the module, and closes the connection that it opened
    /// before.</summary>
    /// <param name="command">The command for connecting.</param>
    /// <param name="bound">Its parameters, those of Connect-RpcEndpoint among them.</param>
    /// <returns>The connection.</returns>
    public RpcConnection Connect(PSCmdlet command, IDictionary<string, object?> bound)
    {
        ArgumentNullException.ThrowIfNull(command);
        ArgumentNullException.ThrowIfNull(bound);
        using System.Management.Automation.PowerShell shell = ConnectShell();
        foreach ((string name, object? value) in bound)
        {
            // The shell also binds the common parameters, and ErrorAction is set below.
            if (name is not ("PassThru" or "ErrorAction" or "Endpoint"))
            {
                shell.AddParameter(name, value);
            }
        }

        RpcConnection connection;
        try
        {
            string? endpoint = bound.TryGetValue("Endpoint", out object? given) ? (string)given! : _endpoint;
            if (endpoint is not null)
            {
                // A pattern of several names would open several connections.
                shell.AddParameter("Endpoint", EndpointTarget.FindOne(endpoint).RequireText());
            }

            connection = shell.Invoke<RpcConnection>()[0];
        }
        catch (RpcException e)
        {
            command.ThrowTerminatingError(RpcErrors.ToRecord(e, null));
            throw;
        }
        catch (RuntimeException e)
        {
            command.ThrowTerminatingError(e.ErrorRecord);
            throw;
        }

        lock (_gate)
        {
            if (_isOwn)
            {
                _connection?.Dispose();
            }

            _connection = connection;
            _isOwn = true;
            _isChosen = true;
        }

        return connection;
    }

    // The registration of a name has the options for connecting, and references to secrets.
    private RpcConnection ConnectNamed()
    {
        using System.Management.Automation.PowerShell shell = ConnectShell();
        shell.AddParameter("Endpoint", EndpointTarget.FindOne(_endpoint!).RequireText());
        try
        {
            return shell.Invoke<RpcConnection>()[0];
        }
        catch (RuntimeException e) when (e.ErrorRecord.Exception is RpcException cause)
        {
            throw cause;
        }
    }

    // An error ends the command: without a connection there is nothing to go on with.
    private System.Management.Automation.PowerShell ConnectShell() =>
        System.Management.Automation.PowerShell.Create(RunspaceMode.CurrentRunspace)
            .AddCommand(@"ProtoRpc\Connect-RpcEndpoint")
            .AddParameter("Schema", Plan.Schema)
            .AddParameter("ErrorAction", ActionPreference.Stop);
}

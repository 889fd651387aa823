using System.Management.Automation;
using ProtoRpc.Calls;
using ProtoRpc.Schema;
using ProtoRpc.Security;

namespace ProtoRpc.PowerShell;

[Cmdlet(VerbsLifecycle.Start, "RpcListener", SupportsShouldProcess = true)]
[OutputType(typeof(RpcListener))]
public sealed class StartRpcListenerCommand : RpcCmdlet
{
    private const int MaxDefaultWorkers = 8;

    private RpcSchema? _schema;

    [Parameter(Mandatory = true)]
    public RpcSchemaSource Schema { get; set; } = null!;

    [Parameter]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(ServiceCompleter))]
    public string[] Service { get; set; } = [];

    [Parameter(Mandatory = true, Position = 0)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(EndpointCompleter))]
    public string[] Endpoint { get; set; } = [];

    [Parameter(Mandatory = true, Position = 1)]
    [ArgumentCompleter(typeof(HandlerCompleter))]
    public RpcHandlerSource Handler { get; set; } = null!;

    [Parameter]
    public Guid? InterfaceId { get; set; }

    [Parameter]
    [ValidateRange(1, 1024)]
    public int ThrottleLimit { get; set; } = Math.Min(MaxDefaultWorkers, 2 * Environment.ProcessorCount);

    [Parameter]
    [ValidateNotNullOrEmpty]
    public string[] Module { get; set; } = [];

    [Parameter]
    public ScriptBlock? InitializationScript { get; set; }

    [Parameter]
    public RpcAuthentication Authentication { get; set; } = RpcAuthentication.None;

    [Parameter]
    [ValidateSet("Connect", "Packet", "Integrity", "Privacy")]
    public RpcProtectionLevel ProtectionLevel { get; set; } = RpcProtectionLevel.Integrity;

    [Parameter]
    [ValidateNotNullOrEmpty]
    public string? ServicePrincipalName { get; set; }

    [Parameter]
    [ValidateNotNullOrEmpty]
    public NtlmAccountSource[] NtlmAccount { get; set; } = [];

    [Parameter]
    public RpcErrorDetail? ErrorDetail { get; set; }

    [Parameter]
    public RpcLimits Limits { get; set; } = RpcLimits.Default;

    protected override void Begin()
    {
        try
        {
            _schema = Resolve(Schema);
            Start(_schema);
        }
        catch (RpcException e)
        {
            // There is nothing to go on with.
            Fail(e);
        }
    }

    private void Start(RpcSchema schema)
    {
        RpcServer server = CreateServer(schema);
        if (!ShouldProcess(string.Join(", ", Endpoint), "Start a listener"))
        {
            return;
        }

        HandlerEnvironment environment = CreateEnvironment();
        Dictionary<RpcMethodInfo, ScriptSource> scripts = Handler.Resolve(server, environment);
        HandlerPool pool = new(
            environment, [.. scripts.Values.Distinct()], CreateStreams(), ThrottleLimit, Limits.MaxQueuedCalls);
        foreach ((RpcMethodInfo method, ScriptSource script) in scripts)
        {
            server.Handle(method.FullName, (context, request) => pool.HandleAsync(context, request, script));
        }

        try
        {
            pool.Start();
            server.StartListening();
        }
        catch (Exception e)
        {
            pool.Dispose();
            if (e is IContainsErrorRecord failed)
            {
                ThrowTerminatingError(failed.ErrorRecord);
            }

            throw;
        }

        RunspaceStore store = RunspaceStore.Current;
        RpcListener listener = new(store.NextId(), schema, server, pool);
        store.Add(listener);
        WriteObject(listener);
    }

    private RpcServer CreateServer(RpcSchema schema)
    {
        RpcEndpoint[] endpoints = [.. Endpoint.Select(RpcEndpoint.Parse)];
        RpcServerOptions options = HttpEndpoints.AddTo(
            new() { Limits = Limits, ErrorDetail = ErrorDetail, Security = CreateSecurity() }, endpoints);
        RpcServer server = RpcServer.Create(schema, Service.FirstOrDefault(), options, InterfaceId);
        foreach (string service in Service.Skip(1))
        {
            server.AddService(schema.GetService(service));
        }

        foreach (RpcEndpoint endpoint in endpoints)
        {
            server.AddEndpoint(endpoint);
        }

        return server;
    }

    private RpcServerSecurity CreateSecurity() => new()
    {
        Authentication = Authentication,
        MinimumLevel = ProtectionLevel,
        ServicePrincipalName = ServicePrincipalName,
        NtlmAccounts = [.. NtlmAccount.Select(source => source.Account)],
    };

    private HandlerEnvironment CreateEnvironment()
    {
        HandlerEnvironment environment = new(this);
        foreach (string name in new[] { "Information", "Verbose", "Warning", "Debug" })
        {
            environment.SetVariable($"{name}Preference", PreferenceOf(name));
        }

        foreach (string module in Module)
        {
            environment.AddModule(PathOfModule(module));
        }

        if (InitializationScript is not null)
        {
            environment.SetInitialization(InitializationScript);
        }

        return environment;
    }

    // A name is found on the module path by every worker; a path is relative to the caller's place.
    private string PathOfModule(string module) =>
        module.AsSpan().ContainsAny('/', '\\') || module.EndsWith(".psm1", StringComparison.OrdinalIgnoreCase)
            || module.EndsWith(".psd1", StringComparison.OrdinalIgnoreCase)
            ? GetUnresolvedProviderPathFromPSPath(module)
            : module;

    // The common parameters, given here, are the preferences of the handlers and show their records at once.
    private HandlerStreams CreateStreams()
    {
        bool information = Shows("Information");
        bool warning = Shows("Warning");
        bool verbose = Shows("Verbose");
        bool debug = Shows("Debug");
        return new HandlerStreams(Host, record => record switch
        {
            InformationRecord => information,
            WarningRecord => warning,
            VerboseRecord => verbose,
            DebugRecord => debug,
            _ => false,
        });
    }

    private bool Shows(string name) =>
        Given(name) is ActionPreference.Continue or ActionPreference.Inquire or ActionPreference.Stop;

    private ActionPreference PreferenceOf(string name) => Given(name)
        ?? LanguagePrimitives.ConvertTo<ActionPreference>(GetVariableValue($"{name}Preference"));

    private ActionPreference? Given(string name)
    {
        if (MyInvocation.BoundParameters.TryGetValue($"{name}Action", out object? action))
        {
            return LanguagePrimitives.ConvertTo<ActionPreference>(action);
        }

        return MyInvocation.BoundParameters.TryGetValue(name, out object? given)
            ? LanguagePrimitives.IsTrue(given) ? ActionPreference.Continue : ActionPreference.SilentlyContinue
            : null;
    }
}

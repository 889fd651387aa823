using System.Collections.Concurrent;
using ProtoRpc.Messages;
using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Completion;
using ProtoRpc.PowerShell.Connections;
using ProtoRpc.PowerShell.Handlers;
using ProtoRpc.PowerShell.Parameters;
using ProtoRpc.Protocols.Native;
using ProtoRpc.Transports;

namespace ProtoRpc;

[Cmdlet(
    VerbsLifecycle.Start, "RpcListener", DefaultParameterSetName = ByHandler, SupportsShouldProcess = true)]
[OutputType(typeof(RpcListener))]
public sealed class StartRpcListenerCommand : RpcHandlersCommand
{
    private const string ByHandler = "Handler";

    // For the syntax of the help. The shell always chooses the default set, because all parameters of this
    // set are also in the other one.
    private const string Raw = "Raw";

    private IDisposable? _accessLog;
    private ConcurrentQueue<string>? _ofStart = new();

    // The interceptors before the filters. They are kept when the filters are replaced.
    private IRpcInterceptor[] _outer = [];

    [Parameter(ParameterSetName = ByHandler)]
    [ValidateNotNull]
    [SchemaList]
    [ArgumentCompleter(typeof(SchemaFileCompleter))]
    public RpcSchemaSource? Schema { get; set; }

    [Parameter(ParameterSetName = ByHandler)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(ServiceCompleter))]
    public string[] Service { get; set; } = [];

    [Parameter(Mandatory = true, Position = 0)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(ListenerEndpointCompleter))]
    public string[] Endpoint { get; set; } = [];

    [Parameter(Mandatory = true, Position = 1)]
    [ArgumentCompleter(typeof(HandlerCompleter))]
    public RpcHandlerSource Handler { get; set; } = null!;

    [Parameter(ParameterSetName = ByHandler)]
    [ValidateNotNull]
    public ScriptBlock? Ping { get; set; }

    [Parameter(ParameterSetName = ByHandler)]
    [Parameter(Mandatory = true, ParameterSetName = Raw)]
    [ArgumentCompleter(typeof(InterfaceIdCompleter))]
    public Guid? InterfaceId { get; set; }

    [Parameter]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(AuthorizationCompleter))]
    public IDictionary? Authorization { get; set; }

    [Parameter]
    [ValidateNotNullOrEmpty]
    public ScriptBlock[] Filter { get; set; } = [];

    [Parameter]
    [LimitsTable]
    [ArgumentCompleter(typeof(LimitsCompleter))]
    public RpcLimits Limits { get; set; } = RpcLimits.Default;

    [Parameter]
    public RpcAuthentication Authentication { get; set; } = RpcAuthentication.None;

    [Parameter]
    public SwitchParameter Tls { get; set; }

    [Parameter]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(CertificateCompleter))]
    public RpcCertificateSource? Certificate { get; set; }

    [Parameter]
    [ValidateNotNull]
    public object? AccessLog { get; set; }

    protected override void Begin()
    {
        try
        {
            RequireImpersonation();
            if (IsRaw)
            {
                StartRaw();
            }
            else
            {
                StartServices();
            }
        }
        catch (RpcException e)
        {
            // A terminating error, because the script cannot continue without a listener.
            Fail(e);
        }
    }

    // A connection as the handler has a schema, and -InterfaceId is then the id of its service.
    private bool IsRaw => InterfaceId is not null && Schema is null && Handler.Connection is null;

    // If the listener has checks, anonymous callers must be allowed explicitly with None.
    private bool IsAuthenticationGiven => MyInvocation.BoundParameters.ContainsKey(nameof(Authentication));

    private void StartServices()
    {
        RpcSchema schema = ResolveSchema();
        RpcEndpoint[] endpoints = ParseEndpoints();
        CheckParameters(endpoints);
        HandlerEnvironment environment = CreateEnvironment();
        _outer = [.. CreateRecord(), .. CreateAuthorization()];
        HandlerPool pool = CreatePool(environment, Limits, hasFilters: Filter.Length > 0);
        HttpEndpoints http = CreateHttp(
            pool, new CheckScripts(BasicCheck, BearerCheck, CertificateCheck),
            allowAnonymous: IsAuthenticationGiven && Authentication.HasFlag(RpcAuthentication.None),
            AllowUnencrypted);
        RpcServerOptions options = CreateOptions(environment, pool);
        RpcServer server = CreateServer(schema, endpoints, http.AddTo(options, endpoints, environment));
        server.Completion.ContinueWith(
            _ =>
            {
                http.Dispose();
                _accessLog?.Dispose();
            },
            TaskScheduler.Default);
        _services = [.. server.Services.Select(service => service.Key)];
        foreach ((RpcMethodInfo method, RpcMethodHandler handler) in Handler.Resolve(
            _services, new HandlerValue(environment, pool, CreateGateway())))
        {
            server.Handle(method.FullName, handler);
        }

        Start(pool, server.StartListening, id => new RpcListener(id, schema, server, pool)
        {
            Authorization = _outer,
            Pings = Ping is null ? null : pool,
            Http = http,
            AddHttp = added => http.AddTo(options, added, environment),
        });
    }

    private RpcSchema ResolveSchema() => Schema is not null ? Resolve(Schema)
        : Handler.Connection is not { } connection ? throw new RpcException(
            RpcStatusCode.InvalidArgument, RpcErrorIds.NoSchema,
            "-Schema is missing. Give the .proto files of the services, or a connection with a schema as "
            + "-Handler. For a raw listener, give -InterfaceId.")
        : RpcGateway.ServicesOf(connection.Client)[0].Schema;

    private RpcEndpoint[] ParseEndpoints() => [.. Endpoint.Select(RpcEndpoint.Parse)];

    private void CheckParameters(RpcEndpoint[] endpoints)
    {
        ListenerSettings.CheckStart(Option, IsRaw);
        EndpointParameters.Check(
            Given, NameOf, [.. endpoints.Select(endpoint => new EndpointUse(endpoint, Tls, IsRaw))]);
        if (Tls && !endpoints.Any(endpoint => endpoint.Has(EndpointFeatures.OptionalTls)))
        {
            throw EndpointErrors.NoTls(endpoints[0]);
        }

        CheckNeeded(
            nameof(Option.ProtectionLevel),
            Authentication == RpcAuthentication.None ? "-Authentication, with more than None" : null);
        CheckNeeded(nameof(Option.CertificatePassword), Certificate is null ? "-Certificate" : null);
        CheckNeeded(nameof(Tls), Certificate is null ? "-Certificate" : null);
        CheckNeeded(nameof(Mask), Record is null ? "-Record" : null);
        string? forwarding = Handler.Forwards ? null : "-Handler, with a connection";
        CheckNeeded(nameof(Option.ForwardHeader), forwarding);
        CheckNeeded(nameof(Option.BlockHeader), forwarding);
    }

    private void RejectSchemaParameters()
    {
        if (MyInvocation.BoundParameters.Keys.FirstOrDefault(IsOfSchema) is not { } name)
        {
            return;
        }

        throw new RpcException(
            RpcStatusCode.InvalidArgument, RpcErrorIds.ParameterNotSupported,
            $"-{name} requires a schema, and a raw listener (-InterfaceId without -Schema) has none. Give "
            + "-Schema, "
            + (name is nameof(Record) or nameof(Mask)
                ? "or use -AccessLog to log calls without their contents."
                : $"or remove -{name}."));
    }

    private bool IsOfSchema(string name) => MyInvocation.MyCommand.Parameters[name].ParameterSets.Keys
        .All(set => set == ByHandler);

    private void StartRaw()
    {
        RejectSchemaParameters();
        ScriptBlock handler = Handler.RequireRaw();
        RpcEndpoint[] endpoints = ParseEndpoints();
        Array.ForEach(endpoints, RawEndpoints.RequireNative);
        CheckParameters(endpoints);
        HandlerEnvironment environment = CreateEnvironment();
        HandlerPool pool = CreatePool(environment, Limits, hasFilters: Filter.Length > 0);
        ScriptSource script = environment.Add(handler);
        pool.Scripts.Add(script);
        RpcRawServerOptions options = new()
        {
            Limits = Limits,
            Security = CreateSecurity(),
            Certificate = Certificate?.ReadWithKey(ResolveLiteral, Option.CertificatePassword),
            CertificateChain = Certificate?.ReadChain(ResolveLiteral, Option.CertificatePassword),
            UseTls = Tls,
            Interceptors = [.. CreateAuthorization(), .. CreateFilters(Filter, environment, pool)],
            MaxCalls = Option.MaxCalls,
            MaxRequestBytes = Option.MaxRequestBytes,
            AccessLog = CreateAccessLog(environment, pool),
            Warned = text => Warn(pool, text),
            Trace = CreateTrace(pool),
        };
        RpcRawServer server = RpcRawServer.Create(InterfaceId!.Value, options)
            .OnExecute((client, bytes) => pool.HandleAsync(client, bytes, script));
        server.Completion.ContinueWith(_ => _accessLog?.Dispose(), TaskScheduler.Default);
        Array.ForEach(endpoints, endpoint => server.AddEndpoint(endpoint));
        Start(pool, server.StartListening, id => new RpcListener(id, server, pool));
    }

    private void Start(HandlerPool pool, Func<object> startListening, Func<int, RpcListener> create)
    {
        if (!ShouldProcess(string.Join(", ", Endpoint), "Start a listener"))
        {
            return;
        }

        StartServing(pool, () =>
        {
            OpenRecord(pool);
            try
            {
                startListening();
            }
            catch
            {
                _record?.Dispose();
                throw;
            }
        });

        RunspaceStore store = RunspaceStore.Current;
        RpcListener listener = create(store.NextId());
        listener.Record = _record;
        try
        {
            foreach (string text in Interlocked.Exchange(ref _ofStart, null)!)
            {
                WriteWarning(text);
            }
        }
        catch
        {
            // With -WarningAction Stop. Nobody else could stop a listener that is not in the store.
            listener.Stop(TimeSpan.Zero);
            throw;
        }

        store.Add(listener);
        WriteObject(listener);
    }

    // A warning at the start is shown by the cmdlet, and also added to the listener's records.
    private void Warn(HandlerPool pool, string text)
    {
        pool.Streams.Add(new WarningRecord(text));
        Volatile.Read(ref _ofStart)?.Enqueue(text);
    }

    private RpcServerOptions CreateOptions(HandlerEnvironment environment, HandlerPool pool) => new()
    {
        Limits = Limits,
        ErrorDetail = Option.ErrorDetail,
        CallFailed = failed => pool.Streams.Add(FailureRecord.Create(failed)),
        PingHandlers = CreatePing(environment, pool),
        Interceptors = [.. _outer, .. CreateFilters(Filter, environment, pool)],
        Certificate = Certificate?.ReadWithKey(ResolveLiteral, Option.CertificatePassword),
        CertificateChain = Certificate?.ReadChain(ResolveLiteral, Option.CertificatePassword),
        UseTls = Tls,
        Security = CreateSecurity(),
        AccessLog = CreateAccessLog(environment, pool),
        Warned = text => Warn(pool, text),
        Trace = CreateTrace(pool),
        UsesOwnThreads = true,
    };

    private RpcAccessLog? CreateAccessLog(HandlerEnvironment environment, HandlerPool pool) =>
        AccessLogTarget.Create(AccessLog, environment, pool.Streams, ResolveLiteral, out _accessLog);

    private RpcHandler[] CreatePing(HandlerEnvironment environment, HandlerPool pool)
    {
        if (Ping is null)
        {
            return [];
        }

        ScriptSource script = environment.Add(Ping);
        pool.Scripts.Add(script);
        return [(context, request) => pool.HandleAsync(context, request, script)];
    }

    // Authorization comes before the filters, so that filters do not run for rejected callers.
    private RpcAuthorization[] CreateAuthorization() =>
        Authorization is null ? [] : [RpcAuthorization.FromRules(Authorization)];

    private RpcServer CreateServer(RpcSchema schema, RpcEndpoint[] endpoints, RpcServerOptions options)
    {
        IReadOnlyList<string> services = Service.Length > 0 || Handler.Connection is not { } connection
            ? Service
            : Schema is not null
                ? [.. schema.Services.Select(service => service.FullName)]
                : [.. RpcGateway.ServicesOf(connection.Client).Select(service => service.FullName)];
        RpcServer server = RpcServer.Create(schema, services.FirstOrDefault(), options, InterfaceId);
        foreach (string service in services.Skip(1))
        {
            server.AddService(schema.GetService(service));
        }

        foreach (RpcEndpoint endpoint in endpoints)
        {
            server.AddEndpoint(endpoint);
        }

        return server;
    }

    private RpcServerSecurity CreateSecurity()
    {
        RpcServerSecurity security = new()
        {
            MinimumLevel = Option.ProtectionLevel,
            ServicePrincipalName = Option.ServicePrincipalName,
            NtlmAccounts = [.. Option.NtlmAccount.Select(source => source.Account)],
            AllowedUsers = Option.AllowedUser,
            AllowedGroups = Option.AllowedGroup,
        };
        return IsAuthenticationGiven ? security with { Authentication = Authentication } : security;
    }

    [Parameter(ParameterSetName = ByHandler)]
    public SwitchParameter AllowUnencrypted { get; set; }

    [Parameter(ParameterSetName = ByHandler)]
    [ValidateNotNull]
    public ScriptBlock? BasicCheck { get; set; }

    [Parameter(ParameterSetName = ByHandler)]
    [ValidateNotNull]
    public ScriptBlock? BearerCheck { get; set; }

    [Parameter(ParameterSetName = ByHandler)]
    [ValidateNotNull]
    public ScriptBlock? CertificateCheck { get; set; }

    private CallRecord? _record;
    private RpcServiceInfo[] _services = [];

    [Parameter(ParameterSetName = ByHandler)]
    [ValidateNotNullOrEmpty]
    public string? Record { get; set; }

    [Parameter(ParameterSetName = ByHandler)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(FieldNameCompleter))]
    public string[] Mask { get; set; } = [];

    // Outermost, so that it also records calls that authorization and filters reject.
    private CallRecord[] CreateRecord() => Record is null ? [] : [_record = new CallRecord()];

    // Opened after the user has confirmed the start of the listener.
    private void OpenRecord(HandlerPool pool)
    {
        if (_record is null)
        {
            return;
        }

        RpcCallRecorder recorder = _record.Open(ResolveLiteral(Record!), new RpcCallRecorderOptions
        {
            Mask = Mask,
            Warning = text => pool.Streams.Add(new WarningRecord(text)),
        });
        foreach (string mask in recorder.FindUnknownMasks(_services))
        {
            WriteWarning(
                $"-Mask '{mask}' matches no field of the services' messages. It only masks keys of "
                + "maps and Struct.");
        }
    }
}

/// <summary>Offers the names of the fields in messages of the services, nested ones included.</summary>
internal sealed class FieldNameCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound)
    {
        Queue<RpcMessageInfo> waiting = new(SchemasOf(bound)
            .SelectMany(schema => schema.Services)
            .SelectMany(service => service.Methods)
            .SelectMany(method => new[] { method.RequestType, method.ReplyType }));
        HashSet<RpcMessageInfo> seen = [.. waiting];
        HashSet<string> names = [];
        while (waiting.TryDequeue(out RpcMessageInfo? type))
        {
            foreach (RpcFieldInfo field in type.Fields)
            {
                if (!type.IsMapEntry && names.Add(field.Name))
                {
                    yield return new Candidate(field.Name, $"{field.TypeName} of {type.FullName}");
                }

                if (field.MessageType is { } nested && seen.Add(nested))
                {
                    waiting.Enqueue(nested);
                }
            }
        }
    }
}

/// <summary>Offers a rule for each service that allows all authenticated callers.</summary>
internal sealed class AuthorizationCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) => SchemasOf(bound)
        .Where(schema => schema.Services.Count > 0)
        .Select(schema => Candidate.OfScript(
            ScriptLiteral.Table(schema.Services.Select(service => KeyValuePair.Create<object, string>(
                $"{service.FullName}/*", ScriptLiteral.Format("*")))),
            "Each service for authenticated callers"));

    internal override HashtableShape? TableOf(IDictionary bound) =>
        HashtableShape.OfRules(SchemasOf(bound).SelectMany(schema => schema.Services));
}

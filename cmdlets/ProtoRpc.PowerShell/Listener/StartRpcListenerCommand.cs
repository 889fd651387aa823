using System.Collections.Concurrent;
using System.Security;
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
    private const string ByRawHandler = "Raw";

    // The other settings apply to both kinds of listeners.
    private static readonly string[] OfRawHandlers =
        [nameof(RpcListenerOption.MaxCalls), nameof(RpcListenerOption.MaxRequestBytes)];

    private static readonly string[] OfHandlers =
    [
        nameof(RpcListenerOption.AllowedHost), nameof(RpcListenerOption.AllowedOrigin),
        nameof(RpcListenerOption.AllowGet), nameof(RpcListenerOption.BlockHeader),
        nameof(RpcListenerOption.ClientCACertificate), nameof(RpcListenerOption.ErrorDetail),
        nameof(RpcListenerOption.ForwardHeader),
        nameof(RpcListenerOption.NoHealth), nameof(RpcListenerOption.NoReflection),
        nameof(RpcListenerOption.ReplyCompression),
    ];

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

    [Parameter(Mandatory = true, Position = 1, ParameterSetName = ByHandler)]
    [ArgumentCompleter(typeof(HandlerCompleter))]
    public RpcHandlerSource Handler { get; set; } = null!;

    [Parameter(ParameterSetName = ByHandler)]
    [ValidateNotNull]
    public ScriptBlock? Ping { get; set; }

    [Parameter(Mandatory = true, ParameterSetName = ByRawHandler)]
    public ScriptBlock RawHandler { get; set; } = null!;

    [Parameter(ParameterSetName = ByHandler)]
    [Parameter(Mandatory = true, ParameterSetName = ByRawHandler)]
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
    public SecureString? CertificatePassword { get; set; }

    [Parameter]
    [ValidateNotNull]
    public object? AccessLog { get; set; }

    [Parameter]
    [ValidateNotNull]
    [ListenerOptionTable]
    [ArgumentCompleter(typeof(ListenerOptionCompleter))]
    public RpcListenerOption? ListenerOption { get; set; }

    protected override void Begin()
    {
        try
        {
            RequireImpersonation();
            if (ParameterSetName == ByRawHandler)
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

    private RpcListenerOption Option => ListenerOption ??= new();

    private IEnumerable<string> Given => MyInvocation.BoundParameters.Keys
        .Where(name => name != nameof(ListenerOption))
        .Concat(Option.Given);

    // As the user wrote it, for errors.
    private string NameOf(string setting) =>
        Option.IsGiven(setting) ? $"{setting} of -{nameof(ListenerOption)}" : $"-{setting}";

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
        HttpEndpoints http = CreateHttp(pool);
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
        RpcGatewayOptions gateway = new()
        {
            ForwardHeaders = Option.ForwardHeader,
            BlockHeaders = Option.BlockHeader,
        };
        foreach ((RpcMethodInfo method, RpcMethodHandler handler) in Handler.Resolve(
            _services, new HandlerValue(environment, pool, gateway)))
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
            + "-Handler.")
        : RpcGateway.ServicesOf(connection.Client)[0].Schema;

    private RpcEndpoint[] ParseEndpoints() => [.. Endpoint.Select(RpcEndpoint.Parse)];

    private void CheckParameters(RpcEndpoint[] endpoints)
    {
        if (ParameterSetName == ByRawHandler && (Record is not null || Mask.Length > 0))
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.ParameterNotSupported,
                $"-{(Record is null ? nameof(Mask) : nameof(Record))} requires a schema to record the fields "
                + "of messages, and a raw listener has none. Give -Handler and -Schema, or use -AccessLog "
                + "to log calls without their contents.");
        }

        CheckSet();
        EndpointParameters.Check(
            Given, NameOf,
            [.. endpoints.Select(
                endpoint => new EndpointUse(endpoint, Tls, ParameterSetName == ByRawHandler))]);
        if (Tls && !endpoints.Any(endpoint => endpoint.Has(EndpointFeatures.OptionalTls)))
        {
            throw EndpointErrors.NoTls(endpoints[0]);
        }

        CheckNeeded(
            nameof(Option.ProtectionLevel),
            Authentication == RpcAuthentication.None ? "-Authentication, with more than None" : null);
        CheckNeeded(nameof(CertificatePassword), Certificate is null ? "-Certificate" : null);
        CheckNeeded(nameof(Tls), Certificate is null ? "-Certificate" : null);
        CheckNeeded(nameof(Mask), Record is null ? "-Record" : null);
        string? forwarding = Handler?.Forwards == true ? null : "-Handler, with a connection";
        CheckNeeded(nameof(Option.ForwardHeader), forwarding);
        CheckNeeded(nameof(Option.BlockHeader), forwarding);
    }

    private void CheckNeeded(string name, string? missing) =>
        EndpointParameters.CheckNeeded(Given, name, missing, NameOf(name));

    // The settings of -ListenerOption belong to the parameter sets, as the cmdlet's parameters do.
    private void CheckSet()
    {
        bool isRaw = ParameterSetName == ByRawHandler;
        if (Option.Given.FirstOrDefault(name => isRaw
                ? OfHandlers.Contains(name, StringComparer.OrdinalIgnoreCase)
                : OfRawHandlers.Contains(name, StringComparer.OrdinalIgnoreCase)) is { } other)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.ParameterNotSupported,
                $"{NameOf(other)} does not apply to -{(isRaw ? nameof(RawHandler) : nameof(Handler))}, only "
                + $"to -{(isRaw ? nameof(Handler) : nameof(RawHandler))}.");
        }
    }

    private void StartRaw()
    {
        RpcEndpoint[] endpoints = ParseEndpoints();
        Array.ForEach(endpoints, RawEndpoints.RequireNative);
        CheckParameters(endpoints);
        HandlerEnvironment environment = CreateEnvironment();
        HandlerPool pool = CreatePool(environment, Limits, hasFilters: Filter.Length > 0);
        ScriptSource script = environment.Add(RawHandler);
        pool.Scripts.Add(script);
        RpcRawServerOptions options = new()
        {
            Limits = Limits,
            Security = CreateSecurity(),
            Certificate = Certificate?.ReadWithKey(ResolveLiteral, CertificatePassword),
            CertificateChain = Certificate?.ReadChain(ResolveLiteral, CertificatePassword),
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
        Certificate = Certificate?.ReadWithKey(ResolveLiteral, CertificatePassword),
        CertificateChain = Certificate?.ReadChain(ResolveLiteral, CertificatePassword),
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

    // Anonymous callers must be allowed explicitly, even if checks are given.
    private HttpEndpoints CreateHttp(HandlerPool pool) => new()
    {
        AllowUnencrypted = AllowUnencrypted,
        AllowedOrigins = Option.AllowedOrigin,
        AllowedHosts = Option.AllowedHost,
        AllowGet = Option.AllowGet,
        ReplyCompression = Option.ReplyCompression,
        EnableReflection = !Option.NoReflection,
        EnableHealth = !Option.NoHealth,
        ClientAuthorities = Option.ClientCACertificate.Length == 0
            ? null
            : [.. Option.ClientCACertificate.SelectMany(source => source.ReadAll(ResolveLiteral))],
        Checks = new CheckScripts(BasicCheck, BearerCheck, CertificateCheck),
        AllowAnonymous = IsAuthenticationGiven && Authentication.HasFlag(RpcAuthentication.None),
        Streams = pool.Streams,
    };

    private CallRecord? _record;
    private RpcServiceInfo[] _services = [];

    // Also a parameter for raw listeners, which reject it with a reason. PowerShell's own error would not
    // give one.
    [Parameter(ParameterSetName = ByHandler)]
    [Parameter(ParameterSetName = ByRawHandler, DontShow = true)]
    [ValidateNotNullOrEmpty]
    public string? Record { get; set; }

    [Parameter(ParameterSetName = ByHandler)]
    [Parameter(ParameterSetName = ByRawHandler, DontShow = true)]
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

/// <summary>Offers host names that clients can use to call a listener.</summary>
internal sealed class AllowedHostCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) =>
    [
        new Candidate(Environment.MachineName.ToLowerInvariant(), "This machine"),
        new Candidate("*", "Every name"),
    ];
}

using System.Security.Cryptography.X509Certificates;
using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Completion;
using ProtoRpc.PowerShell.Connections;
using ProtoRpc.PowerShell.Handlers;
using ProtoRpc.Server;

namespace ProtoRpc;

[Cmdlet(
    VerbsCommon.Set, "RpcListener", DefaultParameterSetName = ByListener, SupportsShouldProcess = true)]
public sealed class SetRpcListenerCommand : RpcHandlersCommand
{
    private const string ByListener = "Listener";
    private const string ById = "Id";

    [Parameter(Mandatory = true, Position = 0, ValueFromPipeline = true, ParameterSetName = ByListener)]
    [ArgumentCompleter(typeof(ListenerCompleter))]
    public RpcListener[] Listener { get; set; } = [];

    [Parameter(Mandatory = true, Position = 0, ParameterSetName = ById)]
    [ArgumentCompleter(typeof(ListenerIdCompleter))]
    public int[] Id { get; set; } = [];

    [Parameter]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(HandlerCompleter))]
    public RpcHandlerSource? Handler { get; set; }

    [Parameter]
    [AllowEmptyCollection]
    public ScriptBlock[]? Filter { get; set; }

    [Parameter]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(ListenerEndpointCompleter))]
    public string[] Endpoint { get; set; } = [];

    [Parameter]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(CertificateCompleter))]
    public RpcCertificateSource? Certificate { get; set; }

    [Parameter]
    [ValidateNotNull]
    public ScriptBlock? BasicCheck { get; set; }

    [Parameter]
    [ValidateNotNull]
    public ScriptBlock? BearerCheck { get; set; }

    [Parameter]
    [ValidateNotNull]
    public ScriptBlock? CertificateCheck { get; set; }

    [Parameter]
    [Deadline(AllowZero = true)]
    public TimeSpan? DrainTimeout { get; set; }

    private CheckScripts Checks => new(BasicCheck, BearerCheck, CertificateCheck);

    private bool HasFilters => MyInvocation.BoundParameters.ContainsKey(nameof(Filter));

    protected override void Begin()
    {
        try
        {
            RequireImpersonation();
            CheckParameters();
        }
        catch (RpcException e)
        {
            Fail(e);
        }
    }

    protected override void Process()
    {
        foreach (RpcListener listener in ParameterSetName == ByListener
            ? Listener
            : WithIds(RunspaceStore.Current.Listeners, Id, l => l.Id, "listener"))
        {
            try
            {
                Change(listener);
            }
            catch (RpcException e)
            {
                WriteError(RpcErrors.ToRecord(e, listener));
            }
        }
    }

    private void CheckParameters()
    {
        ListenerSettings.CheckChange(Option);
        bool hasHandlers = Handler is not null || HasFilters;
        bool hasScripts = hasHandlers || Checks.Given.Any();
        if (!hasScripts && Endpoint.Length == 0 && Certificate is null)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.NothingToSet,
                "Nothing to set. Give -Handler, -Filter, -Endpoint, -Certificate, or a check such as "
                + "-BasicCheck.");
        }

        string? handlers = hasHandlers ? null : "-Handler or -Filter";
        CheckNeeded(nameof(Option.WorkerCount), handlers);
        CheckNeeded(nameof(Option.Impersonate), handlers);
        string? scripts = hasScripts ? null : "-Handler, -Filter or a check";
        CheckNeeded(nameof(Option.Module), scripts);
        CheckNeeded(nameof(Option.InitializationScript), scripts);
        string? forwarding = Handler?.Forwards == true ? null : "-Handler, with a connection";
        CheckNeeded(nameof(Option.ForwardHeader), forwarding);
        CheckNeeded(nameof(Option.BlockHeader), forwarding);
        CheckNeeded(nameof(Option.CertificatePassword), Certificate is null ? "-Certificate" : null);
        CheckNeeded(nameof(DrainTimeout), Endpoint.Length == 0 ? "-Endpoint" : null);
    }

    private void Change(RpcListener listener)
    {
        RpcServer server = listener.Server;
        RpcEndpoint[] endpoints = [.. Endpoint.Select(RpcEndpoint.Parse)];
        HandlerEnvironment? environment = Handler is null && !HasFilters ? null : CreateEnvironment();
        HandlerPool? pool = environment is null ? null : CreatePool(environment, listener);
        HandlerEnvironment? ofChecks = Checks.Given.Any() ? CreateEnvironment() : null;
        Action? replaceChecks = ofChecks is null ? null : listener.Http?.Replace(Checks, ofChecks);
        RpcServerChange change = new()
        {
            Handlers = Handler?.Resolve(
                server.Services.Select(service => service.Key),
                new HandlerValue(environment!, pool!, CreateGateway()))
                .ToDictionary(pair => pair.Key.FullName, pair => pair.Value),
            Interceptors = HasFilters
                ? [.. listener.Authorization, .. CreateFilters(Filter ?? [], environment!, pool!)]
                : null,
            Endpoints = endpoints.Length > 0 ? endpoints : null,
            Protocols = endpoints.Length > 0 ? listener.AddHttp?.Invoke(endpoints).Protocols : null,
            Certificate = ReadCertificate(),
            CertificateChain = Certificate?.ReadChain(ResolveLiteral, Option.CertificatePassword),
            DrainTimeout = DrainTimeout,
        };
        if (!ShouldProcess(listener.ToString(), "Change the listener"))
        {
            return;
        }

        if (ofChecks is not null)
        {
            WarnOfUnset(ofChecks);
        }

        Apply(listener, change, pool);
        replaceChecks?.Invoke();
    }

    // Warns if clients reject the certificate now or soon.
    private X509Certificate2? ReadCertificate()
    {
        X509Certificate2? certificate = Certificate?.ReadWithKey(ResolveLiteral, Option.CertificatePassword);
        if (certificate is not null
            && CertificateWatch.WarningOf(certificate, DateTimeOffset.Now) is { } warning)
        {
            WriteWarning(warning);
        }

        return certificate;
    }

    private void Apply(RpcListener listener, RpcServerChange change, HandlerPool? pool)
    {
        Task closing = Task.CompletedTask;
        StartServing(pool, () => closing = listener.ChangeAsync(change, pool));
        Wait(closing);
    }

    // Ctrl+C ends the wait for the removed endpoints, but they continue to close.
    private void Wait(Task closing)
    {
        try
        {
            closing.Wait(Cancellation);
        }
        catch (OperationCanceledException)
        {
        }
    }

    // Settings that are not given stay unchanged.
    private HandlerPool CreatePool(HandlerEnvironment environment, RpcListener listener)
    {
        HandlerPool before = listener.Handlers;
        return new HandlerPool(
            environment,
            before.Streams,
            Option.IsGiven(nameof(Option.WorkerCount)) ? Option.WorkerCount : before.MaxWorkers,
            before.Limits)
        {
            HasFilters = HasFilters && Filter is { Length: > 0 },
            Impersonates = Option.IsGiven(nameof(Option.Impersonate))
                ? Option.Impersonate
                : before.Impersonates,
        };
    }
}

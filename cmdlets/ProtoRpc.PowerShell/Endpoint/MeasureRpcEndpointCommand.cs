using System.Management.Automation;
using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Endpoint;
using ProtoRpc.PowerShell.Objects;
using ProtoRpc.PowerShell.Parameters;
using ProtoRpc.PowerShell.Runspaces;

namespace ProtoRpc;

[Cmdlet(VerbsDiagnostic.Measure, "RpcEndpoint", DefaultParameterSetName = ByConnection)]
[OutputType(typeof(RpcLoadResult))]
public sealed partial class MeasureRpcEndpointCommand : RpcCallingCommand
{
    private static readonly TimeSpan DefaultDuration = TimeSpan.FromSeconds(10);
    private static readonly TimeSpan DefaultWarmUp = TimeSpan.FromSeconds(1);

    private readonly List<(object Target, Func<LoadPlan> Plan)> _plans = [];
    private readonly List<RpcClient> _clients = [];

    [Parameter(Mandatory = true, Position = 0)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(MethodCompleter))]
    public string Method { get; set; } = "";

    [Parameter(ValueFromPipeline = true, ParameterSetName = ByConnection)]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(ConnectionCompleter))]
    public RpcConnection[]? Connection { get; set; }

    [Parameter]
    [Deadline]
    public TimeSpan? Duration { get; set; }

    [Parameter]
    [ValidateRange(1, RpcLoadOptions.MaxCount)]
    public long? Count { get; set; }

    [Parameter]
    [Deadline(AllowZero = true)]
    public TimeSpan? WarmUp { get; set; }

    [Parameter]
    [ValidateRange(1, RpcLoadOptions.MaxConcurrency)]
    public int Concurrency { get; set; } = new RpcLoadOptions().Concurrency;

    [Parameter(ParameterSetName = ByEndpoint)]
    [ValidateRange(1, RpcLoadOptions.MaxConcurrency)]
    public int Connections { get; set; } = 1;

    [Parameter]
    [ValidateRange(0.000_1, RpcLoadOptions.MaxRate)]
    public double? Rate { get; set; }

    [Parameter]
    [ValidateRange(ValidateRangeKind.NonNegative)]
    public long? MaxErrors { get; set; }

    [Parameter]
    [Deadline]
    public TimeSpan? Deadline { get; set; }

    [Parameter]
    public SwitchParameter Histogram { get; set; }

    protected override void Process()
    {
        if (ParameterSetName == ByConnection)
        {
            foreach (RpcConnection? given in (IEnumerable<RpcConnection?>?)Connection ?? [null])
            {
                RpcConnection connection = RunspaceStore.Current.Resolve(given, "-Endpoint or -Connection");
                _plans.Add((connection, () => PlanOver(connection)));
            }

            return;
        }

        IReadOnlyList<EndpointTarget> targets = EndpointTarget.Find(Endpoint);
        RpcEndpoint[] all = [.. targets.Select(target => target.Endpoint).OfType<RpcEndpoint>()];
        _endpoints.AddRange(all);
        _plans.AddRange(targets.Select(target => (
            (object)target.Name, (Func<LoadPlan>)(() => PlanAt(target)))));
    }

    protected override void End()
    {
        CheckAmount();
        List<LoadPlan> plans = [];
        try
        {
            foreach ((object target, Func<LoadPlan> plan) in _plans)
            {
                Guard(target, () => plans.Add(plan()));
            }

            if (plans.Count > 0 && !Stopping)
            {
                Run(plans);
            }
        }
        finally
        {
            Task.WaitAll([.. _clients.Select(client => client.DisposeAsync().AsTask())]);
        }
    }

    private void CheckAmount()
    {
        RequireTime(nameof(Duration), Duration);
        RequireTime(nameof(WarmUp), WarmUp);
        if (Connections > Concurrency)
        {
            throw Invalid(
                $"-Connections is {Connections}, more than the {Concurrency} callers of -Concurrency. "
                + "Each connection needs a caller.");
        }
    }

    private static void RequireTime(string parameter, TimeSpan? time)
    {
        if (time < TimeSpan.Zero || time > RpcLoadOptions.MaxDuration)
        {
            throw Invalid($"-{parameter} takes up to {RpcLoadOptions.MaxDuration.TotalHours:0} hours: "
                + "a load test needs an end.");
        }
    }

    private LoadPlan PlanOver(RpcConnection connection)
    {
        RpcClient client = connection.Client;
        EndpointParameters.Check(MyInvocation.BoundParameters.Keys, new EndpointUse(connection.Endpoint));
        HeaderMapping.CheckSecrets(Header, connection.Endpoint);
        if (client.Schema is null)
        {
            FetchSchema(client);
        }

        return client.Schema is null ? throw RpcErrors.NoSchema(connection)
            : PlanOf(connection.Endpoint.ToString(), connection, [client]);
    }

    private LoadPlan PlanAt(EndpointTarget target)
    {
        RpcEndpoint endpoint = target.Require();
        RpcSchema? schema = (Schema is null ? null : _given ??= ResolveKept(Schema)) ?? NamedSchema(target);
        CheckParameters(target, _endpoints);
        RpcClientOptions options = CreateOptions();
        List<RpcClient> clients = [];
        for (int i = 0; i < Connections; i++)
        {
            RpcClient client = RpcClient.Connect(endpoint, schema, options, Cancellation);
            clients.Add(client);
            _clients.Add(client);
            if (client.Schema is null)
            {
                FetchSchema(client);
            }

            // Fetched once for all targets.
            schema ??= client.Schema;
        }

        return PlanOf(target.Name, target.Name, clients);
    }

    private void FetchSchema(RpcClient client)
    {
        if (!client.Endpoint.Has(EndpointFeatures.Reflection))
        {
            throw new RpcException(
                RpcStatusCode.FailedPrecondition,
                $"'{client.Endpoint}' needs a schema, because servers on such endpoints do not publish "
                + "theirs. Give -Schema.")
            {
                ErrorId = RpcErrorIds.NoSchema,
            };
        }

        foreach (string warning in client.FetchSchema(cancellationToken: Cancellation).Warnings)
        {
            WriteWarning(warning);
        }
    }

    private LoadPlan PlanOf(string name, object target, IReadOnlyList<RpcClient> clients)
    {
        RpcMethodInfo method = clients[0].GetMethod(Method);
        WriteVerbose($"Measuring {method.FullName} on {name}");
        ScriptRequests? script = ScriptOf(method);
        RpcLoadRequests requests = script?.Requests ?? RequestsOf(method);
        return new LoadPlan(target, new RpcLoadTarget(name, clients, method, requests), script);
    }

    private void Run(List<LoadPlan> plans)
    {
        RpcLoadTest test = new(
            [.. plans.Select(plan => plan.Target)],
            new RpcLoadOptions
            {
                Count = Count,
                Duration = Duration ?? (Count is null ? DefaultDuration : null),
                WarmUp = WarmUp ?? (Count is null ? DefaultWarmUp : TimeSpan.Zero),
                Concurrency = Concurrency,
                Rate = Rate,
                MaxErrors = MaxErrors,
                Histogram = Histogram,
                CallOptions = new RpcCallOptions
                {
                    Timeout = Deadline,
                    // A new connection already sends these headers.
                    Headers = ParameterSetName == ByConnection && Header is not null
                        ? HeaderMapping.ToMetadata(Header)
                        : null,
                },
            });
        using WaitProgress progress = new($"Measuring {Method}", WriteProgress);
        IReadOnlyList<RpcLoadResult> results = new LoadRun(test, progress, Cancellation)
            .Wait([.. plans.Select(plan => plan.Script).OfType<ScriptRequests>()]);
        for (int i = 0; i < results.Count && !Stopping; i++)
        {
            Write(results[i], plans[i].Subject, isOneOfSeveral: results.Count > 1);
        }
    }

    private void Write(RpcLoadResult result, object subject, bool isOneOfSeveral)
    {
        if (result.Error is { } error)
        {
            WriteError(RpcErrors.ToRecord(error, subject));
            return;
        }

        if (result.Stopped is { } reason)
        {
            WriteWarning(result.Errors is [{ } first, ..]
                ? $"{result.Name}: {reason} The first error: {first.First.Message}"
                : $"{result.Name}: {reason}");
        }

        PSObject shown = new(result);
        if (isOneOfSeveral)
        {
            // The type name of the first object selects the view for all.
            shown.TypeNames.Insert(0, $"{typeof(RpcLoadResult).FullName}#Comparison");
        }

        WriteObject(shown);
    }

    private static RpcException Invalid(string message) => new(RpcStatusCode.InvalidArgument, message)
    {
        ErrorId = RpcErrorIds.InvalidLoadTest,
    };
}

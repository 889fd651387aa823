using System.Collections.ObjectModel;
using ProtoRpc.Messages;
using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Completion;
using ProtoRpc.PowerShell.Connections;
using ProtoRpc.PowerShell.Methods;
using ProtoRpc.PowerShell.Objects;

namespace ProtoRpc;

[Cmdlet(VerbsDiagnostic.Measure, "RpcEndpoint", DefaultParameterSetName = ByConnection)]
[OutputType(typeof(RpcLoadResult))]
public sealed class MeasureRpcEndpointCommand : RpcConnectingCommand
{
    private const string ByConnection = "Connection";
    private const string ByEndpoint = "Endpoint";
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
    public int ConnectionCount { get; set; } = 1;

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
        if (ConnectionCount > Concurrency)
        {
            throw Invalid(
                $"-ConnectionCount is {ConnectionCount}, "
                + $"more than the {Concurrency} callers of -Concurrency. "
                + "Each connection needs a caller.");
        }
    }

    private static void RequireTime(string parameter, TimeSpan? time)
    {
        if (time < TimeSpan.Zero || time > RpcLoadOptions.MaxDuration)
        {
            throw Invalid($"-{parameter} must be at most {RpcLoadOptions.MaxDuration.TotalHours:0} hours, "
                + "because a load test must end.");
        }
    }

    private LoadPlan PlanOver(RpcConnection connection)
    {
        RpcClient client = connection.Client;
        CheckForConnection(connection);
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
        RefuseCallContext();
        RpcClientOptions options = CreateOptions();
        List<RpcClient> clients = [];
        for (int i = 0; i < ConnectionCount; i++)
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
            throw RpcErrors.NoSchema(client.Endpoint);
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
        // The client of an endpoint already has these settings.
        RpcConnectionOption? ofCalls = ParameterSetName == ByConnection ? ConnectionOption : null;
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
                    WaitForReady = CommandOption.Find<SwitchParameter>(nameof(Option.WaitForReady))?.IsPresent
                        ?? plans.TrueForAll(plan => plan.Subject is RpcConnection { WaitsForReady: true }),
                    Headers = ofCalls?.Header is { } headers ? HeaderMapping.ToMetadata(headers) : null,
                    Compression = ofCalls?.Find<RpcCompression>(nameof(ofCalls.Compression)),
                    Retry = ofCalls?.Retry,
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

    private static RpcException Invalid(string message) => new(
        RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidLoadTest,
        message);

    private readonly List<RpcEndpoint> _endpoints = [];
    private RpcSchema? _given;

    [Parameter(Mandatory = true, ValueFromPipeline = true, ParameterSetName = ByEndpoint)]
    [ValidateNotNullOrEmpty]
    [NoConnection]
    [FilledLines]
    [ArgumentCompleter(typeof(EndpointCompleter))]
    public string[] Endpoint { get; set; } = [];

    [Parameter(ParameterSetName = ByEndpoint)]
    [ValidateNotNull]
    [SchemaList]
    [ArgumentCompleter(typeof(SchemaFileCompleter))]
    public RpcSchemaSource? Schema { get; set; }

    [Parameter(ParameterSetName = ByEndpoint)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(ServiceCompleter))]
    public string? Service { get => Own.Service; set => Own.Service = value; }

    private protected override RpcClientOptions SchemaOptionsOf(RpcEndpoint endpoint) =>
        SchemaOptionsFor(endpoint, _endpoints);

    private protected override RpcClientOptions CreateOptions()
    {
        RpcClientOptions options = base.CreateOptions();
        int callers = (Concurrency + ConnectionCount - 1) / ConnectionCount;
        return options with
        {
            Limits = options.Limits with
            {
                MaxClientConnections = Math.Max(options.Limits.MaxClientConnections, callers),
            },
        };
    }

    private MessageMapper? _mapper;

    [Parameter(Position = 1)]
    [AllowNull]
    [ArgumentCompleter(typeof(MessageCompleter))]
    public object? Message { get; set; }

    [Parameter]
    [RandomMessageTable]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(RandomMessageCompleter))]
    public RpcRandomMessageOptions? RandomMessage { get; set; }

    [Parameter]
    [ValidateRange(1, 100_000)]
    public int StreamLength { get; set; } = new RpcRandomMessageOptions().StreamLength;

    private MessageMapper Mapper => _mapper ??= ShellMapper.Create(asHashtable: false);

    private ScriptRequests? ScriptOf(RpcMethodInfo method)
    {
        CheckRequests(method);
        return Unwrap(Message) is ScriptBlock script
            ? new ScriptRequests(script, method, message => ToRequest(method, message))
            : null;
    }

    private RpcLoadRequests RequestsOf(RpcMethodInfo method)
    {
        if (RandomMessage is { } random)
        {
            return RpcLoadRequests.Random(
                method, IsGiven(nameof(StreamLength)) ? random with { StreamLength = StreamLength } : random);
        }

        IReadOnlyList<object>[] calls =
        [
            .. CallsOf(method).Select(call => (IReadOnlyList<object>)
                [.. Repeat(call).Select(message => ToRequest(method, message))]),
        ];
        return calls is [var only] ? RpcLoadRequests.Same(method, only)
            : calls.Length > 0 ? RpcLoadRequests.InTurn(method, calls)
            : throw Invalid(
            $"-Message is an empty list, and {method.FullName} takes one message. Give a message, or omit "
            + "-Message to send empty messages.");
    }

    // A list has the messages of the calls, which are sent in turn. For a method with a request stream it has
    // those of one call, and a list of lists has those of several calls.
    private IEnumerable<IReadOnlyList<object?>> CallsOf(RpcMethodInfo method)
    {
        if (ListOf(method, Message) is not { } list)
        {
            return [[Message]];
        }

        if (!method.IsClientStreaming)
        {
            return list.Select(message => (IReadOnlyList<object?>)[message]);
        }

        object?[][] lists = [.. list.Select(item => ListOf(method, item)).OfType<object?[]>()];
        return lists.Length > 0 && lists.Length == list.Length ? lists : [list];
    }

    // A list can also be one message of some types.
    private static object?[]? ListOf(RpcMethodInfo method, object? given) =>
        Unwrap(given) is IList list and not byte[]
        && WellKnownTypes.Get(method.RequestType)
            is not (WellKnownType.ListValue or WellKnownType.Value or WellKnownType.FieldMask)
            ? [.. list.Cast<object?>()]
            : null;

    private IReadOnlyList<object?> Repeat(IReadOnlyList<object?> messages) =>
        IsGiven(nameof(StreamLength)) && messages.Count > 0
        ? [.. Enumerable.Range(0, StreamLength).Select(i => messages[i % messages.Count])]
        : messages;

    private void CheckRequests(RpcMethodInfo method)
    {
        if (RandomMessage is not null && IsGiven(nameof(Message)))
        {
            throw Invalid(
                "-Message and -RandomMessage cannot be used together. Remove one of them.");
        }

        if (IsGiven(nameof(StreamLength))
            && (!method.IsClientStreaming || Unwrap(Message) is ScriptBlock or ICollection { Count: 0 }))
        {
            throw Invalid(
                "-StreamLength is the number of messages that a call sends. It requires a method with a "
                + "request stream, and -RandomMessage or a list as -Message.");
        }
    }

    private DynamicMessage ToRequest(RpcMethodInfo method, object? message) =>
        message is PSObject { BaseObject: DynamicMessage raw }
            ? raw
            : WrittenMessage.TryRead(method.RequestType, Unwrap(message), ignoreUnknown: false)
                ?? Mapper.ToMessage(method.RequestType, message);
}

/// <summary>One target of a load test.</summary>
/// <param name="Subject">The target object of errors: a connection, or the name of an endpoint.</param>
/// <param name="Target">The target to call.</param>
/// <param name="Script">The script that makes requests during the test; null if they were made
/// before.</param>
internal sealed record LoadPlan(object Subject, RpcLoadTarget Target, ScriptRequests? Script);

/// <summary>Waits for a load test on the pipeline thread. Meanwhile it shows the progress and runs script
/// blocks.</summary>
internal sealed class LoadRun(RpcLoadTest test, WaitProgress progress, CancellationToken cancellation)
{
    private static readonly TimeSpan Period = TimeSpan.FromMilliseconds(100);
    private static readonly TimeSpan ScriptPeriod = TimeSpan.FromMilliseconds(2);

    /// <summary>Runs the test to its end.</summary>
    /// <param name="scripts">The scripts that make requests during the test.</param>
    public IReadOnlyList<RpcLoadResult> Wait(IReadOnlyList<ScriptRequests> scripts)
    {
        // The first requests are ready before the first call needs one.
        FillAll(scripts);
        using CancellationTokenSource end = CancellationTokenSource.CreateLinkedTokenSource(cancellation);
        Task<IReadOnlyList<RpcLoadResult>> running = Task.Run(() => test.RunAsync(end.Token));
        try
        {
            while (!running.IsCompleted)
            {
                bool isFull = FillAll(scripts);
                Report();
                if (isFull)
                {
                    Task.WaitAny([running], scripts.Count > 0 ? ScriptPeriod : Period);
                }
            }
        }
        catch
        {
            // A script block failed or was stopped.
            end.Cancel();
            Task.WaitAny([running]);
            throw;
        }

        return running.GetAwaiter().GetResult();
    }

    private static bool FillAll(IReadOnlyList<ScriptRequests> scripts)
    {
        bool areFull = true;
        foreach (ScriptRequests script in scripts)
        {
            areFull &= script.Fill();
        }

        return areFull;
    }

    private void Report()
    {
        RpcLoadProgress now = test.Progress;
        progress.Report(
            () =>
            {
                string what = now.IsWarmUp ? "warm-up" : $"{now.Calls:N0} calls, {now.Failed:N0} failed";
                return TerminalText.Neutralize($"{now.Target}: {what}");
            },
            (int)(now.Share * 100),
            total: 100);
    }
}

/// <summary>Makes the requests of a load test with a script block, one for each call, on the pipeline
/// thread.</summary>
/// <param name="script">Gets the number of the call, from 1, as <c>$_</c> and as its argument.</param>
/// <param name="method">The method to call.</param>
/// <param name="toMessage">Converts the block's output to a message.</param>
internal sealed class ScriptRequests(
    ScriptBlock script, RpcMethodInfo method, Func<object?, DynamicMessage> toMessage)
{
    // The progress bar and Ctrl+C are handled between batches.
    private const int Batch = 100;

    private long _number;

    /// <summary>The queue that the load test reads.</summary>
    public QueuedRequests Requests { get; } = new();

    /// <summary>Makes some requests if the queue has too few.</summary>
    /// <returns>Whether the queue has enough now.</returns>
    /// <exception cref="RpcException">InvalidArgument: the block's output is not a request.</exception>
    /// <exception cref="RuntimeException">The block failed.</exception>
    public bool Fill()
    {
        for (int i = 0; i < Batch && Requests.WantsMore; i++)
        {
            Requests.Add(method, Make(++_number));
        }

        return !Requests.WantsMore;
    }

    private DynamicMessage[] Make(long number)
    {
        Collection<PSObject?> written = script.InvokeWithContext(
            functionsToDefine: null, [new PSVariable("_", number)], number)!;
        try
        {
            return written.Count == 0 && !method.IsClientStreaming
                ? [toMessage(null)]
                : [.. written.Select(toMessage)];
        }
        catch (RpcException e)
        {
            throw e.WithText(
                $"The script block of -Message wrote no request for call {number:N0}: {e.Message}");
        }
    }
}

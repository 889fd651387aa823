using System.Runtime.CompilerServices;
using ProtoRpc.Client;
using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Connections;
using ProtoRpc.PowerShell.Methods;
using ProtoRpc.PowerShell.Objects;

namespace ProtoRpc;

public sealed partial class InvokeRpcMethodCommand
{
    private readonly List<FanOutCall> _jobCalls = [];
    private readonly Dictionary<RpcConnection, RpcException> _unreached = [];
    private FanOut? _fanOut;
    private CallRows? _rows;

    // Whether calls run in parallel. Otherwise each call waits for the previous one.
    private bool FansOut => AsJob || PassThruResult || Connection is { Length: > 1 } || Targets.Count > 1
        || IsGiven(nameof(ThrottleLimit));

    private void StartCalls()
    {
        if (IsOneLiner)
        {
            // Copied once for all endpoints, and only if a message is converted later.
            Lazy<object?> kept = new(() => Snapshot(Request), LazyThreadSafetyMode.None);
            foreach (EndpointTarget target in Targets)
            {
                Guard(target.Name, () => StartCall(
                    new CallPlace(target.Name, target.Endpoint, target.Name), () => InvokeAt(target, kept)));
            }

            return;
        }

        FetchSchemas();
        foreach (RpcConnection? given in (IEnumerable<RpcConnection?>?)Connection ?? [null])
        {
            Guard(given, () =>
            {
                RpcConnection connection = Resolve(given);
                CallPlace place = CallPlace.From(connection);
                StartCall(place, () => RepliesOver(connection, place.Info));
            });
        }
    }

    // Lazy connections also connect in parallel. A connection's error is written when its call is due.
    private void FetchSchemas()
    {
        // A server that was unreachable for one message may be reachable for the next.
        _unreached.Clear();
        if (MethodOfCommand is not null || IsRawCall)
        {
            return;
        }

        RpcConnection[] unknown =
        [
            .. (Connection ?? []).Distinct().Where(
                connection => connection is { IsOpen: true, Schema: null }
                    && connection.Endpoint.Has(EndpointFeatures.Reflection)),
        ];
        if (unknown.Length < 2)
        {
            return;
        }

        RpcCallOptions options = Options(info: null);
        Parallel.ForEach(
            unknown, new ParallelOptions { MaxDegreeOfParallelism = ThrottleLimit }, connection =>
        {
            try
            {
                CheckForConnection(connection);
                connection.Client.FetchSchema(
                    options with { WaitForReady = Waits(connection.WaitsForReady) }, Cancellation);
            }
            catch (RpcException e)
            {
                lock (_unreached)
                {
                    _unreached[connection] = e;
                }
            }
            catch (OperationCanceledException) when (Cancellation.IsCancellationRequested)
            {
                // Thrown here, because the parallel loop would wrap it in an AggregateException.
            }
        });
        Cancellation.ThrowIfCancellationRequested();
    }

    private void StartCall(
        CallPlace place, Func<Func<CancellationToken, IAsyncEnumerable<object>>> prepare)
    {
        FanOutCall call;
        try
        {
            call = new(place, prepare(), CurrentRow);
        }
        catch (RpcException e) when (PassThruResult)
        {
            // An endpoint that cannot be called also has a row.
            call = FanOutCall.Failed(place, e);
        }

        if (PassThruResult)
        {
            _rows ??= new CallRows(Tagged);
            call = _rows.RowOf(call);
        }

        if (AsJob)
        {
            _jobCalls.Add(call);
            return;
        }

        _fanOut ??= new FanOut(ThrottleLimit, WriteResult, NewProgress("Calling"), Cancellation)
        {
            Total = IsFed ? null : Math.Max(Targets.Count, Connection?.Length ?? 1),
        };
        _fanOut.Start(call);
    }

    private void FinishCalls()
    {
        if (AsJob)
        {
            RpcCallJob job = new(
                Caller.MyInvocation.Line.Trim(), Title("Calling"), _jobCalls, Tagged, CompleteRows);
            Caller.JobRepository.Add(job);
            job.Start(ThrottleLimit);
            WriteObject(job);
            return;
        }

        _fanOut?.Finish();
        CompleteRows();
    }

    private void CompleteRows()
    {
        if (_rows is not null)
        {
            _rows.Summary.IsComplete = true;
        }
    }

    private Func<CancellationToken, IAsyncEnumerable<object>> RepliesOver(
        RpcConnection connection, RpcReplyInfo? info) =>
        _unreached.TryGetValue(connection, out RpcException? failure) ? throw failure
            : IsRawCall ? ExecuteOver(connection)
            : InvokeOver(connection, info);

    private Func<CancellationToken, IAsyncEnumerable<object>> InvokeOver(
        RpcConnection connection, RpcReplyInfo? info)
    {
        RpcMethodInfo method = FindMethod(connection, out RpcClient client);
        CheckCommonParts(method);
        List<DynamicMessage> requests = Requests.ReadAll(method, Request);
        RpcCallOptions options = Options(info, method: method);
        return All ? PagesOver(client, method, requests, options)
            : method.IsUnary
            ? cancellation => OneOf(client.InvokeAsync(method, requests[0], options, cancellation))
            : cancellation => client.InvokeDuplexStreamAsync(
                method, requests.ToAsyncEnumerable(), options, cancellation);
    }

    private void CheckCommonParts(RpcMethodInfo? method = null)
    {
        if (ReplyInfoVariable is not null
            || (IsFed && method is { IsClientStreaming: true }))
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.NotForManyCalls,
                "Parallel calls cannot share response headers, trailers, extensions or a request stream. "
                + "Remove -ThrottleLimit, -AsJob, -PassThruResult and all but one connection or endpoint, "
                + "or -ReplyInfoVariable. "
                + "Give the messages of a request stream as a list with -Message.");
        }
    }

    private static async IAsyncEnumerable<object> OneOf<T>(Task<T> reply)
        where T : class
    {
        yield return await reply.ConfigureAwait(false);
    }

    private void WriteResult(FanOutResult result)
    {
        if (result.Error is { } error)
        {
            WriteError(RpcErrors.ToRecord(error, result.Place.Target, result.Row));
        }
        else
        {
            WriteObject(Tagged(result, WriteWarning));
        }
    }

    // Like PSComputerName of Invoke-Command, the property shows which server replied. A null reply, which a
    // Value can contain, cannot have it.
    private PSObject? Tagged(FanOutResult result, Action<string> warn)
    {
        if (result.Reply is RpcCallResult row)
        {
            row.Warnings.ForEach(warn);
            return PSObject.AsPSObject(row);
        }

        RpcEndpoint endpoint = result.Place.Server!;
        object? reply = result.Reply is DynamicMessage message
            ? Replies.ToObject(message, endpoint, warn)
            : result.Reply;
        return reply is null ? null : ReplyObjects.Tag(reply, endpoint);
    }

    private readonly Lock _mapping = new();
    private IReadOnlyList<EndpointTarget>? _targets;
    private RpcEndpoint[]? _parsed;
    private RpcSchema? _given;
    private PooledClient? _kept;
    private RpcConnection? _keptConnection;
    private bool _renewed;

    private IReadOnlyList<EndpointTarget> Targets => _targets ??= EndpointTarget.Find(Endpoint);

    private RpcEndpoint[] Parsed => _parsed ??=
        [.. Targets.Select(target => target.Endpoint).OfType<RpcEndpoint>()];

    private RpcSchema? GivenSchema => Schema is null ? null : _given ??= ResolveKept(Schema);

    private protected override RpcClientOptions SchemaOptionsOf(RpcEndpoint endpoint) =>
        SchemaOptionsFor(endpoint, Parsed);

    private void CheckInput()
    {
        object? input = Unwrap(InputObject);
        if (IsOneLiner && input is RpcConnection)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.ParameterNotSupported,
                "A connection from the pipeline and -Endpoint cannot be used together. Remove one of them.");
        }
    }

    // The connection of the only endpoint, for all objects of the pipeline.
    private RpcConnection KeepConnection()
    {
        if (_keptConnection is null)
        {
            _kept = Plan(Targets[0])();
            _keptConnection = new RpcConnection(0, _kept.Client);
        }

        return _keptConnection;
    }

    // Options are read on the pipeline's thread, because the client may be created on another thread.
    private Func<PooledClient> Plan(EndpointTarget target)
    {
        RpcEndpoint endpoint = target.Require();
        RpcSchema? schema = SchemaFor(target);
        CheckParameters(target, Parsed);
        RefuseCallContext();
        RpcClientOptions options = CreateOptions();
        ClientKey key = ClientKey.Create(endpoint, schema, options);
        RunspaceStore store = Store;
        options = options with { LoggerFactory = store.Log, Trace = store.Trace };
        CancellationToken cancellation = AsJob ? CancellationToken.None : Cancellation;
        return () => store.Clients.Rent(
            key, () => RpcClient.Connect(endpoint, schema, options, cancellation));
    }

    private Func<CancellationToken, IAsyncEnumerable<object>> InvokeAt(
        EndpointTarget target, Lazy<object?> kept)
    {
        CheckCommonParts();
        Func<PooledClient> rent = Plan(target);
        RpcCallOptions options = Options(info: null);
        IDictionary? extension = (IDictionary?)Snapshot(Extension);
        if (SchemaFor(target) is { } schema)
        {
            // Read before any server is contacted, because all endpoints receive the same message.
            RpcMethodInfo found = ServiceMethod(schema, ServiceFor(target));
            CheckPages(found);
            List<DynamicMessage> known = Requests.ReadAll(found, Request);
            return cancellation => CallAsync(rent, request: null, known, options, extension, cancellation);
        }

        object? request = kept.Value;
        return cancellation => CallAsync(rent, request, known: null, options, extension, cancellation);
    }

    // A copy, because the call is made later and the script may reuse its hashtable for the next message.
    private object? Snapshot(object? value) => ObjectSnapshot.Create(value, Requests.Objects);

    private RpcSchema? SchemaFor(EndpointTarget target) => GivenSchema ?? NamedSchema(target);

    private string? ServiceFor(EndpointTarget target) =>
        Service ?? ConnectionOption?.Service ?? target.Named?.Service;

    private RpcMethodInfo ServiceMethod(RpcSchema schema, string? service) =>
        (service is null ? null : schema.GetService(service).FindMethod(Method)) ?? schema.GetMethod(Method);

    private async IAsyncEnumerable<object> CallAsync(
        Func<PooledClient> rent, object? request, List<DynamicMessage>? known, RpcCallOptions options,
        IDictionary? extension, [EnumeratorCancellation] CancellationToken cancellation)
    {
        using PooledClient kept = rent();
        RpcClient client = kept.Client;
        bool isFresh = known is not null;
        if (client.Schema is null)
        {
            CheckReflection(client);
            await client.FetchSchemaAsync(options, cancellation).ConfigureAwait(false);
            isFresh = true;
        }

        RpcMethodInfo method;
        List<DynamicMessage> requests;
        try
        {
            (method, requests) = Prepare(client, request, known);
        }
        catch (RpcException e) when (!isFresh && !kept.IsNew && MayBeOld(e))
        {
            await client.FetchSchemaAsync(options, cancellation).ConfigureAwait(false);
            (method, requests) = Prepare(client, request, known);
        }

        RpcCallOptions full = WithExtensions(options, method, extension);
        if (All)
        {
            await foreach (object element in PagesOver(client, method, requests, full)(cancellation)
                .ConfigureAwait(false))
            {
                yield return element;
            }

            yield break;
        }

        if (method.IsUnary)
        {
            yield return await client.InvokeAsync(method, requests[0], full, cancellation)
                .ConfigureAwait(false);
            yield break;
        }

        await foreach (DynamicMessage reply in client.InvokeDuplexStreamAsync(
            method, requests.ToAsyncEnumerable(), full, cancellation).ConfigureAwait(false))
        {
            yield return reply;
        }
    }

    private (RpcMethodInfo Method, List<DynamicMessage> Requests) Prepare(
        RpcClient client, object? request, List<DynamicMessage>? known)
    {
        RpcMethodInfo method = client.GetMethod(Method);
        if (known is not null)
        {
            return (method, known);
        }

        // PowerShell objects can only be used by one thread at a time.
        lock (_mapping)
        {
            return (method, Requests.ReadAll(method, request));
        }
    }

    // A replaced server may have another schema than the kept one.
    private static bool MayBeOld(RpcException error) => error.ErrorId is RpcErrorIds.MethodNotFound
        or RpcErrorIds.UnknownField or RpcErrorIds.ServiceNotFound;

    private bool RenewSchema(RpcException error)
    {
        bool renews = !_renewed && _kept is { IsNew: false } && MayBeOld(error)
            && SchemaFor(Targets[0]) is null;
        if (renews)
        {
            _renewed = true;
            _kept!.Client.FetchSchema(Options(info: null), Cancellation);
        }

        return renews;
    }

    private static void CheckReflection(RpcClient client)
    {
        if (!client.Endpoint.Has(EndpointFeatures.Reflection))
        {
            throw RpcErrors.NoSchema(client.Endpoint);
        }
    }

    private FileInfo? _messageFile;

    [Parameter(ParameterSetName = ByConnection)]
    [Parameter(ParameterSetName = ByEndpoint)]
    [ValidateNotNullOrEmpty]
    public string? MessagePath { get; set; }

    private FileInfo MessageFile => Message is null && (InputObject is null || !IsFed)
        ? _messageFile ??= new FileInfo(ResolveLiteral(MessagePath!))
        : throw new RpcException(
            RpcStatusCode.InvalidArgument, RpcErrorIds.ParameterNotSupported,
            "-MessagePath cannot be used with -Message or with messages from the pipeline. "
            + "Give one of them.");

    // For a connection to several servers, the reply shows which one replied.
    private void Write(RpcClient client, DynamicMessage reply, RpcReplyInfo? info)
    {
        RpcEndpoint server = info?.Endpoint ?? client.Endpoint;
        object? shown = Replies.ToObject(reply, server, WriteWarning);
        WriteObject(
            client.Endpoints.Count > 1 && shown is not null ? ReplyObjects.Tag(shown, server) : shown);
    }

    private readonly Dictionary<RpcConnection, (RpcSchema? Schema, RpcMethodInfo Method)> _methods = [];

    // A connection that the settings of the command line apply to.
    private RpcConnection Checked(RpcConnection connection)
    {
        CheckForConnection(connection);
        _connectionWaits = connection.WaitsForReady;
        return connection;
    }

    private RpcMethodInfo FindMethod(out RpcClient client) => FindMethod(Resolve(Connection?[0]), out client);

    private RpcMethodInfo FindMethod(RpcConnection connection, out RpcClient client)
    {
        client = connection.Client;
        _connectionWaits = connection.WaitsForReady;

        // Cached for the pipeline, except headers: a script may change them between two objects.
        bool isKnown = _methods.TryGetValue(connection, out (RpcSchema? Schema, RpcMethodInfo Method) found)
            && ReferenceEquals(found.Schema, client.Schema);
        if (!isKnown && !IsOneLiner)
        {
            Checked(connection);
        }

        HeaderMapping.CheckSecrets(CallOption.Header, connection.Endpoint);
        if (!isKnown)
        {
            RpcMethodInfo method = MethodOfCommand ?? FindMethod(connection);
            _methods[connection] = found = (client.Schema, method);
            if (IsVerbose)
            {
                int servers = client.Endpoints.Count;
                WriteVerbose(
                    $"Calling {found.Method.FullName} on "
                    + (servers > 1 ? $"one of {servers} servers" : $"{connection.Endpoint}"));
            }
        }

        return found.Method;
    }

    private void WriteRepeat(RpcClient client, RpcMethodInfo method, IEnumerable<DynamicMessage> requests)
    {
        if (!IsVerbose || IsDebug || _command is not null)
        {
            return;
        }

        string? endpoint = IsOneLiner ? Endpoint[0] : null;
        if (RepeatLine.Create(client, method, requests, endpoint, Schema, All) is { } line)
        {
            WriteVerbose(line);
        }
    }

    // A lazy connection to a gRPC server reads the schema with its first call.
    private RpcMethodInfo FindMethod(RpcConnection connection)
    {
        RpcClient client = connection.Client;
        if (client.Schema is null && client.Endpoint.Has(EndpointFeatures.Reflection))
        {
            foreach (string warning in client.FetchSchema(Options(info: null), Cancellation).Warnings)
            {
                WriteWarning(warning);
            }
        }

        return client.Schema is not null ? client.GetMethod(Method)
            : throw (IsOneLiner
                ? RpcErrors.NoSchema(connection.Endpoint)
                : RpcErrors.NoSchema(connection));
    }
}

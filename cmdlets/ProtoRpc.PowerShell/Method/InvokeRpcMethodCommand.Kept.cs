using System.Collections;
using System.Management.Automation;
using System.Runtime.CompilerServices;
using ProtoRpc.Client.Kept;
using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Objects;
using ProtoRpc.PowerShell.Runspaces;

namespace ProtoRpc;

// Calls of -Endpoint, over connections that the runspace keeps for the next ones.
public sealed partial class InvokeRpcMethodCommand
{
    private readonly Lock _mapping = new();
    private IReadOnlyList<EndpointTarget>? _targets;
    private RpcEndpoint[]? _parsed;
    private RpcSchema? _given;
    private KeptClient? _kept;
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
        object? input = InputObject is PSObject wrapped ? wrapped.BaseObject : InputObject;
        if (ParameterSetName == ByEndpoint && input is RpcConnection)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                "A connection from the pipeline and -Endpoint cannot be used together. Remove one of them.")
            {
                ErrorId = RpcErrorIds.ParameterNotSupported,
            };
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

    // Options are read here, on the thread of the pipeline; the client may be made on another.
    private Func<KeptClient> Plan(EndpointTarget target)
    {
        RpcEndpoint endpoint = target.Require();
        RpcSchema? schema = SchemaFor(target);
        CheckParameters(target, Parsed);
        RpcClientOptions options = CreateOptions();
        ClientKey key = ClientKey.Of(endpoint, schema, options);
        RunspaceStore store = Store;
        options.LoggerFactory = store.Log;
        options.Trace = store.Trace;
        CancellationToken cancellation = AsJob ? CancellationToken.None : Cancellation;
        return () => store.Clients.Rent(
            key, () => RpcClient.Connect(endpoint, schema, options, cancellation));
    }

    private Func<CancellationToken, IAsyncEnumerable<object>> InvokeAt(
        EndpointTarget target, Lazy<object?> kept)
    {
        CheckCommonParts();
        Func<KeptClient> rent = Plan(target);
        RpcCallOptions options = Options(info: null);
        IDictionary? extension = (IDictionary?)Snapshot(Extension);
        if (SchemaFor(target) is { } schema)
        {
            // Before anything is contacted: all endpoints take the same message.
            List<DynamicMessage> known = RequestsOf(ServiceMethod(schema, ServiceFor(target)), Request);
            return cancellation => CallAsync(rent, request: null, known, options, extension, cancellation);
        }

        object? request = kept.Value;
        return cancellation => CallAsync(rent, request, known: null, options, extension, cancellation);
    }

    // The call is made later, and the script may use its hashtable for the next message.
    private object? Snapshot(object? value) => ObjectSnapshot.Of(value, (PSObjectModel)Mapper.Objects);

    private RpcSchema? SchemaFor(EndpointTarget target) => GivenSchema ?? NamedSchema(target);

    private string? ServiceFor(EndpointTarget target) => Service ?? target.Named?.Service;

    private RpcMethodInfo ServiceMethod(RpcSchema schema, string? service) =>
        (service is null ? null : schema.GetService(service).FindMethod(Method)) ?? schema.GetMethod(Method);

    private async IAsyncEnumerable<object> CallAsync(
        Func<KeptClient> rent, object? request, List<DynamicMessage>? known, RpcCallOptions options,
        IDictionary? extension, [EnumeratorCancellation] CancellationToken cancellation)
    {
        using KeptClient kept = rent();
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
        if (method.IsUnary)
        {
            yield return await client.InvokeAsync(method, requests[0], full, cancellation)
                .ConfigureAwait(false);
            yield break;
        }

        await foreach (DynamicMessage reply in client.InvokeStreamAsync(
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

        // The objects of a shell are for one thread at a time.
        lock (_mapping)
        {
            return (method, RequestsOf(method, request));
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
            throw NoSchemaOf(client.Endpoint);
        }
    }

    private static RpcException NoSchemaOf(RpcEndpoint endpoint) => new(
        RpcStatusCode.FailedPrecondition,
        $"'{endpoint}' needs a schema, because servers on such endpoints do not publish theirs. "
        + "Give -Schema.")
    {
        ErrorId = RpcErrorIds.NoSchema,
    };
}

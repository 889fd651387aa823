using System.Runtime.CompilerServices;
using ProtoRpc.Client.Kept;
using ProtoRpc.PowerShell.Runspaces;

namespace ProtoRpc;

// Calls of -Endpoint, over connections that the runspace keeps for the next ones.
public sealed partial class InvokeRpcMethodCommand
{
    private readonly Lock _mapping = new();
    private IReadOnlyList<RpcEndpoint>? _parsed;
    private RpcSchema? _given;
    private KeptClient? _kept;
    private RpcConnection? _keptConnection;
    private bool _renewed;

    private IReadOnlyList<RpcEndpoint> Parsed => _parsed ??=
    [
        .. Endpoint.Select(text => RpcEndpoint.TryParse(text, out RpcEndpoint? endpoint) ? endpoint : null)
            .OfType<RpcEndpoint>(),
    ];

    private RpcSchema? GivenSchema => Schema is null ? null : _given ??= ResolveKept(Schema);

    private protected override RpcClientOptions SchemaOptionsOf(RpcEndpoint endpoint) =>
        SchemaOptionsFor(endpoint, Parsed);

    // The connection of the only endpoint, for all objects of the pipeline.
    private RpcConnection KeepConnection()
    {
        if (_keptConnection is null)
        {
            RpcEndpoint endpoint = RpcEndpoint.Parse(Endpoint[0]);
            _kept = Plan(endpoint)();
            _keptConnection = new RpcConnection(0, _kept.Client);
        }

        return _keptConnection;
    }

    // Options are read here, on the thread of the pipeline; the client may be made on another.
    private Func<KeptClient> Plan(RpcEndpoint endpoint)
    {
        CheckParameters(endpoint, Parsed);
        RpcSchema? schema = GivenSchema;
        RpcClientOptions options = CreateOptions();
        ClientKey key = ClientKey.Of(endpoint, schema, options);
        RunspaceStore store = RunspaceStore.Current;
        options.DebugLog = store.DebugLog.Add;
        options.Trace = store.Trace;
        CancellationToken cancellation = AsJob ? CancellationToken.None : Cancellation;
        return () => store.Clients.Rent(
            key, () => RpcClient.Connect(endpoint, schema, options, cancellation));
    }

    private Func<CancellationToken, IAsyncEnumerable<object>> InvokeAt(RpcEndpoint endpoint)
    {
        CheckCommonParts();
        Func<KeptClient> rent = Plan(endpoint);
        RpcCallOptions options = Options(info: null);
        object? request = Request;
        RpcSchema? schema = GivenSchema;
        List<DynamicMessage>? known = null;
        if (schema is not null)
        {
            // Before anything is contacted: all endpoints take the same message.
            known = RequestsOf(ServiceMethod(schema), request);
        }

        return cancellation => CallAsync(rent, request, known, options, cancellation);
    }

    private RpcMethodInfo ServiceMethod(RpcSchema schema) =>
        (Service is null ? null : schema.GetService(Service).FindMethod(Method)) ?? schema.GetMethod(Method);

    private async IAsyncEnumerable<object> CallAsync(
        Func<KeptClient> rent, object? request, List<DynamicMessage>? known, RpcCallOptions options,
        [EnumeratorCancellation] CancellationToken cancellation)
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

        RpcCallOptions full = WithExtensions(options, method);
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

    // A server that was replaced may tell another schema than the one that was kept.
    private static bool MayBeOld(RpcException error) => error.ErrorId is RpcErrorIds.MethodNotFound
        or RpcErrorIds.UnknownField or RpcErrorIds.ServiceNotFound;

    private bool RenewSchema(RpcException error)
    {
        bool renews = !_renewed && _kept is { IsNew: false } && Schema is null && MayBeOld(error);
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
        $"'{endpoint}' is called without a schema, and servers on such endpoints do not tell theirs. "
        + "Give -Schema.")
    {
        ErrorId = RpcErrorIds.NoSchema,
    };
}

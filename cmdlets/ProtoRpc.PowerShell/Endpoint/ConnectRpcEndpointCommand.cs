using System.Diagnostics;
using System.Globalization;
using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Completion;
using ProtoRpc.PowerShell.Connections;

namespace ProtoRpc;

[Cmdlet(VerbsCommunications.Connect, "RpcEndpoint", DefaultParameterSetName = ByEndpoint)]
[OutputType(typeof(RpcConnection))]
public sealed class ConnectRpcEndpointCommand : RpcEndpointCommand
{
    [Parameter]
    [CredentialSource]
    [ValidateNotNull]
    public RpcCredentialSource? Credential { get => Own.Credential; set => Own.Credential = value; }

    [Parameter]
    [TokenSource]
    [ValidateNotNull]
    public RpcTokenSource? Token { get => Own.Token; set => Own.Token = value; }

    [Parameter]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(HeaderCompleter))]
    public IDictionary? Header { get => Own.Header; set => Own.Header = value; }

    [Parameter]
    public SwitchParameter SkipCertificateCheck
    {
        get => Own.SkipCertificateCheck;
        set => Own.SkipCertificateCheck = value;
    }

    [Parameter]
    [ValidateNotNullOrEmpty]
    public RpcCertificateSource[] CACertificate
    {
        get => Own.CACertificate;
        set => Own.CACertificate = value;
    }

    [Parameter]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(CertificateCompleter))]
    public RpcCertificateSource? ClientCertificate
    {
        get => Own.ClientCertificate;
        set => Own.ClientCertificate = value;
    }

    [Parameter]
    [Alias("RetryCount")]
    [RetryTable]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(RetryCompleter))]
    public RpcRetryPolicy? Retry { get => Own.Retry; set => Own.Retry = value; }

    [Parameter]
    public RpcLoadBalancing LoadBalancing { get; set; }

    [Parameter]
    public SwitchParameter Lazy { get; set; }

    [Parameter]
    public SwitchParameter Reflection { get; set; }

    [Parameter]
    [ArgumentCompleter(typeof(InterfaceIdCompleter))]
    public Guid? InterfaceId { get => Own.InterfaceId; set => Own.InterfaceId = value; }

    protected override void Process()
    {
        if (Lazy && Reflection)
        {
            Fail(new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.ParameterNotSupported,
                "-Reflection reads the schema while connecting, and -Lazy does not connect yet. Remove one "
                + "of them. Without -Schema, a lazy connection to a gRPC endpoint reads the schema with its "
                + "first call."));
        }

        RpcSchema? schema = FindSchema();
        IReadOnlyList<EndpointTarget> targets = FindTargets();
        if (LoadBalancing != RpcLoadBalancing.None)
        {
            Guard(Endpoints, () => Connect(targets, schema));
            return;
        }

        foreach (EndpointTarget target in targets)
        {
            Guard(target.Name, () => Connect([target], schema));
        }
    }

    private protected override RpcClientOptions CreateOptions() => base.CreateOptions() with { Lazy = Lazy };

    // Without a schema, the connection can only send bytes to an interface.
    private Guid? RawInterface => Schema is not null ? null
        : Listener is null ? CommandOption.InterfaceId
        : Listener.IsRaw ? CommandOption.InterfaceId ?? Listener.InterfaceId[0]
        : null;

    // Makes one connection for all endpoints.
    private void Connect(IReadOnlyList<EndpointTarget> targets, RpcSchema? given)
    {
        // If several names are given, the options of the first one apply.
        RpcSchema? schema = SchemaOf(targets[0], given);
        foreach (EndpointTarget target in targets.Reverse())
        {
            CheckParameters(target, schema is null && RawInterface is not null);
            WriteVerbose(Lazy ? $"Will connect to {target.Endpoint}" : $"Connecting to {target.Endpoint}");
        }

        long start = Stopwatch.GetTimestamp();
        RpcEndpoint[] endpoints = [.. targets.Select(target => target.Require())];

        RunspaceStore store = RunspaceStore.Current;
        RpcConnection connection = schema is null && RawInterface is { } raw
            ? new(store.NextId(), ConnectRaw(endpoints[0], raw))
            : new(store.NextId(), ConnectClient(endpoints, schema));
        connection.WaitsForReady = Option.WaitForReady;
        if (Option.CallContext is { } context)
        {
            SetCallContext(connection, context);
        }

        store.Add(connection);
        WriteVerbose(Lazy ? $"Made the connection {connection.Id}" : string.Create(
            CultureInfo.InvariantCulture,
            $"Connected to {connection} in {Stopwatch.GetElapsedTime(start).TotalMilliseconds:0.###} ms"));
        WriteObject(connection);
    }

    private static void SetCallContext(RpcConnection connection, IDictionary values)
    {
        try
        {
            connection.CallContext = values;
        }
        catch
        {
            connection.Dispose();
            throw;
        }
    }

    private RpcRawClient ConnectRaw(RpcEndpoint endpoint, Guid interfaceId)
    {
        if (LoadBalancing != RpcLoadBalancing.None)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.LoadBalancingNotSupported,
                "-LoadBalancing requires -Schema. A raw connection uses one endpoint.");
        }

        return RpcRawClient.Connect(endpoint, interfaceId, CreateOptions(), Cancellation);
    }

    // Uses reflection on gRPC endpoints without a schema, or if -Reflection asks for it; a lazy connection
    // does so with its first call.
    private RpcClient ConnectClient(IReadOnlyList<RpcEndpoint> endpoints, RpcSchema? schema)
    {
        RpcClient client = LoadBalancing == RpcLoadBalancing.None
            ? RpcClient.Connect(endpoints[0], schema, CreateOptions(), Cancellation)
            : RpcClient.Connect(endpoints, LoadBalancing, schema, CreateOptions(), Cancellation);
        if (Lazy || !endpoints[0].Has(EndpointFeatures.Reflection) || (schema is not null && !Reflection))
        {
            return client;
        }

        try
        {
            foreach (string warning in client.FetchSchema(null, Cancellation).Warnings)
            {
                WriteWarning(warning);
            }

            return client;
        }
        catch
        {
            client.Dispose();
            throw;
        }
    }
}

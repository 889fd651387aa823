using System.Management.Automation;
using ProtoRpc.PowerShell.Handlers;
using ProtoRpc.PowerShell.Mock;
using ProtoRpc.PowerShell.Parameters;
using ProtoRpc.PowerShell.Runspaces;

namespace ProtoRpc;

[Cmdlet(VerbsCommon.New, "RpcMock", SupportsShouldProcess = true)]
[OutputType(typeof(RpcMockListener))]
public sealed class NewRpcMockCommand : RpcMockSetupCommand
{
    [Parameter(Mandatory = true, Position = 0)]
    [SchemaList]
    public RpcSchemaSource Schema { get; set; } = null!;

    [Parameter]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(ServiceCompleter))]
    public string[] Service { get; set; } = [];

    [Parameter]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(EndpointCompleter))]
    public string[] Endpoint { get; set; } = [];

    protected override void Begin()
    {
        try
        {
            RequireImpersonation();
            Start(Resolve(Schema));
        }
        catch (RpcException e)
        {
            // A terminating error, because the test cannot continue without a mock.
            Fail(e);
        }
    }

    private void Start(RpcSchema schema)
    {
        string[] endpoints = Endpoint.Length > 0 ? Endpoint : [RpcMock.NewEndpoint()];
        RpcEndpoint[] parsed = [.. endpoints.Select(RpcEndpoint.Parse)];
        HandlerEnvironment environment = CreateEnvironment();
        HandlerPool pool = CreatePool(environment, Limits, hasFilters: false);
        HttpEndpoints http = new()
        {
            EnableReflection = true,
            EnableHealth = true,
            CheckFailed = pool.Streams.Add,
        };
        RpcServerOptions options = new()
        {
            Limits = Limits,
            CallFailed = failed => pool.Streams.Add(HandlerFailure.ToRecord(failed)),
        };
        RpcMock mock = RpcMock.Create(
            schema, Service.Length > 0 ? Service : null, http.AddTo(options, parsed, environment));
        mock.Server.Completion.ContinueWith(_ => http.Dispose(), TaskScheduler.Default);
        MockSetup setup = ReadSetup(mock, environment, pool);
        setup.Apply();
        Array.ForEach(endpoints, endpoint => mock.AddEndpoint(endpoint));
        if (ShouldProcess(string.Join(", ", endpoints), "Start a mock"))
        {
            Start(schema, mock, pool, setup.Methods);
        }
    }

    private void Start(RpcSchema schema, RpcMock mock, HandlerPool pool, IReadOnlyList<string> methods)
    {
        try
        {
            StartWorkers(pool);
            mock.StartListening();
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
        RpcMockListener listener = new(store.NextId(), schema, mock, pool, methods);
        store.Add(listener);
        MockDrive.Add(listener, SessionState);
        WriteObject(listener);
    }
}

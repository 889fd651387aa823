using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Completion;

namespace ProtoRpc;

[Cmdlet(VerbsCommon.Open, "RpcStream", DefaultParameterSetName = ByConnection)]
[OutputType(typeof(RpcStream))]
public sealed class OpenRpcStreamCommand : RpcCmdlet
{
    private const string ByConnection = "Connection";
    private const string ByEndpoint = "Endpoint";

    [Parameter(Mandatory = true, Position = 0)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(MethodCompleter))]
    public string Method { get; set; } = "";

    [Parameter(Position = 1)]
    [AllowNull]
    [ArgumentCompleter(typeof(MessageCompleter))]
    public object? Message { get; set; }

    [Parameter(ValueFromPipeline = true, ParameterSetName = ByConnection)]
    [ValidateNotNull]
    [OneConnection]
    [ArgumentCompleter(typeof(ConnectionCompleter))]
    public RpcConnection[]? Connection { get; set; }

    [Parameter]
    [Deadline]
    public TimeSpan? Deadline { get; set; }

    [Parameter]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(HeaderCompleter))]
    public IDictionary? Header { get; set; }

    [Parameter]
    public SwitchParameter AllowUnknownField { get; set; }

    [Parameter(Mandatory = true, ParameterSetName = ByEndpoint)]
    [ValidateNotNullOrEmpty]
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
    public string? Service { get; set; }

    [Parameter]
    [ValidateNotNull]
    [ConnectionOptionTable]
    [ArgumentCompleter(typeof(ConnectionOptionCompleter))]
    public RpcConnectionOption? ConnectionOption { get; set; }

    protected override void Process()
    {
        // Invoke-RpcMethod finds the method, the connection and the settings, so that both cmdlets behave the
        // same.
        using InvokeRpcMethodCommand call =
            InvokeRpcMethodCommand.ForStream(this, ParameterSetName == ByEndpoint);
        Give(call);
        foreach (RpcConnection? given in (IEnumerable<RpcConnection?>?)Connection ?? [null])
        {
            Guard(Method, () => WriteObject(call.OpenStream(given)));
        }
    }

    private void Give(InvokeRpcMethodCommand call)
    {
        call.Method = Method;
        call.Message = Message;
        call.Deadline = Deadline;
        call.AllowUnknownField = AllowUnknownField;
        call.Endpoint = Endpoint;
        call.Schema = Schema;
        call.ConnectionOption = ConnectionOption;

        // Setting a parameter marks it as given, even if it is null.
        if (Header is not null)
        {
            call.Header = Header;
        }

        if (Service is not null)
        {
            call.Service = Service;
        }
    }
}

using System.Management.Automation;
using ProtoRpc.Calls;
using ProtoRpc.Messages;
using ProtoRpc.Schema;

namespace ProtoRpc.PowerShell;

[Cmdlet(VerbsLifecycle.Invoke, "RpcMethod", DefaultParameterSetName = ByConnection)]
[OutputType(typeof(PSObject), typeof(System.Collections.Specialized.OrderedDictionary), typeof(byte[]))]
public sealed class InvokeRpcMethodCommand : RpcConnectionCommand
{
    private const string ByMessage = "Message";
    private const string ByBytes = "Bytes";

    [Parameter(Mandatory = true, Position = 0, ParameterSetName = ByConnection)]
    [Parameter(Mandatory = true, Position = 0, ParameterSetName = ByMessage)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(MethodCompleter))]
    public string Method { get; set; } = "";

    [Parameter(Position = 1, ParameterSetName = ByConnection)]
    [Parameter(Position = 1, ValueFromPipeline = true, ParameterSetName = ByMessage)]
    [AllowNull]
    [ArgumentCompleter(typeof(MessageCompleter))]
    public object? Message { get; set; }

    [Parameter(Mandatory = true, ParameterSetName = ByBytes)]
    [AllowEmptyCollection]
    public byte[] Bytes { get; set; } = [];

    [Parameter(ValueFromPipeline = true, ParameterSetName = ByConnection)]
    [Parameter(ParameterSetName = ByMessage)]
    [Parameter(ValueFromPipeline = true, ParameterSetName = ByBytes)]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(ConnectionCompleter))]
    public override RpcConnection? Connection { get; set; }

    [Parameter]
    [Deadline]
    public TimeSpan? Deadline { get; set; }

    [Parameter(ParameterSetName = ByConnection)]
    [Parameter(ParameterSetName = ByMessage)]
    public SwitchParameter AsHashtable { get; set; }

    [Parameter(ParameterSetName = ByConnection)]
    [Parameter(ParameterSetName = ByMessage)]
    public SwitchParameter Raw { get; set; }

    [Parameter(ParameterSetName = ByConnection)]
    [Parameter(ParameterSetName = ByMessage)]
    public SwitchParameter AllowUnknownField { get; set; }

    protected override void Process()
    {
        if (ParameterSetName == ByBytes)
        {
            Guard(null, () => WriteObject(ResolveConnection().Raw.Execute(Bytes, Deadline, Cancellation)));
        }
        else
        {
            Guard(Method, Call);
        }
    }

    private void Call()
    {
        RpcConnection connection = ResolveConnection();
        RpcClient client = connection.Client;
        if (client.Schema is null)
        {
            throw RpcErrors.NoSchema(connection);
        }

        RpcMethodInfo method = client.GetMethod(Method);
        MessageMapper mapper = MapperFor(AsHashtable, AllowUnknownField);
        DynamicMessage request = Message is PSObject { BaseObject: DynamicMessage raw }
            ? raw
            : mapper.ToMessage(method.RequestType, Message);
        using TransferProgress progress = new($"Sending to {method.FullName}", WriteProgress);
        DynamicMessage reply = client.Invoke(method, request, Deadline, Cancellation, progress);
        WriteObject(Raw ? reply : mapper.ToObject(reply));
    }
}

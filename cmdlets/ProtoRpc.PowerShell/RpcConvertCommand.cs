using System.Management.Automation;
using ProtoRpc.Schema;

namespace ProtoRpc.PowerShell;

/// <summary>The base of cmdlets that convert messages: of which type, from what, in which format.</summary>
public abstract class RpcConvertCommand : RpcCmdlet
{
    private RpcMessageInfo? _type;

    [Parameter(Mandatory = true, Position = 0)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(MessageTypeCompleter))]
    public string Type { get; set; } = "";

    [Parameter(Mandatory = true, Position = 1, ValueFromPipeline = true)]
    [AllowNull]
    [AllowEmptyCollection]
    public object? InputObject { get; set; }

    [Parameter(Mandatory = true)]
    public RpcSchemaSource Schema { get; set; } = null!;

    [Parameter]
    public RpcMessageFormat Format { get; set; }

    [Parameter]
    public SwitchParameter NestRepeated { get; set; }

    [Parameter]
    public SwitchParameter AllowUnknownField { get; set; }

    private protected RpcMessageInfo MessageType => _type ??= Resolve(Schema).GetMessage(Type);
}

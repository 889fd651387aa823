using System.Management.Automation;
using ProtoRpc.Formats;
using ProtoRpc.Messages;
using ProtoRpc.Schema;

namespace ProtoRpc.PowerShell;

[Cmdlet(VerbsData.ConvertTo, "RpcMessage")]
[OutputType(typeof(byte[]), typeof(string))]
public sealed class ConvertToRpcMessageCommand : RpcCmdlet
{
    private RpcMessageInfo? _type;

    [Parameter(Mandatory = true, Position = 0)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(MessageTypeCompleter))]
    public string Type { get; set; } = "";

    [Parameter(Mandatory = true, Position = 1, ValueFromPipeline = true)]
    [AllowNull]
    public object? InputObject { get; set; }

    [Parameter(Mandatory = true)]
    public RpcSchemaSource Schema { get; set; } = null!;

    [Parameter]
    public RpcMessageFormat Format { get; set; }

    [Parameter]
    public SwitchParameter Indented { get; set; }

    [Parameter]
    public SwitchParameter IncludeDefault { get; set; }

    [Parameter]
    public SwitchParameter UseProtoName { get; set; }

    [Parameter]
    [ValidateNotNullOrEmpty]
    public string XmlRoot { get; set; } = FormatOptions.Default.XmlRoot;

    [Parameter]
    public SwitchParameter NestRepeated { get; set; }

    [Parameter]
    public SwitchParameter ExpandAny { get; set; }

    [Parameter]
    public SwitchParameter AllowUnknownField { get; set; }

    protected override void Process()
    {
        _type ??= Resolve(Schema).GetMessage(Type);
        DynamicMessage message = MapperFor(asHashtable: false, AllowUnknownField).ToMessage(_type, InputObject);
        MessageFormat format = Format.ToFormat();
        FormatOptions options = new()
        {
            Indented = Indented,
            IncludeDefaults = IncludeDefault,
            UseProtoNames = UseProtoName,
            XmlRoot = XmlRoot,
            NestedRepeated = NestRepeated,
            ExpandAny = ExpandAny,
        };
        WriteObject(
            format.IsText ? format.ToText(message, options) : format.ToArray(message, options),
            enumerateCollection: false);
    }
}

using System.Management.Automation;

namespace ProtoRpc;

[Cmdlet(VerbsData.ConvertTo, "RpcMessage", DefaultParameterSetName = ByConnection)]
[OutputType(typeof(byte[]), typeof(string))]
public sealed class ConvertToRpcMessageCommand : RpcConvertObjectCommand
{
    [Parameter]
    [ValidateSet(typeof(FormatNames))]
    public string Format { get; set; } = MessageFormats.Binary.Name;

    [Parameter]
    public SwitchParameter NestRepeated { get; set; }

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
    public SwitchParameter ExpandAny { get; set; }

    protected override void Process()
    {
        DynamicMessage message = ReadInput();
        MessageFormat format = MessageFormats.Named(Format);
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

using System.Management.Automation;
using System.Text;
using ProtoRpc.Messages;
using ProtoRpc.Messages.Mapping;
using ProtoRpc.PowerShell.Objects;

namespace ProtoRpc;

[Cmdlet(VerbsData.ConvertFrom, "RpcMessage", DefaultParameterSetName = ByConnection)]
[OutputType(typeof(PSObject), typeof(System.Collections.Specialized.OrderedDictionary))]
public sealed class ConvertFromRpcMessageCommand : RpcConvertCommand
{
    // A pipeline unrolls a byte array into single bytes, which are collected here.
    private readonly MemoryStream _bytes = new();
    private RpcMessageInfo? _type;

    [Parameter(Mandatory = true, Position = 0)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(MessageTypeCompleter))]
    public string Type { get; set; } = "";

    [Parameter]
    [ValidateSet(typeof(FormatNames))]
    public string Format { get; set; } = MessageFormats.Binary.Name;

    [Parameter]
    public SwitchParameter NestRepeated { get; set; }

    [Parameter]
    public SwitchParameter AsHashtable { get; set; }

    [Parameter]
    public SwitchParameter Raw { get; set; }

    protected override void Process()
    {
        switch (InputObject is PSObject wrapped ? wrapped.BaseObject : InputObject)
        {
            case byte one:
                _bytes.WriteByte(one);
                break;
            case null:
                Write(ReadOnlyMemory<byte>.Empty);
                break;
            case string text when MessageFormats.Named(Format).IsText:
                Write(Encoding.UTF8.GetBytes(text));
                break;
            case { } value:
                Write(ToBytes(value));
                break;
        }
    }

    protected override void End()
    {
        if (_bytes.Length > 0)
        {
            Write(_bytes.GetBuffer().AsMemory(0, (int)_bytes.Length));
        }
    }

    protected override void Dispose(bool disposing)
    {
        _bytes.Dispose();
        base.Dispose(disposing);
    }

    // Unlike a field of bytes, a message in binary is never text, so text is base64 also without a prefix.
    private static string? ReadBytes(object value, out byte[] bytes) =>
        value is string text && !text.Contains(':')
            ? BytesReader.ReadBase64(text, out bytes) is null
                ? null
                : "is not base64; give a byte array, base64 text or a stream."
            : BytesReader.Read(value, PSObjectModel.Instance, out bytes);

    private static byte[] ToBytes(object value) =>
        ReadBytes(value, out byte[] bytes) is { } wrong
            ? throw new RpcException(
                RpcStatusCode.InvalidArgument, $"-InputObject: {ValueText.Of(value)} {wrong}")
            {
                ErrorId = RpcErrorIds.InvalidInputObject,
            }
            : bytes;

    private void Write(ReadOnlyMemory<byte> bytes)
    {
        FormatOptions options = new()
        {
            // No limit: the limit protects against peers, and this data comes from the user.
            MaxElements = int.MaxValue,
            IgnoreUnknownFields = AllowUnknownField,
            NestedRepeated = NestRepeated,
        };
        DynamicMessage message =
            MessageFormats.Named(Format).Read(_type ??= FindSchema().GetMessage(Type), bytes, options);
        WriteObject(Raw ? message : ShellMapper.Create(AsHashtable).ToObject(message));
    }
}

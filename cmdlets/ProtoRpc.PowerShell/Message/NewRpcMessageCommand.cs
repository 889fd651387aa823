using ProtoRpc.Formats.Json;
using ProtoRpc.Messages.Mapping;
using ProtoRpc.PowerShell.Completion;
using ProtoRpc.PowerShell.Connections;
using ProtoRpc.PowerShell.Objects;
using ProtoRpc.Schema;

namespace ProtoRpc;

[Cmdlet(VerbsCommon.New, "RpcMessage", DefaultParameterSetName = ByConnection)]
[OutputType(typeof(System.Collections.Specialized.OrderedDictionary), typeof(string))]
public sealed class NewRpcMessageCommand : RpcDescribeCommand
{
    [Parameter(Mandatory = true, Position = 0)]
    [Alias("Method")]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(MessageOrMethodCompleter))]
    public string Type { get; set; } = "";

    [Parameter]
    public SwitchParameter Json { get; set; }

    protected override void Process()
    {
        RpcMessageInfo type = FindType();
        object message = MessageMapper.Blank(type);
        WriteObject(
            message is BlankMessage blank ? Json ? BlankJson.Write(blank) : blank
            : Json ? MessageFormats.Json.ToText(ShellMapper.Create(asHashtable: true).ToMessage(type, null))
            : ShellMapper.Create(asHashtable: true).Template(type));
    }

    private RpcMessageInfo FindType()
    {
        RpcSchema schema = ResolveSchema();
        return Find(() => schema.GetMessage(Type))
            ?? Find(() => GetMethod(schema).RequestType)
            ?? throw SchemaError.NameNotFound(
                "message", Type,
                [
                    .. schema.Messages.Select(message => message.FullName),
                    .. schema.Services.SelectMany(service => service.Methods)
                    .Select(method => method.FullName),
                ]);
    }

    // A bare name first refers to a method of the connection's own service.
    private RpcMethodInfo GetMethod(RpcSchema schema) => Schema is null
        ? RunspaceStore.Current.Resolve(Connection, "-Schema").Client.GetMethod(Type)
        : schema.GetMethod(Type);

    private static RpcMessageInfo? Find(Func<RpcMessageInfo> find)
    {
        try
        {
            return find();
        }
        catch (RpcException e) when (e.Code == RpcStatusCode.NotFound)
        {
            return null;
        }
    }
}

/// <summary>Offers methods, for their requests, and message types.</summary>
internal sealed class MessageOrMethodCompleter : RpcCompleter
{
    private readonly MethodCompleter _methods = new();
    private readonly MessageTypeCompleter _types = new();

    internal override IEnumerable<Candidate> Candidates(IDictionary bound) =>
        _methods.Candidates(bound).Concat(_types.Candidates(bound));
}

using System.Collections;
using System.Management.Automation;
using ProtoRpc.Messages;
using ProtoRpc.PowerShell.Method;
using ProtoRpc.PowerShell.Objects;

namespace ProtoRpc;

// Requests in all their forms, and replies.
public sealed partial class InvokeRpcMethodCommand
{
    private FileInfo? _messageFile;

    [Parameter(ParameterSetName = ByConnection)]
    [Parameter(ParameterSetName = ByEndpoint)]
    [ValidateNotNullOrEmpty]
    public string? MessagePath { get; set; }

    [Parameter(ParameterSetName = ByConnection)]
    [Parameter(ParameterSetName = ByInput)]
    [Parameter(ParameterSetName = ByEndpoint)]
    [ValidateSet(typeof(FormatNames))]
    public string? MessageFormat { get; set; }

    private FileInfo MessageFile => Message is null && (InputObject is null || !IsFed)
        ? _messageFile ??= new FileInfo(ResolveLiteral(MessagePath!))
        : throw new RpcException(
            RpcStatusCode.InvalidArgument,
            "-MessagePath cannot be used with -Message or with messages from the pipeline. Give one of them.")
        {
            ErrorId = RpcErrorIds.ParameterNotSupported,
        };

    // A list is a message each where the method takes a stream.
    private List<DynamicMessage> RequestsOf(RpcMethodInfo method, object? request)
    {
        object? value = request is PSObject wrapped ? wrapped.BaseObject : request;
        IEnumerable<object?> requests = !method.IsClientStreaming ? [request] : value switch
        {
            null => [],
            IList list and not byte[] => list.Cast<object?>(),
            _ => [request],
        };
        return [.. requests.Select(message => ToRequest(method, message))];
    }

    private DynamicMessage ToRequest(RpcMethodInfo method, object? message) =>
        message is PSObject { BaseObject: DynamicMessage raw }
            ? raw
            : WrittenMessage.TryRead(
                method.RequestType, message is PSObject wrapped ? wrapped.BaseObject : message,
                MessageFormat is null ? null : MessageFormats.Named(MessageFormat), AllowUnknownField)
            ?? Mapper.ToMessage(method.RequestType, message);

    private MessageMapper Mapper => _mapper ??= ShellMapper.Create(AsHashtable, AllowUnknownField);

    private void Write(RpcClient client, DynamicMessage reply)
    {
        CheckSchema(reply, client.Endpoint, WriteWarning);
        WriteObject(Raw ? reply : Replies.ToObject(reply));
    }

    // Fields that came as another type would look empty. Once is enough: the next reply is like this one.
    private void CheckSchema(DynamicMessage reply, RpcEndpoint endpoint, Action<string> warn)
    {
        if (!_warnedOfSchema && ReplyMismatch.Find(reply) is { } field)
        {
            _warnedOfSchema = true;
            warn(
                $"The schema does not match that of '{endpoint}': the field {field.FullName} was not sent as "
                + $"{field.TypeName} and is left empty. Use the server's .proto files. If the server has "
                + "reflection, Test-RpcEndpoint -Schema lists the differences.");
        }
    }
}

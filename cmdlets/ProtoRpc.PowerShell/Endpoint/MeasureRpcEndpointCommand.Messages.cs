using System.Collections;
using System.Management.Automation;
using ProtoRpc.PowerShell.Endpoint;
using ProtoRpc.PowerShell.Method;
using ProtoRpc.PowerShell.Objects;

namespace ProtoRpc;

// The requests that the calls send.
public sealed partial class MeasureRpcEndpointCommand
{
    private MessageMapper? _mapper;

    [Parameter(Position = 1)]
    [AllowNull]
    [ArgumentCompleter(typeof(MessageCompleter))]
    public object? Message { get; set; }

    [Parameter]
    public SwitchParameter AllowUnknownField { get; set; }

    [Parameter]
    public SwitchParameter RandomMessage { get; set; }

    [Parameter]
    public int Seed { get; set; }

    [Parameter]
    [ValidateRange(0, 4 * 1024 * 1024)]
    public int MaxMessageSize { get; set; } = new RpcRandomMessageOptions().MaxBytes;

    [Parameter]
    [ValidateRange(1, 100_000)]
    public int StreamLength { get; set; } = new RpcRandomMessageOptions().StreamLength;

    private MessageMapper Mapper => _mapper ??= ShellMapper.Create(asHashtable: false, AllowUnknownField);

    private ScriptRequests? ScriptOf(RpcMethodInfo method)
    {
        CheckRequests(method);
        return Unwrap(Message) is ScriptBlock script
            ? new ScriptRequests(script, method, message => ToRequest(method, message))
            : null;
    }

    private RpcLoadRequests RequestsOf(RpcMethodInfo method)
    {
        if (RandomMessage)
        {
            return RpcLoadRequests.Random(
                method,
                new RpcRandomMessageOptions
                {
                    Seed = Seed,
                    MaxBytes = MaxMessageSize,
                    StreamLength = StreamLength,
                });
        }

        IReadOnlyList<DynamicMessage> messages = MessagesOf(method, Message);
        return RpcLoadRequests.Same(
            method,
            IsGiven(nameof(StreamLength))
                ? [.. Enumerable.Range(0, StreamLength).Select(i => messages[i % messages.Count])]
                : messages);
    }

    private void CheckRequests(RpcMethodInfo method)
    {
        if (RandomMessage && IsGiven(nameof(Message)))
        {
            throw Invalid(
                "-Message and -RandomMessage cannot be used together. Remove one of them.");
        }

        foreach (string parameter in new[] { nameof(Seed), nameof(MaxMessageSize) })
        {
            if (!RandomMessage && IsGiven(parameter))
            {
                throw Invalid($"-{parameter} requires -RandomMessage.");
            }
        }

        if (IsGiven(nameof(StreamLength))
            && (!method.IsClientStreaming || Unwrap(Message) is ScriptBlock or ICollection { Count: 0 }))
        {
            throw Invalid(
                "-StreamLength is the number of messages that a call sends. It requires a method with a "
                + "request stream, and -RandomMessage or a list as -Message.");
        }
    }

    // For a client-streaming method, each element of a list is one message.
    private IReadOnlyList<DynamicMessage> MessagesOf(RpcMethodInfo method, object? given)
    {
        object? value = Unwrap(given);
        bool isList = method.IsClientStreaming && value is IList && value is not byte[];
        IEnumerable<object?> messages = isList ? ((IList)value!).Cast<object?>() : [given];
        return [.. messages.Select(message => ToRequest(method, message))];
    }

    private DynamicMessage ToRequest(RpcMethodInfo method, object? message) =>
        message is PSObject { BaseObject: DynamicMessage raw }
            ? raw
            : WrittenMessage.TryRead(method.RequestType, Unwrap(message), format: null, AllowUnknownField)
                ?? Mapper.ToMessage(method.RequestType, message);

    private static object? Unwrap(object? value) => value is PSObject wrapped ? wrapped.BaseObject : value;
}

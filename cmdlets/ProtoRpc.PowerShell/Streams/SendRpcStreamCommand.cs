using ProtoRpc.PowerShell.Completion;
using ProtoRpc.PowerShell.Connections;
using ProtoRpc.PowerShell.Methods;

namespace ProtoRpc;

[Cmdlet(VerbsCommunications.Send, "RpcStream")]
public sealed class SendRpcStreamCommand : RpcStreamCommand
{
    private RequestReader? _requests;
    private bool _failed;

    [Parameter(Mandatory = true, Position = 0)]
    [ValidateNotNull]
    public RpcStream Stream { get; set; } = null!;

    [Parameter(Position = 1)]
    [AllowNull]
    [ArgumentCompleter(typeof(MessageCompleter))]
    public object? Message { get; set; }

    // Separate from -Message, because PowerShell does not complete parameters that are bound from the
    // pipeline.
    [Parameter(ValueFromPipeline = true)]
    [AllowNull]
    [ArgumentCompleter(typeof(MessageCompleter))]
    public object? InputObject { get; set; }

    [Parameter]
    [Deadline]
    public TimeSpan Timeout { get; set; } = System.Threading.Timeout.InfiniteTimeSpan;

    [Parameter]
    public SwitchParameter AllowUnknownField { get; set; }

    private protected override object? RowObject => MyInvocation.ExpectingInput ? InputObject : null;

    protected override void Process()
    {
        // The order of messages matters, so after a message that could not be sent no further ones are sent.
        if (!_failed)
        {
            _failed = !Guard(Stream, Send);
        }
    }

    private void Send()
    {
        _requests ??= new RequestReader(AllowUnknownField);
        StreamConversation talk = Stream.Talk;
        bool isList = Message is not null;
        List<DynamicMessage> messages = isList
            ? _requests.ReadAll(talk.Method, Message)
            : [_requests.Read(talk.Method, InputObject)];
        Report(talk, () => messages.ForEach(message => talk.Send(message, Wait(Timeout))));
    }
}

[Cmdlet(VerbsLifecycle.Complete, "RpcStream")]
public sealed class CompleteRpcStreamCommand : RpcStreamCommand
{
    [Parameter(Mandatory = true, Position = 0, ValueFromPipeline = true)]
    [ValidateNotNull]
    public RpcStream Stream { get; set; } = null!;

    protected override void Process() => Guard(Stream, () =>
    {
        StreamConversation talk = Stream.Talk;
        Report(talk, () => talk.Complete(Wait(Timeout.InfiniteTimeSpan)));
    });
}

[Cmdlet(VerbsCommon.Close, "RpcStream")]
public sealed class CloseRpcStreamCommand : RpcStreamCommand
{
    [Parameter(Mandatory = true, Position = 0, ValueFromPipeline = true)]
    [ValidateNotNull]
    public RpcStream Stream { get; set; } = null!;

    protected override void Process() => Guard(Stream, () =>
    {
        // A mock of New-MockObject has no stream to close.
        if (Stream.MethodInfo is not null)
        {
            Report(Stream.Talk, Stream.Dispose);
        }
    });
}

/// <summary>The base of cmdlets that use an open stream.</summary>
public abstract class RpcStreamCommand : RpcCmdlet
{
    private protected RpcStreamCommand()
    {
    }

    /// <summary>A wait that also ends with Ctrl+C.</summary>
    private protected StreamWait Wait(TimeSpan time) => new(time, Cancellation);

    /// <summary>Runs an action, and writes the verbose line of a call that has ended.</summary>
    private protected void Report(StreamConversation talk, Action action)
    {
        try
        {
            action();
        }
        finally
        {
            if (IsVerbose && !Stopping && talk.EndLine() is { } line)
            {
                WriteVerbose(line);
            }
        }
    }
}

using System.Management.Automation;

namespace ProtoRpc;

// The cmdlet as a part of a command of a service: the command's parameters make the messages, and what the
// cmdlet writes goes to the command's output and error stream.
public sealed partial class InvokeRpcMethodCommand
{
    private PSCmdlet? _command;
    private IReadOnlySet<string>? _givenToCommand;
    private CancellationTokenRegistration _stopping;
    private object? _inputOfCommand;
    private Func<object?>? _messageOfCommand;

    /// <summary>The method that the command calls, which does not depend on the schema of a connection; null
    /// outside of a command.</summary>
    internal RpcMethodInfo? MethodOfCommand { get; private init; }

    // Whose invocation and jobs they are. Of the cmdlet alone, that is itself.
    private protected override PSCmdlet Caller => _command ?? this;

    private IEnumerable<string> Given =>
        _givenToCommand ?? (IEnumerable<string>)MyInvocation.BoundParameters.Keys;

    /// <summary>The cmdlet for a command that is running.</summary>
    /// <param name="command">The command.</param>
    /// <param name="method">The method that it calls.</param>
    /// <param name="given">The parameters of this cmdlet that were given to the command.</param>
    internal static InvokeRpcMethodCommand For(
        PSCmdlet command, RpcMethodInfo method, IReadOnlySet<string> given)
    {
        InvokeRpcMethodCommand cmdlet = new()
        {
            CommandRuntime = command.CommandRuntime,
            Method = method.FullName,
            MethodOfCommand = method,
            _command = command,
            _givenToCommand = given,
        };
        cmdlet._stopping = command.PipelineStopToken.UnsafeRegister(
            static state => ((InvokeRpcMethodCommand)state!).StopProcessing(), cmdlet);
        return cmdlet;
    }

    /// <summary>The begin block of the command.</summary>
    internal void BeginCommand() => BeginProcessing();

    /// <summary>The process block of the command.</summary>
    /// <param name="message">Makes the message, or for a stream the messages.</param>
    /// <param name="input">What it is made of, for errors; null for parameters alone.</param>
    internal void ProcessCommand(Func<object?> message, object? input)
    {
        _inputOfCommand = input;
        _messageOfCommand = message;
        ProcessRecord();
    }

    // Within the record, so that an error names its row.
    private bool MakeMessage() =>
        _messageOfCommand is not { } make || Guard(Method, () => InputObject = make());

    /// <summary>The end block of the command.</summary>
    internal void EndCommand() => EndProcessing();

    /// <summary>Ends the command with an error.</summary>
    internal void FailCommand(RpcException error) => Fail(error, Method);

    /// <summary>Cancelled when the command is stopped.</summary>
    internal CancellationToken CancellationOfCommand => Cancellation;

    private protected override bool IsGiven(string parameter) =>
        _givenToCommand?.Contains(parameter) ?? base.IsGiven(parameter);
}

using System.Collections;
using System.Management.Automation;
using ProtoRpc.Commands;
using ProtoRpc.PowerShell.Service;

namespace ProtoRpc;

/// <summary>A call of a service's command: its parameters make the messages, and Invoke-RpcMethod sends
/// them.</summary>
public sealed class RpcServiceCall : IDisposable
{
    private static readonly HashSet<string> Own = new(StringComparer.OrdinalIgnoreCase)
    {
        nameof(InvokeRpcMethodCommand.Connection), nameof(InvokeRpcMethodCommand.Deadline),
        nameof(InvokeRpcMethodCommand.Header), nameof(InvokeRpcMethodCommand.AsHashtable),
        nameof(InvokeRpcMethodCommand.ThrottleLimit), nameof(InvokeRpcMethodCommand.AsJob),
    };

    private readonly InvokeRpcMethodCommand _invoke;
    private readonly CommandRequest _request;

    internal RpcServiceCall(
        RpcServiceModule module, ServiceCommand plan, PSCmdlet command, IDictionary<string, object?> bound)
    {
        HashSet<string> given = new(bound.Keys.Where(Own.Contains), StringComparer.OrdinalIgnoreCase);
        _invoke = InvokeRpcMethodCommand.For(command, plan.Method, given);
        try
        {
            _request = new CommandRequest(plan, bound, command.MyInvocation.ExpectingInput);
            SetParameters(module, given, bound);
            _invoke.BeginCommand();
        }
        catch (RpcException e)
        {
            _invoke.FailCommand(e);
            throw;
        }
    }

    /// <summary>Makes a call, or sends a message of a stream.</summary>
    public void Process(IDictionary<string, object?> bound) =>
        _invoke.ProcessCommand(() => _request.Next(bound));

    /// <summary>Ends the stream, and waits for calls that run.</summary>
    public void End() => _invoke.EndCommand();

    /// <summary>Cancels what still runs.</summary>
    public void Dispose() => _invoke.Dispose();

    private void SetParameters(
        RpcServiceModule module, HashSet<string> given, IDictionary<string, object?> bound)
    {
        if (bound.TryGetValue(nameof(_invoke.Connection), out object? connection))
        {
            _invoke.Connection = (RpcConnection[])connection!;
        }
        else if (module.ConnectionFor(_invoke.CancellationOfCommand) is { } own)
        {
            // As if it were given: objects of the pipeline are messages, whatever they are.
            _invoke.Connection = [own];
            given.Add(nameof(_invoke.Connection));
        }

        if (bound.TryGetValue(nameof(_invoke.Deadline), out object? deadline))
        {
            _invoke.Deadline = (TimeSpan?)deadline;
        }

        if (bound.TryGetValue(nameof(_invoke.Header), out object? header))
        {
            _invoke.Header = (IDictionary)header!;
        }

        if (bound.TryGetValue(nameof(_invoke.AsHashtable), out object? asHashtable))
        {
            _invoke.AsHashtable = (SwitchParameter)asHashtable!;
        }

        if (bound.TryGetValue(nameof(_invoke.ThrottleLimit), out object? limit))
        {
            _invoke.ThrottleLimit = (int)limit!;
        }

        if (bound.TryGetValue(nameof(_invoke.AsJob), out object? asJob))
        {
            _invoke.AsJob = (SwitchParameter)asJob!;
        }
    }
}

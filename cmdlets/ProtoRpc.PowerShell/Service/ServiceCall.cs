using System.Collections;
using System.Management.Automation;
using ProtoRpc.Commands;

namespace ProtoRpc.PowerShell.Service;

/// <summary>A call of a service's command: its parameters make the messages, and Invoke-RpcMethod sends
/// them.</summary>
internal sealed class ServiceCall : IDisposable
{
    private readonly InvokeRpcMethodCommand _invoke;
    private readonly CommandRequest _request;

    // Kept, so that objects of the pipeline do not allocate a delegate each.
    private readonly Func<object?> _next;
    private object? _input;

    public ServiceCall(RpcServiceModule module, ServiceCommand plan, RpcServiceCommand command)
    {
        _next = () => _request!.Next(_input);
        HashSet<string> given = new(StringComparer.OrdinalIgnoreCase);
        _invoke = InvokeRpcMethodCommand.For(command, plan.Method, given);
        try
        {
            _request = new CommandRequest(plan, command.MyInvocation.ExpectingInput);
            foreach ((string name, object? value) in command.MyInvocation.BoundParameters)
            {
                if (SetOwn(name, value))
                {
                    given.Add(name);
                }
                else
                {
                    _request.Give(name, value);
                }
            }

            if (_invoke.Connection is null && module.ConnectionFor(_invoke.CancellationOfCommand) is { } own)
            {
                // As if -InputObject were given: all objects of the pipeline are messages.
                _invoke.Connection = [own];
                given.Add(nameof(_invoke.Connection));
            }

            _invoke.BeginCommand();
        }
        catch (RpcException e)
        {
            using (_invoke)
            {
                _invoke.FailCommand(e);
            }

            throw;
        }
        catch
        {
            _invoke.Dispose();
            throw;
        }
    }

    /// <summary>Makes a call, or sends a message of a stream.</summary>
    /// <param name="input">The object of the pipeline, or of -InputObject; null for none.</param>
    public void Process(object? input)
    {
        _input = input;
        _invoke.ProcessCommand(_next, input);
    }

    /// <summary>Ends the stream, and waits for calls that run.</summary>
    public void End() => _invoke.EndCommand();

    /// <summary>Cancels what still runs.</summary>
    public void Dispose() => _invoke.Dispose();

    // Parameters of Invoke-RpcMethod; the others are fields.
    private bool SetOwn(string name, object? value)
    {
        switch (name)
        {
            case nameof(_invoke.Connection):
                _invoke.Connection = (RpcConnection[])value!;
                return true;
            case nameof(_invoke.Deadline):
                _invoke.Deadline = (TimeSpan?)value;
                return true;
            case nameof(_invoke.Header):
                _invoke.Header = (IDictionary)value!;
                return true;
            case nameof(_invoke.AsHashtable):
                _invoke.AsHashtable = (SwitchParameter)value!;
                return true;
            case nameof(_invoke.ThrottleLimit):
                _invoke.ThrottleLimit = (int)value!;
                return true;
            case nameof(_invoke.AsJob):
                _invoke.AsJob = (SwitchParameter)value!;
                return true;
            default:
                return false;
        }
    }
}

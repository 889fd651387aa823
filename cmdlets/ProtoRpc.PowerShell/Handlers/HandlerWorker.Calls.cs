using System.Diagnostics;
using System.Management.Automation;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc.PowerShell.Handlers;

// Runs the calls, one after the other, in the runspace.
internal sealed partial class HandlerWorker
{
    private void RunCall(HandlerCall call)
    {
        long start = Stopwatch.GetTimestamp();
        Activity? outer = Activity.Current;
        if (outer != call.Activity)
        {
            // Calls of the script belong to the trace of its caller.
            Activity.Current = call.Activity;
        }

        try
        {
            // The previous call was of another caller, whose sessions on other servers are not for this one.
            _pool.Environment.Forget(_runspace!);
            _running = call;
            call.Run(this);
        }
        catch (PipelineStoppedException) when (_stopping)
        {
            throw;
        }
        catch (Exception e)
        {
            call.Fail(Explain(HandlerReply.Unwrap(e, _pool.Scripts), call));
        }
        finally
        {
            _running = null;
            if (Activity.Current != outer)
            {
                Activity.Current = outer;
            }

            call.Script.Pace.Note(start);
        }
    }

    private static Exception Explain(Exception failure, HandlerCall call)
    {
        try
        {
            if (failure is RpcException { Details.Count: > 0 } rpc)
            {
                ErrorDetails.ToMessages(rpc, (call.Context as RpcServerCallContext)?.Method.Service.Schema);
            }

            if (failure is RpcException extended && HeaderExtensions.AreSentWith(extended))
            {
                ErrorDetails.ToExtensions(
                    extended, (call.Context as RpcServerCallContext)?.Method.Service.Schema);
            }

            return failure;
        }
        catch (RpcException e)
        {
            return new RpcException(
                RpcStatusCode.Internal,
                $"The details or extensions of '{failure.Message}' cannot be sent: {e.Message}", failure);
        }
    }
}

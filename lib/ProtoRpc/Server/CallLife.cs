namespace ProtoRpc.Server;

/// <summary>The life of a call on a server, the same on every face: it begins, is served or fails, is
/// answered, and ends.</summary>
/// <remarks>A face says how a call is read and how a reply and a failure are written. Nothing that happens
/// in a call leaves it as an exception, unless the failure itself cannot be written.</remarks>
internal abstract class CallLife(CallMonitor monitor)
{
    /// <summary>Runs the call and answers it, also when it fails.</summary>
    public async ValueTask RunAsync()
    {
        RpcStatusCode status = RpcStatusCode.Cancelled;
        monitor.Begin();
        try
        {
            status = await ServeAsync().ConfigureAwait(false);
        }
        catch (Exception e)
        {
            await CloseAsync().ConfigureAwait(false);
            if (!IsAbandoned)
            {
                status = await FailAsync(e).ConfigureAwait(false);
            }
        }
        finally
        {
            Release();
            monitor.End(status);
        }
    }

    /// <summary>Whether nobody waits for an answer, and the transport takes none.</summary>
    protected virtual bool IsAbandoned => false;

    /// <summary>Reads the request, has it handled and writes the reply.</summary>
    /// <returns>The status that the caller gets.</returns>
    protected abstract ValueTask<RpcStatusCode> ServeAsync();

    /// <summary>Answers a call that failed.</summary>
    /// <returns>The status that the caller gets.</returns>
    protected abstract ValueTask<RpcStatusCode> FailAsync(Exception error);

    /// <summary>Ends what a handler that was given up still reads or writes.</summary>
    protected virtual ValueTask CloseAsync() => default;

    /// <summary>Gives back what the call holds.</summary>
    protected virtual void Release()
    {
    }
}

using System.Diagnostics;

namespace ProtoRpc.Transports;

/// <summary>Waits by blocking the thread: every task that this returns is complete.</summary>
internal readonly struct BlockingWait : IWaitMode
{
    /// <inheritdoc/>
    public static ValueTask<int> ReceiveAsync(TransportConnection connection, Memory<byte> buffer) =>
        new(connection.Receive(buffer));

    /// <inheritdoc/>
    public static ValueTask SendAsync(TransportConnection connection, ReadOnlyMemory<byte> bytes)
    {
        connection.Send(bytes);
        return ValueTask.CompletedTask;
    }

    /// <inheritdoc/>
    public static ValueTask WaitAsync(ValueTask task)
    {
        if (task.IsCompletedSuccessfully)
        {
            return task;
        }

        task.AsTask().GetAwaiter().GetResult();
        return ValueTask.CompletedTask;
    }

    /// <inheritdoc/>
    public static ValueTask<bool> EnterAsync(
        SemaphoreSlim semaphore, TimeSpan timeout, CancellationToken cancellation) =>
        new(semaphore.Wait(timeout, cancellation));

    /// <inheritdoc/>
    public static ValueTask PauseAsync(TimeSpan time, CancellationToken cancellation)
    {
        if (cancellation.WaitHandle.WaitOne(time))
        {
            cancellation.ThrowIfCancellationRequested();
        }

        return ValueTask.CompletedTask;
    }

    /// <inheritdoc/>
    public static ValueTask<TResult> RunAsync<TResult>(Func<TResult> work) => new(work());

    /// <summary>The end of a body that was run in this mode.</summary>
    public static void End(ValueTask body)
    {
        Debug.Assert(body.IsCompleted, "A body waited for something that is not of its mode.");
        body.GetAwaiter().GetResult();
    }

    /// <summary>The result of a body that was run in this mode.</summary>
    public static TResult End<TResult>(ValueTask<TResult> body)
    {
        Debug.Assert(body.IsCompleted, "A body waited for something that is not of its mode.");
        return body.GetAwaiter().GetResult();
    }
}

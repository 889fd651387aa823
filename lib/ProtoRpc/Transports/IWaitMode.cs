using System.Diagnostics;

namespace ProtoRpc.Transports;

/// <summary>How code waits, so that blocking and asynchronous callers share it.</summary>
/// <remarks>The shared code is an async method with the mode as a type parameter. The modes are structs, so
/// each one gets its own machine code without virtual calls. With <see cref="BlockingWait"/>, every awaited
/// task is already complete, so the method runs to its end on the caller's thread, without allocating a state
/// machine.
/// </remarks>
internal interface IWaitMode
{
    /// <summary>Whether waiting blocks the thread.</summary>
    static abstract bool IsBlocking { get; }

    /// <summary>Receives some bytes.</summary>
    /// <returns>0 when the peer closed.</returns>
    static abstract ValueTask<int> ReceiveAsync(TransportConnection connection, Memory<byte> buffer);

    /// <summary>Sends all bytes.</summary>
    static abstract ValueTask SendAsync(TransportConnection connection, ReadOnlyMemory<byte> bytes);

    /// <summary>Waits for a task of other code, such as a handler.</summary>
    static abstract ValueTask WaitAsync(ValueTask task);

    /// <summary>Waits for the result of a task of other code.</summary>
    static abstract ValueTask<TResult> WaitAsync<TResult>(Task<TResult> task);

    /// <summary>Waits for a task of other code, for a limited time.</summary>
    /// <exception cref="TimeoutException">The time is over.</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    static abstract ValueTask WaitAsync(Task task, TimeSpan time, CancellationToken cancellation);

    /// <summary>Enters a semaphore.</summary>
    /// <returns>False when the time is over.</returns>
    static abstract ValueTask<bool> EnterAsync(
        SemaphoreSlim semaphore, TimeSpan timeout, CancellationToken cancellation);

    /// <summary>Lets some time pass.</summary>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    static abstract ValueTask PauseAsync(TimeSpan time, CancellationToken cancellation);

    /// <summary>Runs work that only exists in a blocking form.</summary>
    static abstract ValueTask<TResult> RunAsync<TResult>(Func<TResult> work);
}

/// <summary>Waits without holding a thread.</summary>
internal readonly struct AsyncWait : IWaitMode
{
    /// <inheritdoc/>
    public static bool IsBlocking => false;

    /// <inheritdoc/>
    public static ValueTask<int> ReceiveAsync(TransportConnection connection, Memory<byte> buffer) =>
        connection.ReceiveAsync(buffer, default);

    public static ValueTask SendAsync(TransportConnection connection, ReadOnlyMemory<byte> bytes) =>
        connection.SendAsync(bytes, default);

    public static ValueTask WaitAsync(ValueTask task) => task;

    public static ValueTask<TResult> WaitAsync<TResult>(Task<TResult> task) => new(task);

    /// <inheritdoc/>
    public static ValueTask WaitAsync(Task task, TimeSpan time, CancellationToken cancellation) =>
        new(task.WaitAsync(time, cancellation));

    /// <inheritdoc/>
    public static ValueTask<bool> EnterAsync(
        SemaphoreSlim semaphore, TimeSpan timeout, CancellationToken cancellation) =>
        new(semaphore.WaitAsync(timeout, cancellation));

    public static ValueTask PauseAsync(TimeSpan time, CancellationToken cancellation) =>
        new(Task.Delay(time, cancellation));

    public static ValueTask<TResult> RunAsync<TResult>(Func<TResult> work) => new(Task.Run(work));
}

/// <summary>Waits by blocking the thread: every task that this returns is complete.</summary>
internal readonly struct BlockingWait : IWaitMode
{
    /// <inheritdoc/>
    public static bool IsBlocking => true;

    /// <inheritdoc/>
    public static ValueTask<int> ReceiveAsync(TransportConnection connection, Memory<byte> buffer) =>
        new(connection.Receive(buffer));

    public static ValueTask SendAsync(TransportConnection connection, ReadOnlyMemory<byte> bytes)
    {
        connection.Send(bytes);
        return ValueTask.CompletedTask;
    }

    public static ValueTask WaitAsync(ValueTask task)
    {
        if (task.IsCompletedSuccessfully)
        {
            return task;
        }

        task.AsTask().GetAwaiter().GetResult();
        return ValueTask.CompletedTask;
    }

    public static ValueTask<TResult> WaitAsync<TResult>(Task<TResult> task) =>
        new(task.GetAwaiter().GetResult());

    /// <inheritdoc/>
    public static ValueTask WaitAsync(Task task, TimeSpan time, CancellationToken cancellation)
    {
        if (Task.WaitAny([task], (int)time.TotalMilliseconds, cancellation) < 0)
        {
            throw new TimeoutException();
        }

        task.GetAwaiter().GetResult();
        return ValueTask.CompletedTask;
    }

    /// <inheritdoc/>
    public static ValueTask<bool> EnterAsync(
        SemaphoreSlim semaphore, TimeSpan timeout, CancellationToken cancellation) =>
        new(semaphore.Wait(timeout, cancellation));

    public static ValueTask PauseAsync(TimeSpan time, CancellationToken cancellation)
    {
        if (cancellation.WaitHandle.WaitOne(time))
        {
            cancellation.ThrowIfCancellationRequested();
        }

        return ValueTask.CompletedTask;
    }

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

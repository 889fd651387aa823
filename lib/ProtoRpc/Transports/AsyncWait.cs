namespace ProtoRpc.Transports;

/// <summary>Waits without holding a thread.</summary>
internal readonly struct AsyncWait : IWaitMode
{
    /// <inheritdoc/>
    public static ValueTask<int> ReceiveAsync(TransportConnection connection, Memory<byte> buffer) =>
        connection.ReceiveAsync(buffer, default);

    /// <inheritdoc/>
    public static ValueTask SendAsync(TransportConnection connection, ReadOnlyMemory<byte> bytes) =>
        connection.SendAsync(bytes, default);

    /// <inheritdoc/>
    public static ValueTask WaitAsync(ValueTask task) => task;

    /// <inheritdoc/>
    public static ValueTask<bool> EnterAsync(
        SemaphoreSlim semaphore, TimeSpan timeout, CancellationToken cancellation) =>
        new(semaphore.WaitAsync(timeout, cancellation));

    /// <inheritdoc/>
    public static ValueTask PauseAsync(TimeSpan time, CancellationToken cancellation) =>
        new(Task.Delay(time, cancellation));

    /// <inheritdoc/>
    public static ValueTask<TResult> RunAsync<TResult>(Func<TResult> work) => new(Task.Run(work));
}

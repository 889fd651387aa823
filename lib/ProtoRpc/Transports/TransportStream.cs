namespace ProtoRpc.Transports;

/// <summary>A connection as a stream, for what is laid over it.</summary>
internal sealed class TransportStream(TransportConnection connection) : SequentialStream
{
    /// <inheritdoc/>
    public override bool CanRead => true;

    /// <inheritdoc/>
    public override bool CanWrite => true;

    /// <inheritdoc/>
    public override int Read(byte[] buffer, int offset, int count) =>
        connection.Receive(buffer.AsMemory(offset, count));

    /// <inheritdoc/>
    public override ValueTask<int> ReadAsync(
        Memory<byte> buffer, CancellationToken cancellationToken = default) =>
        connection.ReceiveAsync(buffer, cancellationToken);

    /// <inheritdoc/>
    public override void Write(byte[] buffer, int offset, int count) =>
        connection.Send(buffer.AsMemory(offset, count));

    /// <inheritdoc/>
    public override ValueTask WriteAsync(
        ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default) =>
        connection.SendAsync(buffer, cancellationToken);

    /// <inheritdoc/>
    public override Task FlushAsync(CancellationToken cancellationToken) => Task.CompletedTask;
}

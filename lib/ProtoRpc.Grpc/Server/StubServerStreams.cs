using ProtoRpc.Grpc.Client;

namespace ProtoRpc.Grpc.Server;

/// <summary>The requests of a call, for a generated service.</summary>
/// <param name="stream">The messages of the call.</param>
/// <param name="parser">Reads requests that an interceptor passed as another class.</param>
internal sealed class StubRequestReader<TRequest>(RpcServerStream stream, MessageParser parser)
    : IAsyncStreamReader<TRequest>
    where TRequest : class
{
    private Task<IMessage?>? _pending;
    private TRequest? _current;

    /// <inheritdoc/>
    public TRequest Current =>
        _current ?? throw new InvalidOperationException("No request has been read yet. Call MoveNext.");

    /// <inheritdoc/>
    public async Task<bool> MoveNext(CancellationToken cancellationToken)
    {
        cancellationToken.ThrowIfCancellationRequested();
        IMessage? request;
        if (cancellationToken.CanBeCanceled)
        {
            // A stream allows one read at a time, so after a cancelled wait the next call continues the same
            // read.
            _pending ??= stream.ReadAsync().AsTask();
            request = await _pending.WaitAsync(cancellationToken).ConfigureAwait(false);
            _pending = null;
        }
        else
        {
            request = _pending is { } pending
                ? await pending.ConfigureAwait(false)
                : await stream.ReadAsync().ConfigureAwait(false);
            _pending = null;
        }

        _current = request is null ? null : StubTypes.Cast<TRequest>(request, parser);
        return request is not null;
    }
}

/// <summary>The replies of a call, for a generated service.</summary>
/// <param name="stream">The messages of the call.</param>
/// <param name="context">The context, whose write options apply where the stream has none.</param>
internal sealed class StubReplyWriter<TReply>(RpcServerStream stream, StubServerContext context)
    : IServerStreamWriter<TReply>
    where TReply : class
{
    /// <inheritdoc/>
    public WriteOptions? WriteOptions { get; set; }

    /// <inheritdoc/>
    public Task WriteAsync(TReply message)
    {
        ArgumentNullException.ThrowIfNull(message);
        return stream.WriteAsync(
            (IMessage)message,
            compress: !StubCallOptions.IsUncompressed(WriteOptions ?? context.WriteOptions)).AsTask();
    }

    /// <inheritdoc/>
    public Task WriteAsync(TReply message, CancellationToken cancellationToken)
    {
        // A message that waits for the caller cannot be withdrawn. The end of the call ends the write.
        cancellationToken.ThrowIfCancellationRequested();
        return WriteAsync(message).WaitAsync(cancellationToken);
    }
}

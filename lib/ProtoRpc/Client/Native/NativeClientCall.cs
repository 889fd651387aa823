using ProtoRpc.Protocols.Headers;
using ProtoRpc.Transports;

namespace ProtoRpc.Client.Native;

/// <summary>One raw call on the client: write the request, execute, read the reply, dispose.</summary>
internal sealed class NativeClientCall(NativeConnectionPool client, PooledConnection slot) : IDisposable
{
    private PooledConnection? _slot = slot;
    private NativeConnection? _used;
    private bool _isExecuted;

    /// <summary>The buffer for the request, before <see cref="Execute"/>.</summary>
    public IBufferWriter<byte> Request => Slot.Request;

    /// <summary>The size of the request in bytes.</summary>
    public int RequestLength => Slot.Request.Length;

    /// <summary>The reply, after <see cref="Execute"/> and until this is disposed.</summary>
    public ReadOnlyMemory<byte> Reply => _used is { } used && _slot is not null ? used.Reply : default;

    private PooledConnection Slot => _slot ?? throw new ObjectDisposedException(nameof(NativeClientCall));

    /// <summary>Connects, so that an unreachable server is reported before the request is written.</summary>
    /// <exception cref="RpcException">Unavailable, DeadlineExceeded, Cancelled, or the reason why the server
    /// rejects the client.</exception>
    internal void Connect(CallClock clock) => BlockingWait.End(Slot.GetAsync<BlockingWait>(clock));

    /// <summary>Sends the request and blocks until the reply.</summary>
    /// <param name="timeout">How long to wait, including connecting; InfiniteTimeSpan for no limit.</param>
    /// <param name="cancellation">Cancels the call on both sides.</param>
    /// <returns>The interface's return code; 0 for success.</returns>
    /// <exception cref="RpcException">The status of a fault; Unavailable if the connection broke, with <see
    /// cref="RpcException.MayHaveExecuted"/>; DeadlineExceeded; Cancelled.</exception>
    /// <exception cref="OperationCanceledException">The token is already cancelled; nothing is
    /// sent.</exception>
    public int Execute(TimeSpan timeout, CancellationToken cancellation = default) =>
        BlockingWait.End(ExecuteAsync<BlockingWait>(CallClock.Start(timeout, cancellation)));

    /// <summary>Sends the request and waits for the reply, without blocking a thread.</summary>
    public ValueTask<int> ExecuteAsync(TimeSpan timeout, CancellationToken cancellation = default) =>
        ExecuteAsync<AsyncWait>(CallClock.Start(timeout, cancellation));

    /// <summary>Sends the request and waits for the reply, including connecting.</summary>
    public async ValueTask<int> ExecuteAsync<TWait>(CallClock clock)
        where TWait : struct, IWaitMode
    {
        PooledConnection slot = Slot;
        if (_isExecuted)
        {
            throw new InvalidOperationException("An exchange is executed once. Begin another one.");
        }

        _isExecuted = true;
        clock.Caller.ThrowIfCancellationRequested();
        clock.RequireTime(client.Endpoint);
        while (true)
        {
            (NativeConnection connection, bool isFresh) = await slot
                .GetAsync<TWait>(clock, client.Limits.ConnectTimeout).ConfigureAwait(false);
            try
            {
                // A type test, because a generic virtual method would be slow.
                uint? answer = await (connection is DceConnection stream
                    ? stream.CallAsync<TWait>(slot.Request, clock)
                    : ((MessageConnection)connection).CallAsync<TWait>(slot.Request, clock))
                    .ConfigureAwait(false);
                if (answer is { } returnCode)
                {
                    _used = connection;
                    return (int)returnCode;
                }
            }
            catch (RpcException)
            {
                slot.Drop(connection);
                throw;
            }

            slot.Drop(connection);

            // The server may have closed an idle connection before the request arrived. Only in this case is
            // the request sent again.
            if (isFresh)
            {
                throw CallErrors.NotSent(client.Endpoint);
            }
        }
    }

    /// <summary>Returns the connection for later calls. If the call has not ended, closes the
    /// connection.</summary>
    public void Dispose()
    {
        if (Interlocked.Exchange(ref _slot, null) is { } slot)
        {
            _used = null;
            client.Return(slot);
        }
    }
}

/// <summary>Sends a message in parts, like the original: each part is a call of <c>.multi</c>.</summary>
/// <param name="threshold">The size of a part including its headers; at least <see
/// cref="MinThreshold"/>.</param>
/// <param name="call">Makes one call.</param>
/// <param name="cancel">Makes the call that ends a transfer early. Its time is short, and independent of the
/// caller's token and deadline, which may be the reason for it.</param>
internal sealed class MultiPartSender(
    int threshold, Func<RpcMultiPartRequest, RpcMultiPartResponse> call, Action<RpcMultiPartRequest> cancel)
{
    /// <summary>The smallest threshold that the original accepts.</summary>
    public const int MinThreshold = 2048;

    // The space that the original reserves for headers in each part.
    private const int HeaderReserve = 1024;

    /// <summary>Whether a request is sent in parts.</summary>
    public static bool IsFor(RpcLimits limits, long length) =>
        limits.MultiPartThreshold > 0 && length >= limits.MultiPartThreshold;

    /// <summary>The largest request that is encoded: one that is sent in parts may be larger than a
    /// message.</summary>
    public static int MaxRequestBytes(RpcLimits limits) =>
        limits.MultiPartThreshold > 0 ? Array.MaxLength : limits.MaxMessageBytes;

    /// <summary>The size of the parts of an upload, which is sent in parts even if other requests are
    /// not.</summary>
    public static int PartBytes(RpcLimits limits) =>
        limits.MultiPartThreshold > 0 ? limits.MultiPartThreshold : limits.MaxMessageBytes;

    /// <summary>How long ending a transfer early may take.</summary>
    public static TimeSpan CancelTimeout { get; } = TimeSpan.FromSeconds(1);

    /// <summary>Reads the reply to a part.</summary>
    /// <exception cref="RpcException">Internal: the bytes are not a valid reply.</exception>
    public static RpcMultiPartResponse Read(ReplyBody body)
    {
        try
        {
            return RpcMultiPartResponse.Parser.ParseFrom(body.Bytes);
        }
        catch (InvalidProtocolBufferException e)
        {
            throw new RpcException(
                RpcStatusCode.Internal,
                $"The reply to a part of the message is not a {RpcMultiPartResponse.Descriptor.FullName}: "
                + e.Message,
                e)
            {
                ErrorId = RpcErrorIds.BadReply,
                MayHaveExecuted = true,
            };
        }
    }

    /// <summary>Sends a stream from its position to its end, and returns the reply's bytes.</summary>
    /// <exception cref="RpcException">Cancelled: the server accepts no more parts. Also the failure of a
    /// part's call.</exception>
    public ByteString Send(string method, Stream body, IProgress<RpcProgress>? progress)
    {
        int total = checked((int)(body.Length - body.Position));
        ByteString id = ByteString.CopyFrom(Guid.NewGuid().ToByteArray());
        byte[] chunk = new byte[threshold - HeaderReserve];
        int position = 0;
        bool isSent = false;
        try
        {
            while (true)
            {
                // If the file grows during the call, only its initial length is sent.
                int count = Math.Min(chunk.Length, total - position);
                body.ReadExactly(chunk, 0, count);
                bool isLast = position + count == total;
                RpcMultiPartRequest part = new()
                {
                    MessageStatus = isLast
                        ? RpcMultiPartRequest.Types.RpcMessageStatus.Complete
                        : RpcMultiPartRequest.Types.RpcMessageStatus.Continue,
                    TransactionId = id,
                    MethodName = method,
                    TotalBytes = total,
                    CurrentPosition = position,
                    BytesSent = count,
                    PayloadBytes = UnsafeByteOperations.UnsafeWrap(chunk.AsMemory(0, count)),
                };
                isSent = isLast;
                RpcMultiPartResponse reply = call(part);
                position += count;
                progress?.Report(new RpcProgress(position, total));
                if (isLast)
                {
                    return reply.HasResponseBytes ? reply.ResponseBytes : throw NoReply(method);
                }

                if (!reply.Continue)
                {
                    throw new RpcException(
                        RpcStatusCode.Cancelled,
                        $"The server cancelled the message for {method} after {position} bytes.");
                }
            }
        }
        catch when (!isSent)
        {
            // In the background: a server that does not answer would delay the error.
            _ = Task.Run(() => Cancel(id));
            throw;
        }
    }

    private static RpcException NoReply(string method) =>
        new(RpcStatusCode.Internal, $"The server did not answer the last part of the message for {method}.")
        {
            MayHaveExecuted = true,
        };

    private void Cancel(ByteString id)
    {
        try
        {
            cancel(new RpcMultiPartRequest
            {
                MessageStatus = RpcMultiPartRequest.Types.RpcMessageStatus.Cancel,
                TransactionId = id,
            });
        }
        catch (Exception e) when (e is RpcException or OperationCanceledException or ObjectDisposedException)
        {
            // The transfer expires on the server. The first failure is the one to report.
        }
    }
}

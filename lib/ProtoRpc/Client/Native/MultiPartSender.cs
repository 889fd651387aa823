using Google.Protobuf;
using ProtoRpc.Protocols.Headers;

namespace ProtoRpc.Client.Native;

/// <summary>Sends a message in parts, like the original: each part is a call of <c>.multi</c>.</summary>
/// <param name="threshold">The size of a part including its headers; at least <see
/// cref="MinThreshold"/>.</param>
/// <param name="call">Makes one call.</param>
/// <param name="cancel">Makes the call that ends a transfer early. It takes little time, and does not end
/// with the token and the deadline of the caller, which may be the reason.</param>
internal sealed class MultiPartSender(
    int threshold, Func<RpcMultiPartRequest, RpcMultiPartResponse> call, Action<RpcMultiPartRequest> cancel)
{
    /// <summary>How long ending a transfer early may take.</summary>
    public static TimeSpan CancelTimeout { get; } = TimeSpan.FromSeconds(1);

    /// <summary>The smallest threshold that the original accepts.</summary>
    public const int MinThreshold = 2048;

    // The space that the original reserves for headers in each part.
    private const int HeaderReserve = 1024;

    /// <summary>Reads the reply to a part.</summary>
    /// <exception cref="RpcException">Internal: the bytes are no such reply.</exception>
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
                // A file that grows meanwhile goes up as long as it was at the start.
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

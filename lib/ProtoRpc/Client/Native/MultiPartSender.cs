using Google.Protobuf;
using ProtoRpc.Protocols.Headers;

namespace ProtoRpc.Client.Native;

/// <summary>Sends a message in parts, as the original does: each part a call of <c>.multi</c>.</summary>
/// <param name="threshold">The size of a part with its headers; at least <see cref="MinThreshold"/>.</param>
/// <param name="call">Makes one call.</param>
internal sealed class MultiPartSender(int threshold, Func<RpcMultiPartRequest, RpcMultiPartResponse> call)
{
    /// <summary>The smallest threshold that the original takes.</summary>
    public const int MinThreshold = 2048;

    // What the original leaves for headers in each part.
    private const int HeaderReserve = 1024;

    /// <summary>Sends the bytes from the stream's position to its end, and returns the reply's.</summary>
    /// <exception cref="RpcException">Cancelled when the server wants no more;
    /// whatever a part's call throws.</exception>
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
                int count = body.ReadAtLeast(
                    chunk, Math.Min(chunk.Length, total - position), throwOnEndOfStream: true);
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
            Cancel(id);
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
            call(new RpcMultiPartRequest
            {
                MessageStatus = RpcMultiPartRequest.Types.RpcMessageStatus.Cancel,
                TransactionId = id,
            });
        }
        catch (Exception e) when (e is RpcException or OperationCanceledException)
        {
            // The server forgets the transfer in time; what failed first is the error.
        }
    }
}

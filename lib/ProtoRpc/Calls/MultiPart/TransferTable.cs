using Google.Protobuf;
using ProtoRpc.Calls.Headers;

namespace ProtoRpc.Calls.MultiPart;

/// <summary>The messages that are coming in parts, bounded in number and in bytes,
/// each caller's apart.</summary>
internal sealed class TransferTable(RpcLimits limits) : IDisposable
{
    private const int TransactionIdBytes = 16;
    private static readonly TimeSpan SweepPeriod = TimeSpan.FromSeconds(1);

    private readonly Dictionary<(string Owner, ByteString Id), Transfer> _transfers = [];
    private readonly Lock _gate = new();
    private Timer? _sweep;
    private bool _disposed;

    /// <summary>Transfers that have begun and not ended.</summary>
    public int Count
    {
        get
        {
            lock (_gate)
            {
                return _transfers.Count;
            }
        }
    }

    /// <summary>Takes a part.</summary>
    /// <returns>The whole message after its last part, for the caller to dispose; else null.</returns>
    /// <exception cref="RpcException">InvalidArgument for a part that does not follow,
    /// ResourceExhausted over a limit; the transfer is then dropped.</exception>
    public Transfer? Accept(string owner, RpcMultiPartRequest part)
    {
        if (part.TransactionId.Length != TransactionIdBytes)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"A transaction id has {TransactionIdBytes} bytes, not {part.TransactionId.Length}.");
        }

        (string, ByteString) key = (owner, part.TransactionId);
        Transfer transfer = part.CurrentPosition == 0 ? Begin(key, part) : Find(key);
        bool isLast = part.MessageStatus == RpcMultiPartRequest.Types.RpcMessageStatus.Complete;
        try
        {
            transfer.Append(part);
            if (!isLast)
            {
                return null;
            }

            transfer.RequireComplete();
        }
        catch
        {
            Drop(owner, part.TransactionId);
            throw;
        }

        lock (_gate)
        {
            _transfers.Remove(key);
        }

        return transfer;
    }

    /// <summary>Forgets a transfer that its sender gave up.</summary>
    public void Drop(string owner, ByteString transactionId)
    {
        Transfer? dropped;
        lock (_gate)
        {
            _transfers.Remove((owner, transactionId), out dropped);
        }

        dropped?.Dispose();
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        lock (_gate)
        {
            _disposed = true;
            _sweep?.Dispose();
        }

        DropWhere(_ => true);
    }

    /// <summary>Forgets the transfers that were abandoned.</summary>
    internal void Sweep()
    {
        long now = Environment.TickCount64;
        DropWhere(transfer => now - transfer.LastPart > limits.TransferIdleTimeout.TotalMilliseconds);
    }

    private void DropWhere(Func<Transfer, bool> condition)
    {
        List<Transfer> dropped = [];
        lock (_gate)
        {
            foreach (((string, ByteString) key, Transfer transfer) in _transfers.ToArray())
            {
                if (condition(transfer))
                {
                    _transfers.Remove(key);
                    dropped.Add(transfer);
                }
            }
        }

        dropped.ForEach(transfer => transfer.Dispose());
    }

    private Transfer Begin((string Owner, ByteString Id) key, RpcMultiPartRequest part)
    {
        lock (_gate)
        {
            ObjectDisposedException.ThrowIf(_disposed, this);
            if (_transfers.ContainsKey(key))
            {
                throw new RpcException(
                    RpcStatusCode.InvalidArgument, "A transfer of that transaction id has begun already.")
                {
                    ErrorId = "BadPart",
                };
            }

            RequireRoom(key.Owner, part.TotalBytes);
            Transfer transfer = new(key.Owner, part.MethodName, part.TotalBytes, limits.TransferMemoryBytes);
            _transfers.Add(key, transfer);
            _sweep ??= new Timer(
                static table => ((TransferTable)table!).Sweep(), this, SweepPeriod, SweepPeriod);
            return transfer;
        }
    }

    // By what the sender announces: nothing is set aside for it, and more than that is never taken.
    private void RequireRoom(string owner, int totalBytes)
    {
        if (totalBytes < 0)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, $"A message cannot have {totalBytes} bytes.");
        }

        long sum = totalBytes;
        int count = 1;
        foreach (Transfer other in _transfers.Values.Where(t => t.Owner == owner))
        {
            sum += other.TotalBytes;
            count++;
        }

        if (sum > limits.MaxTransferBytes)
        {
            throw Exhausted(
                $"the caller's messages in parts would have {sum} bytes, "
                + $"and {limits.MaxTransferBytes} are allowed");
        }

        if (count > limits.MaxTransfersPerCaller || _transfers.Count >= limits.MaxTransfers)
        {
            throw Exhausted("too many messages are coming in parts already");
        }
    }

    private static RpcException Exhausted(string why) =>
        new(RpcStatusCode.ResourceExhausted, $"The message is refused: {why}.") { ErrorId = "TooManyParts" };

    private Transfer Find((string, ByteString) key)
    {
        lock (_gate)
        {
            return _transfers.TryGetValue(key, out Transfer? transfer)
                ? transfer
                : throw new RpcException(
                    RpcStatusCode.InvalidArgument,
                    "No transfer of that transaction id has begun, or it was abandoned for too long. "
                    + "Send the message anew.")
                {
                    ErrorId = "BadPart",
                };
        }
    }
}

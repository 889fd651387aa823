using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Transports.Files;

namespace ProtoRpc.Server.Native;

/// <summary>The messages that arrive in parts, limited in number and in bytes, separately for each
/// caller.</summary>
internal sealed class TransferTable(RpcLimits limits, RequestMemory memory) : IDisposable
{
    private const int TransactionIdBytes = 16;
    private static readonly TimeSpan SweepPeriod = TimeSpan.FromSeconds(1);

    // A transfer that received a part in this time is not dropped for the bytes of another caller's new
    // transfer.
    private static readonly TimeSpan IdleForRoom = TimeSpan.FromSeconds(5);

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
    /// <param name="owner">The sender of the part.</param>
    /// <param name="part">The part.</param>
    /// <param name="holder">The caller whose limits apply; null for the owner.</param>
    public Transfer? Accept(string owner, RpcMultiPartRequest part, string? holder = null)
    {
        if (part.TransactionId.Length != TransactionIdBytes)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"A transaction id has {TransactionIdBytes} bytes, not {part.TransactionId.Length}.");
        }

        (string, ByteString) key = (owner, part.TransactionId);
        Transfer transfer = part.CurrentPosition == 0 ? Begin(key, part, holder ?? owner) : Find(key);
        bool isLast = part.MessageStatus == RpcMultiPartRequest.Types.RpcMessageStatus.Complete;
        try
        {
            transfer.Append(part);
            if (!isLast)
            {
                return null;
            }

            transfer.RequireComplete();
            Take(key, transfer);
            return transfer;
        }
        catch
        {
            Drop(owner, part.TransactionId);
            throw;
        }
    }

    /// <summary>Removes a transfer that its sender cancelled.</summary>
    public void Drop(string owner, ByteString transactionId)
    {
        Transfer? dropped;
        lock (_gate)
        {
            _transfers.Remove((owner, transactionId), out dropped);
        }

        dropped?.Dispose();
    }

    public void Dispose()
    {
        lock (_gate)
        {
            _disposed = true;
            _sweep?.Dispose();
        }

        DropWhere(_ => true);
    }

    /// <summary>Removes abandoned transfers.</summary>
    internal void Sweep() => DropWhere(transfer => transfer.IsAbandoned(limits.TransferIdleTimeout));

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

    private Transfer Begin((string Owner, ByteString Id) key, RpcMultiPartRequest part, string holder)
    {
        List<Transfer> dropped = [];
        try
        {
            return Begin(key, part, holder, dropped);
        }
        finally
        {
            dropped.ForEach(transfer => transfer.Dispose());
        }
    }

    private Transfer Begin(
        (string Owner, ByteString Id) key, RpcMultiPartRequest part, string holder, List<Transfer> dropped)
    {
        lock (_gate)
        {
            ObjectDisposedException.ThrowIf(_disposed, this);
            if (_transfers.ContainsKey(key))
            {
                throw new RpcException(
                    RpcStatusCode.InvalidArgument, RpcErrorIds.BadPart,
                    "A transfer with that transaction id has already begun.");
            }

            RequireRoom(holder, part.TotalBytes);
            MakeRoom(holder, part.TotalBytes, dropped);
            Transfer transfer = new(
                holder, part.MethodName, part.TotalBytes, limits.TransferMemoryBytes, memory);
            _transfers.Add(key, transfer);
            _sweep ??= new Timer(
                static table => ((TransferTable)table!).Sweep(), this, SweepPeriod, SweepPeriod);
            return transfer;
        }
    }

    // Checks the announced size. The server reserves no memory for it, and rejects parts that exceed it.
    private void RequireRoom(string holder, int totalBytes)
    {
        if (totalBytes < 0)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, $"A message cannot have {totalBytes} bytes.");
        }

        long sum = totalBytes;
        int count = 1;
        foreach (Transfer other in _transfers.Values.Where(t => t.Holder == holder))
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

        if (count > limits.MaxTransfersPerCaller)
        {
            throw Exhausted(
                $"{limits.MaxTransfersPerCaller} messages of the caller are already arriving in parts");
        }
    }

    // If the table is full, the caller with the most transfers or bytes loses its longest idle transfer to a
    // caller with less. So a few callers cannot block the others.
    private void MakeRoom(string holder, int totalBytes, List<Transfer> dropped)
    {
        while (_transfers.Count >= limits.MaxTransfers)
        {
            Drop(LongestIdleOf(MostOf(_ => 1), above: SumOf(holder, _ => 1) + 1, _ => 1), dropped);
        }

        while (_transfers.Values.Sum(t => (long)t.TotalBytes) + totalBytes > limits.MaxTransferBytesOfAll)
        {
            Transfer? idle = LongestIdleOf(
                MostOf(t => t.TotalBytes), above: SumOf(holder, t => t.TotalBytes) + totalBytes, t =>
                    t.TotalBytes);
            Drop(
                idle is not null && Environment.TickCount64 - idle.LastPart > IdleForRoom.TotalMilliseconds
                    ? idle
                    : null,
                dropped);
        }
    }

    private string? MostOf(Func<Transfer, long> size) => _transfers.Values
        .GroupBy(transfer => transfer.Holder)
        .MaxBy(group => group.Sum(size))?.Key;

    private long SumOf(string? holder, Func<Transfer, long> size) =>
        _transfers.Values.Where(transfer => transfer.Holder == holder).Sum(size);

    private Transfer? LongestIdleOf(string? holder, long above, Func<Transfer, long> size) =>
        SumOf(holder, size) > above
            ? _transfers.Values.Where(transfer => transfer.Holder == holder)
            .MinBy(transfer => transfer.LastPart)
            : null;

    private void Drop(Transfer? victim, List<Transfer> dropped)
    {
        if (victim is null)
        {
            throw Exhausted("too many messages are already arriving in parts");
        }

        _transfers.Remove(_transfers.First(entry => ReferenceEquals(entry.Value, victim)).Key);
        dropped.Add(victim);
    }

    private static RpcException Exhausted(string why) =>
        new(RpcStatusCode.ResourceExhausted, RpcErrorIds.TooManyParts, $"The message is rejected: {why}.");

    private Transfer Find((string, ByteString) key)
    {
        lock (_gate)
        {
            return _transfers.TryGetValue(key, out Transfer? transfer) ? transfer : throw Missing();
        }
    }

    // Removes a complete message, unless it was dropped just before.
    private void Take((string, ByteString) key, Transfer transfer)
    {
        lock (_gate)
        {
            if (_transfers.GetValueOrDefault(key) != transfer)
            {
                throw Missing();
            }

            _transfers.Remove(key);
        }
    }

    private static RpcException Missing() => new(
        RpcStatusCode.InvalidArgument, RpcErrorIds.BadPart,
        "No transfer with that transaction id exists, or it has expired. Send the whole message again.");
}

/// <summary>A message that is coming in parts.</summary>
internal sealed class Transfer : IDisposable
{
    // 240 bytes per second, less than the slowest real network. A slower sender only occupies a place in the
    // table.
    private const double MinBytesPerMillisecond = 0.24;

    private readonly Lock _gate = new();
    private readonly Func<long> _clock;
    private readonly long _begun;
    private readonly RequestMemory.Share _memory;
    private long _received;
    private bool _isDropped;

    /// <summary>A message that is coming.</summary>
    /// <param name="holder">The caller whose limits apply.</param>
    /// <param name="method">The called method.</param>
    /// <param name="totalBytes">The bytes that the sender announced.</param>
    /// <param name="memoryBytes">The number of bytes to keep in memory.</param>
    /// <param name="memory">Counts the bytes of the message in memory.</param>
    /// <param name="clock">Milliseconds of the system's uptime; null for the system's own.</param>
    public Transfer(
        string holder, string method, int totalBytes, int memoryBytes, RequestMemory memory,
        Func<long>? clock = null)
    {
        Holder = holder;
        Method = method;
        TotalBytes = totalBytes;
        Body = new SpillStream(memoryBytes);
        _memory = new RequestMemory.Share(memory);
        _clock = clock ?? (() => Environment.TickCount64);
        _begun = LastPart = _clock();
    }

    /// <summary>The caller whose limits apply: the user, or the address of an anonymous caller.</summary>
    public string Holder { get; }

    public string Method { get; }

    /// <summary>The bytes that the sender announced; nothing is set aside for them.</summary>
    public int TotalBytes { get; }

    /// <summary>The received bytes.</summary>
    public SpillStream Body { get; }

    /// <summary>The system's uptime in milliseconds when the last bytes arrived.</summary>
    public long LastPart { get; private set; }

    /// <summary>Whether its sender has left it, or sends next to nothing.</summary>
    public bool IsAbandoned(TimeSpan idleTimeout)
    {
        if (idleTimeout == Timeout.InfiniteTimeSpan)
        {
            return false;
        }

        long now = _clock();
        return now - LastPart > idleTimeout.TotalMilliseconds
            || now - _begun > idleTimeout.TotalMilliseconds
                + (Volatile.Read(ref _received) / MinBytesPerMillisecond);
    }

    /// <summary>Takes the next part.</summary>
    /// <exception cref="RpcException">InvalidArgument for a part that does not follow; ResourceExhausted when
    /// the disk is full.</exception>
    public void Append(RpcMultiPartRequest part)
    {
        lock (_gate)
        {
            RequireHeld();
            ByteString payload = part.PayloadBytes;
            if (part.CurrentPosition != Body.Length)
            {
                throw Wrong(
                    $"it begins at byte {part.CurrentPosition}, but {Body.Length} bytes were received");
            }

            if (part.TotalBytes != TotalBytes || part.MethodName != Method)
            {
                throw Wrong("its total size or its method differs from the first part");
            }

            if (part.BytesSent != payload.Length || payload.Length > TotalBytes - Body.Length)
            {
                throw Wrong(
                    $"it has {payload.Length} bytes and declares {part.BytesSent}; "
                    + $"the message has {TotalBytes - Body.Length} bytes left");
            }

            Save(payload);
            Volatile.Write(ref _received, Body.Length);
            if (payload.Length > 0)
            {
                LastPart = _clock();
            }
        }
    }

    /// <summary>Ends it.</summary>
    /// <exception cref="RpcException">InvalidArgument when bytes are missing.</exception>
    public void RequireComplete()
    {
        lock (_gate)
        {
            RequireHeld();
            if (Body.Length != TotalBytes)
            {
                throw Wrong($"it is the last, and {TotalBytes - Body.Length} bytes are missing");
            }

            Body.Position = 0;
        }
    }

    public void Dispose()
    {
        lock (_gate)
        {
            _isDropped = true;
            Body.Dispose();
            _memory.Release();
        }
    }

    // The table can drop a transfer while a part of it arrives: to make room for another, or because it
    // expired.
    private void RequireHeld()
    {
        if (_isDropped)
        {
            throw Wrong("the parts before it were dropped");
        }
    }

    private void Save(ByteString payload)
    {
        try
        {
            if (!Body.IsOnDisk && !_memory.TryHold(Body.Length + payload.Length))
            {
                Body.MoveToDisk();
            }

            Body.Write(payload.Span);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            // The inner exception names a folder of the server, so the caller receives another text.
            throw new RpcException(
                RpcStatusCode.ResourceExhausted,
                $"A message for {Method} is rejected: the server cannot store its parts, because the "
                + "disk for its temporary files is full or cannot be written. Send the message again later.",
                e);
        }

        if (Body.IsOnDisk)
        {
            _memory.Release();
        }
    }

    private RpcException Wrong(string why) => new(
        RpcStatusCode.InvalidArgument, RpcErrorIds.BadPart,
        $"A part of a message for {Method} is rejected: {why}. Send the whole message again.");
}

using Google.Protobuf;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Transports;

namespace ProtoRpc.Server.Native;

/// <summary>A message that is coming in parts.</summary>
internal sealed class Transfer : IDisposable
{
    // Slower than any line: a sender that sends less only keeps others from sending.
    private const double MinBytesPerMillisecond = 0.24;

    private readonly Lock _gate = new();
    private readonly Func<long> _clock;
    private readonly long _begun;
    private readonly RequestMemory.Share _memory;
    private long _received;
    private bool _isDropped;

    /// <summary>A message that is coming.</summary>
    /// <param name="holder">Whose share of the table it takes.</param>
    /// <param name="method">The method that it is for.</param>
    /// <param name="totalBytes">The bytes that the sender announced.</param>
    /// <param name="memoryBytes">Bytes of it that are kept in memory.</param>
    /// <param name="memory">Where these count.</param>
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

    /// <summary>Whose share of the table it takes:
    /// the user, or the address of those who are anonymous.</summary>
    public string Holder { get; }

    /// <summary>The method that it is for.</summary>
    public string Method { get; }

    /// <summary>The bytes that the sender announced; nothing is set aside for them.</summary>
    public int TotalBytes { get; }

    /// <summary>What has come.</summary>
    public SpillStream Body { get; }

    /// <summary>Milliseconds of the system's uptime when the last bytes came.</summary>
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
                throw Wrong($"it begins at {part.CurrentPosition} and {Body.Length} bytes have come");
            }

            if (part.TotalBytes != TotalBytes || part.MethodName != Method)
            {
                throw Wrong("its total or its method is not that of the first part");
            }

            if (part.BytesSent != payload.Length || payload.Length > TotalBytes - Body.Length)
            {
                throw Wrong(
                    $"it has {payload.Length} bytes, says {part.BytesSent}, "
                    + $"and {TotalBytes - Body.Length} are left");
            }

            Keep(payload);
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

    /// <inheritdoc/>
    public void Dispose()
    {
        lock (_gate)
        {
            _isDropped = true;
            Body.Dispose();
            _memory.Release();
        }
    }

    // The table drops a transfer to make room, or after a time, also while a part of it is coming.
    private void RequireHeld()
    {
        if (_isDropped)
        {
            throw Wrong("the parts before it were dropped");
        }
    }

    private void Keep(ByteString payload)
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
            // The reason names a folder of the server, which is not the caller's business.
            throw new RpcException(
                RpcStatusCode.ResourceExhausted,
                $"A message for {Method} is rejected: the server has no room to keep its parts, because the "
                + "disk for its temporary files is full or cannot be written. Send the message again later.",
                e);
        }

        if (Body.IsOnDisk)
        {
            _memory.Release();
        }
    }

    private RpcException Wrong(string why) => new(
        RpcStatusCode.InvalidArgument,
        $"A part of a message for {Method} is rejected: {why}. Send the whole message again.")
    {
        ErrorId = RpcErrorIds.BadPart,
    };
}

namespace ProtoRpc.Protocols;

/// <summary>Counts the bytes of the large requests that a server handles at the same time, and of the
/// messages that requests are decoded to. Thread-safe.</summary>
/// <param name="maxBytes">The maximum for all requests. A single request may be larger, up to its own limit:
/// it then counts as seven eighths of the maximum, which leaves memory for small requests.</param>
internal sealed class RequestMemory(long maxBytes)
{
    // Smaller requests are not counted, because the limits of connections and streams also limit their
    // memory.
    private const int Uncounted = 64 * 1024;

    /// <summary>How long a caller should wait before it calls a busy server again.</summary>
    public static readonly TimeSpan RetryAfter = TimeSpan.FromSeconds(1);

    private readonly long _mostOfOne = Math.Max(1, maxBytes - (maxBytes / 8));
    private long _held;

    /// <summary>The number of bytes that are held now.</summary>
    public long Held => Interlocked.Read(ref _held);

    /// <summary>The error for a request that does not fit.</summary>
    public RpcException Full() => new(
        RpcStatusCode.ResourceExhausted,
        $"The server is too busy: its running requests have reached the limit of {maxBytes:N0} bytes. "
        + $"Call later, or raise {nameof(RpcLimits)}.{nameof(RpcLimits.MaxMemoryBytes)} of the server.")
    {
        ErrorId = RpcErrorIds.ServerBusy,
        RetryAfter = RetryAfter,
    };

    /// <summary>The memory of one request, or of the successive requests of one connection.</summary>
    /// <remarks>One thread holds memory; any thread may release it, so the memory of an abandoned handler is
    /// not lost.</remarks>
    internal sealed class Share(RequestMemory memory)
    {
        private long _received;
        private long _decoded;
        private long _counted;

        /// <summary>Holds the memory of a request that grows.</summary>
        /// <param name="bytes">The current size of the request.</param>
        /// <returns>False if they do not fit; then nothing has changed.</returns>
        public bool TryHold(long bytes)
        {
            if (bytes <= Uncounted || bytes <= _received)
            {
                return true;
            }

            if (!TryCount(bytes + _decoded))
            {
                return false;
            }

            _received = bytes;
            return true;
        }

        /// <summary>Holds the memory of a request that grows.</summary>
        /// <exception cref="RpcException">ResourceExhausted if they do not fit.</exception>
        public void Hold(long bytes)
        {
            if (!TryHold(bytes))
            {
                throw Full();
            }
        }

        /// <summary>Holds memory for the messages that the request is decoded to. They are counted from the
        /// first byte.</summary>
        /// <exception cref="RpcException">ResourceExhausted if they do not fit.</exception>
        public void HoldDecoded(long more)
        {
            if (!TryCount(_received + _decoded + more))
            {
                throw Full();
            }

            _decoded += more;
        }

        /// <inheritdoc cref="RequestMemory.Full"/>
        public RpcException Full() => memory.Full();

        /// <summary>Releases the memory of the request.</summary>
        public void Release()
        {
            if (Interlocked.Exchange(ref _counted, 0) is var counted && counted != 0)
            {
                Interlocked.Add(ref memory._held, -counted);
            }

            _received = _decoded = 0;
        }

        private bool TryCount(long bytes)
        {
            long more = Math.Min(bytes, memory._mostOfOne) - Interlocked.Read(ref _counted);
            if (more > 0)
            {
                if (Interlocked.Add(ref memory._held, more) > memory.MaxBytes)
                {
                    Interlocked.Add(ref memory._held, -more);
                    return false;
                }

                Interlocked.Add(ref _counted, more);
            }

            return true;
        }
    }

    private long MaxBytes => maxBytes;
}

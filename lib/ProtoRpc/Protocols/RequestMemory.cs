namespace ProtoRpc.Protocols;

/// <summary>The bytes of the large requests that a server receives and handles at the same time, and of the
/// messages that all requests are decoded to. Safe for use by many threads.</summary>
/// <param name="maxBytes">The most that they may have together. A single request may have more, up to its own
/// limit: it counts with seven eighths of them, which leaves room for small ones.</param>
internal sealed class RequestMemory(long maxBytes)
{
    // The bytes of smaller requests do not count: the numbers of connections and streams bound them.
    private const int Uncounted = 64 * 1024;

    /// <summary>How long a caller should wait before it calls a busy server again.</summary>
    public static readonly TimeSpan RetryAfter = TimeSpan.FromSeconds(1);

    private readonly long _mostOfOne = Math.Max(1, maxBytes - (maxBytes / 8));
    private long _held;

    /// <summary>The bytes that are held now.</summary>
    public long Held => Interlocked.Read(ref _held);

    /// <summary>The refusal of a request for which there is no room.</summary>
    public RpcException Full() => new(
        RpcStatusCode.ResourceExhausted,
        $"The server is too busy: its running requests have the {maxBytes:N0} bytes that they may. "
        + $"Call later, or raise {nameof(RpcLimits)}.{nameof(RpcLimits.MaxMemoryBytes)} of the server.")
    {
        ErrorId = RpcErrorIds.ServerBusy,
        RetryAfter = RetryAfter,
    };

    /// <summary>What one request, or the requests of a connection one after the other, take of it.</summary>
    /// <remarks>One thread holds, and any may release: what is held by a handler that was given up is not
    /// lost.</remarks>
    internal sealed class Share(RequestMemory memory)
    {
        private long _received;
        private long _decoded;
        private long _counted;

        /// <summary>Holds the bytes of a request that grows.</summary>
        /// <param name="bytes">What it has now.</param>
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

        /// <summary>Holds the bytes of a request that grows.</summary>
        /// <exception cref="RpcException">ResourceExhausted if they do not fit.</exception>
        public void Hold(long bytes)
        {
            if (!TryHold(bytes))
            {
                throw Full();
            }
        }

        /// <summary>Holds more bytes of the messages that the request is decoded to. They count from the
        /// first one on.</summary>
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

        /// <summary>Forgets the request.</summary>
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

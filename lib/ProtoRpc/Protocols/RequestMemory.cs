namespace ProtoRpc.Protocols;

/// <summary>The bytes of the large requests that a server receives and handles at the same time. Safe for use
/// by many threads.</summary>
/// <param name="maxBytes">The most that they may have together. A request that is alone may have more, up to
/// its own limit.</param>
internal sealed class RequestMemory(long maxBytes)
{
    // Smaller requests do not count: the numbers of connections and streams bound them.
    private const int Uncounted = 64 * 1024;

    /// <summary>How long a caller should wait before it calls a busy server again.</summary>
    public static readonly TimeSpan RetryAfter = TimeSpan.FromSeconds(1);

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
    /// <remarks>Not thread-safe.</remarks>
    internal sealed class Share(RequestMemory memory)
    {
        private long _mine;

        /// <summary>Holds the bytes of a request that grows.</summary>
        /// <param name="bytes">What it has now.</param>
        /// <returns>False if they do not fit; then nothing has changed.</returns>
        public bool TryHold(long bytes)
        {
            long more = bytes - _mine;
            if (bytes <= Uncounted || more <= 0)
            {
                return true;
            }

            long sum = Interlocked.Add(ref memory._held, more);
            if (sum > memory.MaxBytes && sum != bytes)
            {
                Interlocked.Add(ref memory._held, -more);
                return false;
            }

            _mine = bytes;
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

        /// <inheritdoc cref="RequestMemory.Full"/>
        public RpcException Full() => memory.Full();

        /// <summary>Forgets the request.</summary>
        public void Release()
        {
            if (_mine != 0)
            {
                Interlocked.Add(ref memory._held, -_mine);
                _mine = 0;
            }
        }
    }

    private long MaxBytes => maxBytes;
}

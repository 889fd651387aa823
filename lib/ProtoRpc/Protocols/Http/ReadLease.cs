namespace ProtoRpc.Protocols.Http;

/// <summary>Allows one thread to close an object while another reads with its pooled memory: the last of the
/// two releases the memory. Otherwise a read that still copies could write into memory that was rented
/// again.</summary>
/// <remarks>A mutable struct: keep it in a field that is not read-only. One read at a time.</remarks>
internal struct ReadLease
{
    private const int Idle = 0;
    private const int Reading = 1;
    private const int Closed = 2;

    private int _state;

    /// <summary>Begins a read.</summary>
    /// <returns>False if the object was closed, or another read has not ended.</returns>
    public bool TryBegin() => Interlocked.CompareExchange(ref _state, Reading, Idle) == Idle;

    /// <summary>Ends the read.</summary>
    /// <returns>True if the object was closed meanwhile: the reader must release the memory.</returns>
    public bool End() => Interlocked.CompareExchange(ref _state, Idle, Reading) != Reading;

    /// <summary>Closes the object.</summary>
    /// <returns>True for the first caller if no read runs: the caller must release the memory.</returns>
    public bool Close() => Interlocked.Exchange(ref _state, Closed) == Idle;
}

namespace ProtoRpc.Messages.Binary;

/// <summary>The bytes of a message in one piece. Bytes that arrived in several pieces are copied into pooled
/// memory, which costs less than a parser that goes from piece to piece.</summary>
internal readonly ref struct WholeBytes : IDisposable
{
    private readonly byte[]? _pooled;

    /// <param name="type">The type of the message, for the error.</param>
    /// <param name="bytes">The message.</param>
    /// <exception cref="RpcException">ResourceExhausted: the message is longer than an array.</exception>
    public WholeBytes(RpcMessageInfo type, in ReadOnlySequence<byte> bytes)
    {
        if (bytes.IsSingleSegment)
        {
            Span = bytes.FirstSpan;
            return;
        }

        if (bytes.Length > Array.MaxLength)
        {
            throw new RpcException(
                RpcStatusCode.ResourceExhausted,
                $"{type.FullName} of {bytes.Length} bytes cannot be read; the limit is {Array.MaxLength}.");
        }

        _pooled = ArrayPool<byte>.Shared.Rent((int)bytes.Length);
        bytes.CopyTo(_pooled);
        Span = _pooled.AsSpan(0, (int)bytes.Length);
    }

    /// <summary>The bytes, until this is disposed.</summary>
    public ReadOnlySpan<byte> Span { get; }

    public void Dispose()
    {
        if (_pooled is not null)
        {
            ArrayPool<byte>.Shared.Return(_pooled);
        }
    }
}

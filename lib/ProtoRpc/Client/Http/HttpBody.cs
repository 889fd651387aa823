using ProtoRpc.Protocols;

namespace ProtoRpc.Client.Http;

/// <summary>A request body of one message in pooled memory, which may be sent more than once.</summary>
/// <remarks>The memory is returned when nothing holds the body any more: a custom HTTP handler may still send
/// a request whose call has ended.</remarks>
internal sealed class HttpBody : IDisposable
{
    private readonly PooledMessageBytes _owner;
    private int _holders = 1;

    /// <param name="bytes">The encoded message, which this object now owns.</param>
    /// <param name="compression">The compression, which is used if it makes the message smaller.</param>
    public HttpBody(PooledMessageBytes bytes, RpcCompression compression)
    {
        _owner = bytes;
        Bytes = bytes.Message;
        PlainLength = Bytes.Length;
        if (HttpCompression.TryCompress(Bytes.Span, compression, out byte[]? packed, out string? encoding))
        {
            Bytes = packed;
            Encoding = encoding;
        }
    }

    /// <summary>The bytes to send.</summary>
    public ReadOnlyMemory<byte> Bytes { get; }

    /// <summary>The Content-Encoding of the bytes; null if they are not compressed.</summary>
    public string? Encoding { get; }

    /// <summary>The size of the message without compression.</summary>
    public int PlainLength { get; }

    /// <summary>Holds the memory until one more call of <see cref="Dispose"/>.</summary>
    /// <exception cref="ObjectDisposedException">The memory was already released.</exception>
    public void Hold()
    {
        int holders;
        do
        {
            holders = Volatile.Read(ref _holders);
            ObjectDisposedException.ThrowIf(holders == 0, this);
        }
        while (Interlocked.CompareExchange(ref _holders, holders + 1, holders) != holders);
    }

    /// <summary>Ends one hold: that of the constructor, or of <see cref="Hold"/>.</summary>
    public void Dispose()
    {
        if (Interlocked.Decrement(ref _holders) == 0)
        {
            _owner.Dispose();
        }
    }
}

using ProtoRpc.Protocols;

namespace ProtoRpc.Client.Http;

/// <summary>The body of requests that are one message, in pooled memory, which may be sent more than
/// once.</summary>
/// <remarks>The memory is returned when no one holds the body any more: a handler that is not our own may
/// still send a request whose call has ended.</remarks>
internal sealed class HttpBody : IDisposable
{
    private readonly PooledMessageBytes _owner;
    private int _holders = 1;

    /// <param name="bytes">The message in its format; owned from here on.</param>
    /// <param name="compression">How it is compressed, where it shrinks.</param>
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

    /// <summary>The bytes as they go.</summary>
    public ReadOnlyMemory<byte> Bytes { get; }

    /// <summary>How they are compressed; null where they are not.</summary>
    public string? Encoding { get; }

    /// <summary>Bytes of the message.</summary>
    public int PlainLength { get; }

    /// <summary>Keeps the memory until it is disposed of once more.</summary>
    /// <exception cref="ObjectDisposedException">It was already released.</exception>
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

    /// <summary>Ends one hold: that of its maker, or of <see cref="Hold"/>.</summary>
    public void Dispose()
    {
        if (Interlocked.Decrement(ref _holders) == 0)
        {
            _owner.Dispose();
        }
    }
}

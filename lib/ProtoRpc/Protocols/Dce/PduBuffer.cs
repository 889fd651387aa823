using System.Buffers;

namespace ProtoRpc.Protocols.Dce;

/// <summary>The bytes that came and are not used yet, in one piece,
/// so that a whole PDU can be used in place.</summary>
/// <remarks>Grows when it is full of received bytes, or in the middle of a message, never because a length
/// was claimed. Not thread-safe.</remarks>
internal sealed class PduBuffer : IDisposable
{
    private const int InitialSize = 4 * 1024;
    private const int MaxSize = 128 * 1024;

    // What a connection keeps between messages that need more than the initial size.
    private const int KeptSize = 16 * 1024;

    // Receives of a fragment each would make a large message cost many system calls.
    private const int MessageSize = 64 * 1024;

    private byte[] _bytes = ArrayPool<byte>.Shared.Rent(InitialSize);
    private int _start;
    private int _end;

    /// <summary>What came and was not taken.</summary>
    public ReadOnlySpan<byte> Unread => _bytes.AsSpan(_start, _end - _start);

    /// <summary>Where the next bytes are received.
    /// Memory that <see cref="Take"/> gave is then no longer valid.</summary>
    /// <param name="isMidMessage">Whether fragments of a message came, and more are to come.</param>
    public Memory<byte> GetFreeMemory(bool isMidMessage = false)
    {
        if (_start == _end)
        {
            _start = _end = 0;
        }

        if (isMidMessage && _bytes.Length < MessageSize)
        {
            Grow(MessageSize);
        }
        else if (_end == _bytes.Length)
        {
            MakeRoom();
        }

        return _bytes.AsMemory(_end);
    }

    /// <summary>Gives most of the memory back that a large message needed.</summary>
    public void Trim()
    {
        if (_start == _end && _bytes.Length > KeptSize)
        {
            ArrayPool<byte>.Shared.Return(_bytes);
            _bytes = ArrayPool<byte>.Shared.Rent(KeptSize);
            _start = _end = 0;
        }
    }

    /// <summary>Adds bytes that were received into <see cref="GetFreeMemory"/>.</summary>
    public void Advance(int count)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThan((uint)count, (uint)(_bytes.Length - _end));
        _end += count;
    }

    /// <summary>Takes bytes from the front;
    /// they stay valid until the next <see cref="GetFreeMemory"/>.</summary>
    public Memory<byte> Take(int count)
    {
        Memory<byte> taken = _bytes.AsMemory(_start, count);
        _start += count;
        return taken;
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        byte[] bytes = _bytes;
        _bytes = [];
        _start = _end = 0;
        if (bytes.Length > 0)
        {
            ArrayPool<byte>.Shared.Return(bytes);
        }
    }

    private void MakeRoom()
    {
        if (_start > _bytes.Length / 2 || _bytes.Length >= MaxSize)
        {
            // A PDU is at most half of the largest size, so there is always something to gain by moving.
            _bytes.AsSpan(_start, _end - _start).CopyTo(_bytes);
            _end -= _start;
            _start = 0;
        }
        else
        {
            Grow(_bytes.Length * 2);
        }
    }

    private void Grow(int size)
    {
        byte[] larger = ArrayPool<byte>.Shared.Rent(size);
        _bytes.AsSpan(_start, _end - _start).CopyTo(larger);
        ArrayPool<byte>.Shared.Return(_bytes);
        _bytes = larger;
        _end -= _start;
        _start = 0;
    }
}

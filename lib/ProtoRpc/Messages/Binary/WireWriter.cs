using System.Buffers;
using System.Buffers.Binary;
using System.Numerics;
using System.Runtime.CompilerServices;
using System.Text;

namespace ProtoRpc.Messages.Binary;

/// <summary>Writes protobuf's wire format from its end to its start.</summary>
/// <remarks>Backwards, the length of a nested message is known when it is to be written: one pass, no sizes
/// to compute before or to keep. The buffer is pooled: dispose it.</remarks>
internal ref struct WireWriter
{
    private const int MaxVarintBytes = 10;

    private byte[] _buffer;
    private int _position;

    public WireWriter(int sizeHint)
    {
        _buffer = ArrayPool<byte>.Shared.Rent(Math.Max(sizeHint, 256));
        _position = _buffer.Length;
    }

    /// <summary>Bytes written so far; what is written between two calls is as long as they differ.</summary>
    public readonly int Length => _buffer.Length - _position;

    public readonly ReadOnlySpan<byte> Written => _buffer.AsSpan(_position);

    public void Dispose()
    {
        ArrayPool<byte>.Shared.Return(_buffer);
        _buffer = [];
        _position = 0;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void WriteVarint(ulong value)
    {
        if (value < 0x80 && _position > 0)
        {
            _buffer[--_position] = (byte)value;
            return;
        }
        WriteLongVarint(value);
    }

    private void WriteLongVarint(ulong value)
    {
        int size = VarintSize(value);
        Span<byte> target = Take(size);
        for (int i = 0; i < target.Length - 1; i++)
        {
            target[i] = (byte)(value | 0x80);
            value >>= 7;
        }
        target[^1] = (byte)value;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void WriteFixed32(uint value) =>
        BinaryPrimitives.WriteUInt32LittleEndian(Take(sizeof(uint)), value);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void WriteFixed64(ulong value) =>
        BinaryPrimitives.WriteUInt64LittleEndian(Take(sizeof(ulong)), value);

    public void WriteRaw(ReadOnlySpan<byte> bytes) => bytes.CopyTo(Take(bytes.Length));

    /// <summary>Writes bytes and, before them, their length.</summary>
    public void WriteBytes(ReadOnlySpan<byte> bytes)
    {
        bytes.CopyTo(Take(bytes.Length));
        WriteVarint((uint)bytes.Length);
    }

    /// <summary>Writes text as UTF-8 and, before it, its length.</summary>
    public void WriteString(string text)
    {
        // Most text is ASCII, where the length in bytes is known without looking.
        Span<byte> target = Take(text.Length);
        if (Ascii.FromUtf16(text, target, out _) != OperationStatus.Done)
        {
            _position += text.Length;
            int size = Encoding.UTF8.GetByteCount(text);
            Encoding.UTF8.GetBytes(text, Take(size));
            WriteVarint((uint)size);
            return;
        }
        WriteVarint((uint)text.Length);
    }

    private static int VarintSize(ulong value) => ((BitOperations.Log2(value | 1) * 9) + 73) / 64;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private Span<byte> Take(int size)
    {
        if (_position < size)
        {
            Grow(size);
        }
        _position -= size;
        return _buffer.AsSpan(_position, size);
    }

    private void Grow(int size)
    {
        int written = Length;
        long wanted = Math.Max(2L * _buffer.Length, (long)written + size + MaxVarintBytes);
        if ((long)written + size > Array.MaxLength)
        {
            throw new RpcException(
                RpcStatusCode.ResourceExhausted,
                $"A message is larger than {Array.MaxLength} bytes. Send its parts in several messages.");
        }
        byte[] larger = ArrayPool<byte>.Shared.Rent((int)Math.Min(wanted, Array.MaxLength));
        Written.CopyTo(larger.AsSpan(larger.Length - written));
        ArrayPool<byte>.Shared.Return(_buffer);
        _buffer = larger;
        _position = larger.Length - written;
    }
}

using System.Buffers.Binary;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace ProtoRpc.Messages.Binary;

/// <summary>Reads the wire format of Protocol Buffers from bytes that may be hostile: every length is
/// compared with the available bytes before it is used.</summary>
/// <param name="bytes">The whole message.</param>
/// <param name="type">Its type, for what errors say.</param>
/// <param name="budget">The limit of elements.</param>
internal ref struct WireReader(ReadOnlySpan<byte> bytes, RpcMessageInfo type, ElementBudget budget)
{
    private const int MaxVarintBytes = 10;
    private const int MaxTagBytes = 5;

    private readonly ReadOnlySpan<byte> _bytes = bytes;
    private readonly RpcMessageInfo _type = type;
    private int _position;
    private int _end = bytes.Length;
    private int _depth;
    private int _nextLook = budget.Look is null ? int.MaxValue : ElementBudget.BytesPerLook;
    private ElementBudget _budget = budget;
    private bool _incomplete;

    /// <summary>Creates a reader without limits, for bytes that were checked before.</summary>
    public WireReader(ReadOnlySpan<byte> bytes, RpcMessageInfo type)
        : this(bytes, type, ElementBudget.Unlimited)
    {
    }

    public bool AtEnd
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get
        {
            if (_position >= _nextLook)
            {
                Look();
            }
            return _position == _end;
        }
    }

    public readonly int Position => _position;

    /// <summary>The bytes up to the end of the message or packed field that is read.</summary>
    public readonly int Left => _end - _position;

    /// <summary>The remaining number of elements.</summary>
    public readonly ElementBudget Budget => _budget;

    /// <summary>Whether all messages that were read have their required fields.</summary>
    public readonly bool IsComplete => !_incomplete;

    public readonly ReadOnlySpan<byte> Since(int start) => _bytes[start.._position];

    /// <summary>Returns to an earlier position in the same message.</summary>
    public void Seek(int position) => _position = position;

    /// <summary>Reads a field number and wire type; the number is not 0 and fits.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public uint ReadTag()
    {
        int position = _position;
        if (position < _end)
        {
            uint first = At(position);
            if (first - 8 < 0x80 - 8)
            {
                _position = position + 1;
                return first;
            }
        }
        return ReadLongTag();
    }

    // No range check: the caller has compared the position with the end, which is never after the bytes.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private readonly byte At(int position) => Unsafe.Add(ref MemoryMarshal.GetReference(_bytes), position);

    private uint ReadLongTag()
    {
        int start = _position;
        ulong tag = ReadVarint();
        if (tag > uint.MaxValue || _position - start > MaxTagBytes)
        {
            throw Malformed("a field's tag does not fit into 32 bits", start);
        }
        if (tag >> WireType.TagBits == 0)
        {
            throw Malformed("a field has the number 0", start);
        }
        return (uint)tag;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public ulong ReadVarint()
    {
        int position = _position;
        if (position < _end)
        {
            ulong first = At(position);
            if (first < 0x80)
            {
                _position = position + 1;
                return first;
            }
        }
        return ReadLongVarint();
    }

    private ulong ReadLongVarint()
    {
        int start = _position;
        ReadOnlySpan<byte> rest = _bytes[start.._end];
        ulong value = 0;
        for (int i = 0; i < rest.Length; i++)
        {
            if (i == MaxVarintBytes)
            {
                throw Malformed("a varint has more than ten bytes", start);
            }
            ulong part = rest[i];
            value |= (part & 0x7F) << (7 * i);
            if (part < 0x80)
            {
                _position = start + i + 1;
                return value;
            }
        }
        throw rest.Length < MaxVarintBytes
            ? Truncated("a varint", start)
            : Malformed("a varint has more than ten bytes", start);
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public uint ReadFixed32()
    {
        int position = _position;
        if (_end - position < sizeof(uint))
        {
            ThrowTruncated("a 32-bit value", position);
        }
        _position = position + sizeof(uint);
        return BinaryPrimitives.ReadUInt32LittleEndian(_bytes.Slice(position, sizeof(uint)));
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public ulong ReadFixed64()
    {
        int position = _position;
        if (_end - position < sizeof(ulong))
        {
            ThrowTruncated("a 64-bit value", position);
        }
        _position = position + sizeof(ulong);
        return BinaryPrimitives.ReadUInt64LittleEndian(_bytes.Slice(position, sizeof(ulong)));
    }

    /// <summary>Reads a length that what follows does hold.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public int ReadLength()
    {
        ulong length = ReadVarint();
        if (length > (ulong)(_end - _position))
        {
            ThrowTooLong(length);
        }
        return (int)length;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public ReadOnlySpan<byte> ReadBytes()
    {
        int length = ReadLength();
        int start = _position;
        _position = start + length;
        return _bytes.Slice(start, length);
    }

    /// <summary>Looks at the required fields of a message at its end.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Require(
        MessageLayout layout, ScalarSlots scalars, ReadOnlySpan<object?> references)
    {
        if (!RequiredFields.HasOwn(layout, scalars, references))
        {
            _incomplete = true;
        }
    }

    /// <summary>Reads a tag if it is the expected one and has one byte, as most tags have.</summary>
    /// <returns>False also if the regular check is due, which <see cref="AtEnd"/> runs.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool TryReadTag(uint tag)
    {
        if (_position < _end && At(_position) == tag && tag < 0x80 && _position < _nextLook)
        {
            _position++;
            return true;
        }
        return false;
    }

    /// <summary>How many fields with a tag follow each other, the first one's tag being read.</summary>
    /// <remarks>A malformed element ends the run: reading reports it.</remarks>
    public readonly int CountRun(uint tag)
    {
        int count = 1;
        int position = _position;
        while (TryPeekVarint(ref position, out ulong length) && length <= (ulong)(_end - position))
        {
            position += (int)length;
            if (!TryPeekVarint(ref position, out ulong next) || next != tag)
            {
                break;
            }
            count++;
        }
        return count;
    }

    private readonly bool TryPeekVarint(ref int position, out ulong value)
    {
        value = 0;
        for (int shift = 0; shift < 7 * MaxTagBytes && position < _end; shift += 7)
        {
            ulong part = At(position++);
            value |= (part & 0x7F) << shift;
            if (part < 0x80)
            {
                return true;
            }
        }
        return false;
    }

    /// <summary>Enters a nested message, whose length is read.</summary>
    /// <returns>The end of the message around it, for <see cref="LeaveMessage"/>.</returns>
    public int EnterMessage()
    {
        int length = ReadLength();
        int outerEnd = _end;
        _end = _position + length;
        Descend();
        return outerEnd;
    }

    /// <summary>Creates a message and counts it.</summary>
    /// <exception cref="RpcException">ResourceExhausted: too many.</exception>
    public DynamicMessage NewMessage(MessageLayout layout)
    {
        _budget.CountMessage(layout);
        return new DynamicMessage(layout);
    }

    /// <summary>Counts a message that another parser creates.</summary>
    /// <exception cref="RpcException">ResourceExhausted: too many.</exception>
    public void CountMessage(MessageLayout layout) => _budget.CountMessage(layout);

    /// <summary>Counts an entry of a map.</summary>
    /// <exception cref="RpcException">ResourceExhausted: too many.</exception>
    public void CountEntry() => _budget.CountEntry();

    public void LeaveMessage(int outerEnd)
    {
        _end = outerEnd;
        _depth--;
    }

    /// <summary>Passes over the rest of the message or packed field that is read.</summary>
    public void SkipRest() => _position = _end;

    public void EnterGroup() => Descend();

    public void LeaveGroup() => _depth--;

    /// <summary>Sets the end to that of a packed field; <see cref="LeavePacked"/> restores it.</summary>
    public int EnterPacked()
    {
        int length = ReadLength();
        int outerEnd = _end;
        _end = _position + length;
        return outerEnd;
    }

    public void LeavePacked(int outerEnd) => _end = outerEnd;

    /// <summary>Passes over the value of a field whose tag was read.</summary>
    public void Skip(uint tag)
    {
        switch (tag & WireType.Mask)
        {
            case WireType.Varint:
                ReadVarint();
                break;
            case WireType.Fixed64:
                ReadFixed64();
                break;
            case WireType.LengthDelimited:
                ReadBytes();
                break;
            case WireType.StartGroup:
                SkipGroup(tag);
                break;
            case WireType.Fixed32:
                ReadFixed32();
                break;
            case WireType.EndGroup:
                throw Malformed(
                    $"a group with the number {tag >> WireType.TagBits} ends but did not begin", _position);
            default:
                throw Malformed($"the wire type {tag & WireType.Mask} does not exist", _position);
        }
    }

    private void SkipGroup(uint startTag)
    {
        uint endTag = startTag - WireType.StartGroup + WireType.EndGroup;
        Descend();
        while (!AtEnd)
        {
            uint tag = ReadTag();
            if (tag == endTag)
            {
                _depth--;
                return;
            }
            Skip(tag);
        }
        throw Truncated("a group", _position);
    }

    private void Look()
    {
        _nextLook = (int)Math.Min(_position + (long)ElementBudget.BytesPerLook, int.MaxValue);
        _budget.Look!();
    }

    private void Descend()
    {
        if (++_depth > MessageLayout.MaxDepth)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.TooDeep,
                $"The message {_type.FullName} is rejected: at byte {_position} messages are " +
                $"nested more than {MessageLayout.MaxDepth} deep.");
        }
    }

    [DoesNotReturn]
    private readonly void ThrowTooLong(ulong length) => throw Malformed(
        $"a length of {length} bytes is given, but only {_end - _position} follow", _position);

    [DoesNotReturn]
    private readonly void ThrowTruncated(string what, int position) => throw Truncated(what, position);

    public readonly RpcException Truncated(string what, int position) =>
        Malformed($"the bytes end in the middle of {what}", position);

    public readonly RpcException Malformed(string what, int position) => new(
        RpcStatusCode.InvalidArgument, RpcErrorIds.MalformedMessage,
        $"The bytes are not a message {_type.FullName}: {what}, at byte {position} of {_bytes.Length}. " +
        "Check that both sides use the same message type.");
}

/// <summary>The wire types of Protocol Buffers: the low three bits of a tag.</summary>
internal static class WireType
{
    public const uint Varint = 0;
    public const uint Fixed64 = 1;
    public const uint LengthDelimited = 2;
    public const uint StartGroup = 3;
    public const uint EndGroup = 4;
    public const uint Fixed32 = 5;

    public const int TagBits = 3;
    public const uint Mask = 7;

    public static uint MakeTag(int number, uint wireType) => ((uint)number << TagBits) | wireType;
}

using System.Buffers;

namespace ProtoRpc.Protocols.Dce;

/// <summary>The output of an association: a single PDU, or a message, which is cut into fragments
/// and returned in chunks that are worth a system call.</summary>
/// <remarks>A message of one fragment is given out as it lies, with its header written before it. So are
/// fragments that are large: the header is written over the end of the fragment before, which is put back
/// with the next call, because a message may be sent again. Not thread-safe.</remarks>
internal sealed class FragmentWriter : IDisposable
{
    // Stub parts but the last are multiples of 8 by C706; 16 is what authenticated fragments need as well.
    private const int StubAlignment = 16;
    private const int ChunkSize = 64 * 1024;

    private Memory<byte> _message;
    private PduType _type;
    private uint _callId;
    private ushort _contextId;
    private int _maxFragment;
    private int _tail;
    private int _position;
    private byte[] _chunk = [];
    private byte[] _covered = [];
    private int _coveredAt;

    /// <summary>Signs or seals each fragment; null for none.</summary>
    public PduProtection? Protection { get; set; }

    /// <summary>A whole PDU that goes out before the message: a bind, its answer, a fault.
    /// Empty for none.</summary>
    public byte[] Control { get; set; } = [];

    /// <summary>Whether all of the message was given out.</summary>
    public bool AtEnd => _position >= _message.Length;

    /// <summary>Begins a message.</summary>
    /// <param name="message">Room for <see cref="PduHeader.CallSize"/> octets, then the stub.</param>
    /// <param name="type">Request or Response.</param>
    /// <param name="callId">The call.</param>
    /// <param name="contextId">The presentation context.</param>
    /// <param name="maxFragment">The largest fragment that the peer takes.</param>
    /// <param name="tail">Octets at the end of the stub that one fragment has whole.</param>
    public void Begin(
        Memory<byte> message, PduType type, uint callId, ushort contextId, int maxFragment, int tail = 0)
    {
        _tail = tail;
        _message = message;
        _type = type;
        _callId = callId;
        _contextId = contextId;
        _maxFragment = maxFragment;
        _position = PduHeader.CallSize;
    }

    /// <summary>Gives out the next bytes to send; they stay valid until the next call.</summary>
    /// <returns>False when there is nothing more.</returns>
    public bool TryNext(out ReadOnlyMemory<byte> bytes)
    {
        Uncover();
        if (Control.Length > 0)
        {
            bytes = Control;
            Control = [];
            return true;
        }

        if (AtEnd)
        {
            bytes = default;
            Release();
            return false;
        }

        int stubLength = _message.Length - PduHeader.CallSize;
        if (Protection is null && _message.Length <= _maxFragment)
        {
            CallPdu.Write(
                _message.Span, _type, PduFlags.Single, stubLength, _callId, (uint)stubLength, _contextId);
            _position = _message.Length;
            bytes = _message;
            return true;
        }

        bytes = Protection is null && 2 * _maxFragment > ChunkSize
            ? CutInPlace(stubLength)
            : FillChunk(stubLength);
        return true;
    }

    /// <summary>Forgets what was not given out of the message.</summary>
    public void Release()
    {
        Uncover();
        _message = default;
        _position = 0;
        byte[] chunk = _chunk;
        _chunk = [];
        if (chunk.Length > 0)
        {
            ArrayPool<byte>.Shared.Return(chunk);
        }
    }

    /// <inheritdoc/>
    public void Dispose() => Release();

    // A chunk would hold no more than this fragment.
    private ReadOnlyMemory<byte> CutInPlace(int stubLength)
    {
        int start = _position - PduHeader.CallSize;
        if (start > 0)
        {
            _covered = _message.Span.Slice(start, PduHeader.CallSize).ToArray();
            _coveredAt = start;
        }

        return _message.Slice(start, WriteFragment(_message.Span[start..], RoomOf(trailer: 0), stubLength));
    }

    private void Uncover()
    {
        if (_coveredAt > 0)
        {
            _covered.CopyTo(_message.Span[_coveredAt..]);
            _coveredAt = 0;
        }
    }

    private ReadOnlyMemory<byte> FillChunk(int stubLength)
    {
        if (_chunk.Length == 0)
        {
            _chunk = ArrayPool<byte>.Shared.Rent(Math.Max(ChunkSize, _maxFragment));
        }

        int trailer = Protection is { } protection ? AuthTrailer.Size + protection.SignatureLength : 0;
        int room = RoomOf(trailer);
        int written = 0;
        while (!AtEnd && written + _maxFragment <= _chunk.Length)
        {
            written += WriteFragment(_chunk.AsSpan(written), room, stubLength);
        }

        return _chunk.AsMemory(0, written);
    }

    private int RoomOf(int trailer) => (_maxFragment - PduHeader.CallSize - trailer) & ~(StubAlignment - 1);

    // The target may be the octets before the part in the message itself, which then stays where it is.
    private int WriteFragment(Span<byte> target, int room, int stubLength)
    {
        int remaining = _message.Length - _position;
        int part = Math.Min(room, remaining);
        if (part < remaining && remaining - part < _tail)
        {
            part = (remaining - _tail) & ~(StubAlignment - 1);
        }

        PduFlags flags = _position == PduHeader.CallSize ? PduFlags.First : PduFlags.None;
        flags |= part == remaining ? PduFlags.Last : PduFlags.None;

        // The hint of a request is the whole stub each time,
        // that of a response what is left, as common peers do.
        uint hint = (uint)(_type == PduType.Request ? stubLength : remaining);
        CallPdu.Write(target, _type, flags, part, _callId, hint, _contextId);
        _message.Span.Slice(_position, part).CopyTo(target[PduHeader.CallSize..]);
        _position += part;
        int length = PduHeader.CallSize + part;
        return Protection is { } protection ? Protect(protection, target, length, flags) : length;
    }

    private int Protect(PduProtection protection, Span<byte> target, int length, PduFlags flags)
    {
        int padding = -(length - PduHeader.CallSize) & (StubAlignment - 1);
        int whole = length + padding + AuthTrailer.Size + protection.SignatureLength;
        PduHeader.Write(target, _type, flags, whole, protection.SignatureLength, _callId);
        target.Slice(length, padding).Clear();
        (protection.Trailer with { PadLength = (byte)padding }).Write(target[(length + padding)..]);
        protection.Protect(target[..whole], PduHeader.CallSize);
        return whole;
    }
}

namespace ProtoRpc.Protocols.Dce;

/// <summary>Assembles the fragments of one message. A message of one fragment is not copied.</summary>
/// <remarks>Memory grows with the received bytes. Not thread-safe.</remarks>
/// <param name="maxBytes">The largest stub.</param>
/// <param name="maxFragments">The largest number of fragments.</param>
/// <param name="memory">Counts the memory of large stubs; null for no count.</param>
internal sealed class FragmentAssembler(int maxBytes, int maxFragments, RequestMemory? memory = null)
    : IDisposable
{
    private const int InitialSize = 32 * 1024;
    private const int RetainedBytes = 64 * 1024;

    // The first buffer of a message has the size of the previous message, up to this size.
    private const int MaxExpected = 1024 * 1024;

    private readonly RequestMemory.Share? _memory = memory is null ? null : new RequestMemory.Share(memory);
    private byte[] _bytes = [];
    private int _length;
    private int _lastLength;
    private int _fragments;

    /// <summary>The number of octets that a stub may have over the limit, for a trailer after its
    /// arguments.</summary>
    public int Slack { get; set; }

    /// <summary>Counts the memory of the stub; null for no count.</summary>
    public RequestMemory.Share? Memory => _memory;

    /// <summary>Whether the first fragment was received, but not the last.</summary>
    public bool InProgress { get; private set; }

    /// <summary>The call of the message.</summary>
    public uint CallId { get; private set; }

    public ushort ContextId { get; private set; }

    public ushort Operation { get; private set; }

    /// <summary>The byte order of the stub, from the first fragment.</summary>
    public bool LittleEndian { get; private set; }

    /// <summary>The flags of all fragments together.</summary>
    public PduFlags Flags { get; private set; }

    /// <summary>The whole stub once it is complete;
    /// valid until more bytes are received or <see cref="Reset"/>.</summary>
    public ReadOnlyMemory<byte> Stub { get; private set; }

    public AssemblyState Add(in PduHeader header, in CallPdu call, ReadOnlyMemory<byte> pdu)
    {
        bool first = header.Flags.HasFlag(PduFlags.First);
        if (first == InProgress || (InProgress && !Continues(header, call)))
        {
            return AssemblyState.Disorder;
        }

        ReadOnlyMemory<byte> part = pdu.Slice(call.StubOffset, call.StubLength);
        if (first)
        {
            Begin(header, call);
        }

        Flags |= header.Flags;
        if (++_fragments > maxFragments || part.Length > MaxBytes - _length)
        {
            return AssemblyState.TooLarge;
        }

        if (_memory?.TryHold(_length + (long)part.Length) == false)
        {
            return AssemblyState.NoMemory;
        }

        bool last = header.Flags.HasFlag(PduFlags.Last);
        if (first && last)
        {
            Stub = part;
        }
        else
        {
            Append(part.Span);
            Stub = last ? _bytes.AsMemory(0, _length) : default;
            _lastLength = last ? _length : _lastLength;
        }

        InProgress = !last;
        return last ? AssemblyState.Complete : AssemblyState.Incomplete;
    }

    /// <summary>Marks the message as cancelled, if it belongs to the call and is incomplete.</summary>
    public void Cancel(uint callId)
    {
        if (InProgress && callId == CallId)
        {
            Flags |= PduFlags.PendingCancel;
        }
    }

    /// <summary>Releases the message, and its buffer if it is large.</summary>
    public void Reset()
    {
        InProgress = false;
        Stub = default;
        _length = 0;
        _memory?.Release();
        if (_bytes.Length > RetainedBytes)
        {
            Dispose();
        }
    }

    public void Dispose()
    {
        byte[] bytes = _bytes;
        _bytes = [];
        Stub = default;
        _memory?.Release();
        if (bytes.Length > 0)
        {
            ArrayPool<byte>.Shared.Return(bytes);
        }
    }

    private int MaxBytes => (int)Math.Min(Array.MaxLength, (long)maxBytes + Slack);

    private bool Continues(in PduHeader header, in CallPdu call) =>
        header.CallId == CallId
        && call.ContextId == ContextId
        && call.Operation == Operation
        && header.LittleEndian == LittleEndian;

    private void Begin(in PduHeader header, in CallPdu call)
    {
        InProgress = true;
        CallId = header.CallId;
        ContextId = call.ContextId;
        Operation = call.Operation;
        LittleEndian = header.LittleEndian;
        Flags = PduFlags.None;
        Stub = default;
        _length = 0;
        _fragments = 0;
    }

    private void Append(ReadOnlySpan<byte> part)
    {
        int needed = _length + part.Length;
        if (needed > _bytes.Length)
        {
            int expected = Math.Max(InitialSize, Math.Min(_lastLength, MaxExpected));
            byte[] larger = ArrayPool<byte>.Shared.Rent(
                Math.Max(needed, Math.Max(expected, _bytes.Length * 2)));
            _bytes.AsSpan(0, _length).CopyTo(larger);
            if (_bytes.Length > 0)
            {
                ArrayPool<byte>.Shared.Return(_bytes);
            }

            _bytes = larger;
        }

        part.CopyTo(_bytes.AsSpan(_length));
        _length = needed;
    }
}

/// <summary>The effect of a fragment on the assembled message.</summary>
internal enum AssemblyState
{
    /// <summary>More fragments follow.</summary>
    Incomplete,

    /// <summary>The message is complete.</summary>
    Complete,

    /// <summary>The fragment has the wrong call, the wrong order, or other fields than the first
    /// fragment.</summary>
    Disorder,

    /// <summary>The message or its number of fragments is over the limit.</summary>
    TooLarge,

    /// <summary>The memory limit for all messages is reached.</summary>
    NoMemory,
}

/// <summary>The output of an association: a single PDU, or a message, which is cut into fragments and
/// returned in chunks that are large enough for a system call.</summary>
/// <remarks>A message of one fragment is not copied: its header is written before it. Large fragments are not
/// copied either: the header overwrites the end of the previous fragment, which the next call restores,
/// because a message may be sent again. Not thread-safe.</remarks>
internal sealed class FragmentWriter : IDisposable
{
    // C706 requires a multiple of 8 for all stub parts but the last; protected fragments need 16 ([MS-RPCE]
    // section 2.2.2.11).
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

    /// <summary>A PDU that is sent before the message: a bind, its reply, or a fault. Empty for
    /// none.</summary>
    public byte[] Control { get; set; } = [];

    /// <summary>Whether the whole message was returned.</summary>
    public bool AtEnd => _position >= _message.Length;

    /// <summary>Begins a message.</summary>
    /// <param name="message"><see cref="PduHeader.CallSize"/> free octets, then the stub.</param>
    /// <param name="type">Request or Response.</param>
    /// <param name="callId">The call.</param>
    /// <param name="contextId">The presentation context.</param>
    /// <param name="maxFragment">The largest fragment that the peer accepts.</param>
    /// <param name="tail">The number of octets at the end of the stub that one fragment must contain as a
    /// whole.</param>
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

    /// <summary>Returns the next bytes to send; they stay valid until the next call.</summary>
    /// <returns>False if all bytes were returned.</returns>
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

    /// <summary>Discards the rest of the message.</summary>
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

    public void Dispose() => Release();

    // Fragments are so large that a chunk would hold only one, so copying into a chunk would not save system
    // calls.
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

    // The target may be the memory before the part in the message itself: the part is then not moved.
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

        // Like common peers: the hint of a request is always the length of the whole stub, that of a response
        // the remaining length.
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

/// <summary>Checks the limits of native connections, and of HTTP and gRPC listeners.</summary>
internal static class NativeLimits
{
    /// <summary>Checks the limits before a server is bound or a client connects.</summary>
    /// <exception cref="RpcException">InvalidArgument, naming the limit.</exception>
    public static void Check(RpcLimits limits)
    {
        ArgumentNullException.ThrowIfNull(limits);
        Range(
            nameof(RpcLimits.MaxFragmentBytes), limits.MaxFragmentBytes,
            PduHeader.MustReceiveFragment, ushort.MaxValue);
        Range(nameof(RpcLimits.MaxMessageBytes), limits.MaxMessageBytes, 1, Array.MaxLength);
        Range(nameof(RpcLimits.MaxFragments), limits.MaxFragments, 1, int.MaxValue);
        Range(nameof(RpcLimits.MaxContexts), limits.MaxContexts, 1, ushort.MaxValue);
        Range(nameof(RpcLimits.MaxConnections), limits.MaxConnections, 1, int.MaxValue);
        Range(nameof(RpcLimits.MaxConnectionsPerAddress), limits.MaxConnectionsPerAddress, 1, int.MaxValue);
        Range(nameof(RpcLimits.MaxBlockingConnections), limits.MaxBlockingConnections, 0, int.MaxValue);
        Range(nameof(RpcLimits.MaxClientConnections), limits.MaxClientConnections, 1, int.MaxValue);
        Range(nameof(RpcLimits.MaxStreamsPerConnection), limits.MaxStreamsPerConnection, 1, int.MaxValue);
        Range(nameof(RpcLimits.MaxConcurrentCalls), limits.MaxConcurrentCalls, 1, int.MaxValue);
        Range(nameof(RpcLimits.MaxQueuedCalls), limits.MaxQueuedCalls, 0, int.MaxValue);
        Range(nameof(RpcLimits.MaxHeaderBytes), limits.MaxHeaderBytes, 1, int.MaxValue);
        Range(nameof(RpcLimits.MaxHeaders), limits.MaxHeaders, 1, int.MaxValue);
        Range(nameof(RpcLimits.MaxSessionBytes), limits.MaxSessionBytes, 1, int.MaxValue);
        Time(nameof(RpcLimits.HandlerTimeout), limits.HandlerTimeout);
        Time(nameof(RpcLimits.MaxQueueTime), limits.MaxQueueTime);
    }

    private static void Time(string name, TimeSpan value)
    {
        // A smaller value is a mistake, such as TimeSpan's constructor of ticks with a number of seconds.
        if (value < TimeSpan.FromMilliseconds(1) && value != Timeout.InfiniteTimeSpan)
        {
            throw Invalid(
                $"{nameof(RpcLimits)}.{name} is {value}; it must be at least 1 ms, or InfiniteTimeSpan for "
                + "none.");
        }
    }

    private static void Range(string name, int value, int from, int to)
    {
        if (value < from || value > to)
        {
            throw Invalid($"{nameof(RpcLimits)}.{name} is {value:N0}; it must be {from:N0} to {to:N0}.");
        }
    }

    private static RpcException Invalid(string what) => new(
        RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidLimit,
        what);
}

using System.Buffers;

namespace ProtoRpc.Protocols.Dce;

/// <summary>Puts the fragments of one message together; a single fragment is used where it lies.</summary>
/// <remarks>Memory grows with what was received. Not thread-safe.</remarks>
internal sealed class FragmentAssembler : IDisposable
{
    private const int InitialSize = 32 * 1024;
    private const int KeptSize = 64 * 1024;

    // A message is often as large as the one before.
    private const int MaxExpected = 1024 * 1024;

    private readonly int _maxBytes;
    private readonly int _maxFragments;
    private readonly RequestMemory.Share? _memory;
    private byte[] _bytes = [];
    private int _length;
    private int _lastLength;
    private int _fragments;

    /// <param name="maxBytes">The largest stub.</param>
    /// <param name="maxFragments">The largest number of fragments.</param>
    /// <param name="memory">Where the stub counts, besides; null for nowhere.</param>
    public FragmentAssembler(int maxBytes, int maxFragments, RequestMemory? memory = null)
    {
        _memory = memory is null ? null : new RequestMemory.Share(memory);
        _maxBytes = maxBytes;
        _maxFragments = maxFragments;
    }

    /// <summary>Octets that a stub may have over the limit: what follows its arguments.</summary>
    public int Slack { get; set; }

    /// <summary>Where the stub counts; null for nowhere.</summary>
    public RequestMemory.Share? Memory => _memory;

    /// <summary>Whether a first fragment came and not yet the last.</summary>
    public bool InProgress { get; private set; }

    /// <summary>The call of the message.</summary>
    public uint CallId { get; private set; }

    /// <summary>Its presentation context.</summary>
    public ushort ContextId { get; private set; }

    /// <summary>Its operation.</summary>
    public ushort Operation { get; private set; }

    /// <summary>The byte order of the stub, as the first fragment says.</summary>
    public bool LittleEndian { get; private set; }

    /// <summary>The flags of all fragments together.</summary>
    public PduFlags Flags { get; private set; }

    /// <summary>The whole stub once it is complete;
    /// valid until more bytes are received or <see cref="Reset"/>.</summary>
    public ReadOnlyMemory<byte> Stub { get; private set; }

    /// <summary>Adds a fragment.</summary>
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
        if (++_fragments > _maxFragments || part.Length > MaxBytes - _length)
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

    /// <summary>Marks the message as cancelled, if it is the call's and is not complete.</summary>
    public void Cancel(uint callId)
    {
        if (InProgress && callId == CallId)
        {
            Flags |= PduFlags.PendingCancel;
        }
    }

    /// <summary>Forgets the message, and a large buffer with it.</summary>
    public void Reset()
    {
        InProgress = false;
        Stub = default;
        _length = 0;
        _memory?.Release();
        if (_bytes.Length > KeptSize)
        {
            Dispose();
        }
    }

    /// <inheritdoc/>
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

    private int MaxBytes => (int)Math.Min(Array.MaxLength, (long)_maxBytes + Slack);

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

/// <summary>What a fragment did to the message that is being put together.</summary>
internal enum AssemblyState
{
    /// <summary>More fragments are to come.</summary>
    Incomplete,

    /// <summary>The message is there.</summary>
    Complete,

    /// <summary>The fragment does not belong here: wrong call, wrong order,
    /// or other fields than the first.</summary>
    Disorder,

    /// <summary>The message or its number of fragments is over the limit.</summary>
    TooLarge,

    /// <summary>All messages together have no room for more of it.</summary>
    NoMemory,
}

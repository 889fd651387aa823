using System.Buffers;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Transports;

namespace ProtoRpc.Client.Native;

/// <summary>One task for the thread of a <see cref="MessageConnection"/>: to connect, or to make a
/// call.</summary>
/// <remarks>The caller may give it up. After that, the thread does not touch the caller's
/// memory.</remarks>
/// <param name="request">The request, after a prefix for its PDU.</param>
/// <param name="maxReply">Octets of the largest stub that is taken as the reply.</param>
/// <param name="callId">The id of the call; empty if the server does not cancel calls.</param>
internal sealed class MessageWork(PooledMessageBytes? request, int maxReply, Guid callId) : IOutgoingMessage
{
    private readonly Func<IMessageConnection, uint>? _reach;
    private readonly Lock _gate = new();
    private readonly TaskCompletionSource _ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly int _end = ExecStub.RequestPrefix + (request?.Length ?? 0);
    private byte[] _reply = [];
    private int _replyLength;
    private bool _isGivenUp;
    private volatile bool _hasEnded;

    /// <summary>Connects.</summary>
    /// <param name="reach">Blocks until it has, and returns 0 or the status of the system.</param>
    public MessageWork(Func<IMessageConnection, uint> reach)
        : this(request: null, maxReply: 0, callId: Guid.Empty)
    {
        _reach = reach;
    }

    /// <summary>The id of the call.</summary>
    public Guid CallId => callId;

    /// <summary>Completes when the work ends, or when the caller stops waiting; never fails.</summary>
    public Task Ended => _ended.Task;

    /// <summary>Whether it has come to its end, though nobody may have waited for that.</summary>
    public bool HasEnded => _hasEnded;

    /// <summary>0, or the status of the system.</summary>
    public uint Status { get; private set; }

    /// <summary>The exception of the work; null for none.</summary>
    public Exception? Failure { get; private set; }

    /// <summary>Whether the server may have received the request.</summary>
    public bool IsSent { get; private set; }

    /// <summary>Whether another thread ended the wait.</summary>
    public bool IsInterrupted { get; private set; }

    /// <summary>Whether the reply was too large and was discarded.</summary>
    public bool IsReplyTooLarge { get; private set; }

    /// <summary>The byte order of the reply.</summary>
    public bool IsLittleEndian { get; private set; }

    /// <summary>The stub of the reply, until <see cref="Release"/>.</summary>
    public ReadOnlyMemory<byte> Reply => _reply.AsMemory(0, _replyLength);

    /// <inheritdoc/>
    public int Length => _end + (callId == Guid.Empty ? 0 : CancelStub.TrailerSize);

    /// <summary>Does the work, and blocks the thread.</summary>
    /// <returns>False if it was abandoned.</returns>
    public bool Run(IMessageConnection connection)
    {
        try
        {
            Status = _reach is not null ? _reach(connection) : connection.Call(this);
        }
        catch (Exception e)
        {
            Failure = e;
        }

        lock (_gate)
        {
            _hasEnded = true;
        }

        _ended.TrySetResult();
        return !_isGivenUp;
    }

    /// <summary>Ends the caller's wait. Call it from any thread.</summary>
    public void Interrupt()
    {
        IsInterrupted = true;
        _ended.TrySetResult();
    }

    /// <summary>Abandons the work, unless it has ended.</summary>
    public bool TryGiveUp()
    {
        lock (_gate)
        {
            _isGivenUp = !_hasEnded;
            return _isGivenUp;
        }
    }

    /// <inheritdoc/>
    public bool TryWrite(Span<byte> stub)
    {
        lock (_gate)
        {
            if (_isGivenUp)
            {
                return false;
            }

            request!.Whole.Span.Slice(PduHeader.CallSize, _end).CopyTo(stub);
            if (callId != Guid.Empty)
            {
                CancelStub.WriteTrailer(stub[_end..], callId);
            }

            IsSent = true;
            return true;
        }
    }

    /// <inheritdoc/>
    public void Take(ReadOnlySpan<byte> stub, bool isLittleEndian)
    {
        if (stub.Length > maxReply)
        {
            IsReplyTooLarge = true;
            return;
        }

        _reply = ArrayPool<byte>.Shared.Rent(stub.Length);
        _replyLength = stub.Length;
        stub.CopyTo(_reply);
        IsLittleEndian = isLittleEndian;
    }

    /// <summary>Frees the reply.</summary>
    public void Release()
    {
        byte[] reply = _reply;
        _reply = [];
        _replyLength = 0;
        if (reply.Length > 0)
        {
            ArrayPool<byte>.Shared.Return(reply);
        }
    }
}

using System.Buffers;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Transports;

namespace ProtoRpc.Client.Native;

/// <summary>What the thread of a <see cref="MessageConnection"/> does once: it connects, or makes a
/// call.</summary>
/// <remarks>The caller may give it up. After that, the thread does not touch the caller's
/// memory.</remarks>
/// <param name="request">The request, after a prefix for its PDU; null to connect.</param>
/// <param name="maxReply">Octets of the largest stub that is taken as the reply.</param>
internal sealed class MessageWork(PooledMessageBytes? request, int maxReply) : IOutgoingMessage
{
    private readonly Lock _gate = new();
    private readonly TaskCompletionSource _ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly int _length = ExecStub.RequestPrefix + (request?.Length ?? 0);
    private byte[] _reply = [];
    private int _replyLength;
    private bool _isGivenUp;
    private bool _hasEnded;

    /// <summary>Ends with the work, or with the wait for it; it does not fail.</summary>
    public Task Ended => _ended.Task;

    /// <summary>0, or the status of the system.</summary>
    public uint Status { get; private set; }

    /// <summary>What was thrown; null for nothing.</summary>
    public Exception? Failure { get; private set; }

    /// <summary>Whether the server may have the request.</summary>
    public bool IsSent { get; private set; }

    /// <summary>Whether somebody else than the caller ended the wait.</summary>
    public bool IsInterrupted { get; private set; }

    /// <summary>Whether the reply was too large, and was thrown away.</summary>
    public bool IsReplyTooLarge { get; private set; }

    /// <summary>The byte order of the reply.</summary>
    public bool IsLittleEndian { get; private set; }

    /// <summary>The stub of the reply, until <see cref="Release"/>.</summary>
    public ReadOnlyMemory<byte> Reply => _reply.AsMemory(0, _replyLength);

    /// <inheritdoc/>
    public int Length => _length;

    /// <summary>Does it, blocking the thread.</summary>
    /// <returns>False if it was given up.</returns>
    public bool Run(IMessageConnection connection)
    {
        try
        {
            Status = request is null ? connection.Reach() : connection.Call(this);
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

    /// <summary>Lets the caller wait no longer; for any thread.</summary>
    public void Interrupt()
    {
        IsInterrupted = true;
        _ended.TrySetResult();
    }

    /// <summary>Gives it up, unless it has ended.</summary>
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

            request!.Whole.Span.Slice(PduHeader.CallSize, _length).CopyTo(stub);
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

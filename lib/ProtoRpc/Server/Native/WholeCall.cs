using System.Buffers;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Security;
using ProtoRpc.Transports;

namespace ProtoRpc.Server.Native;

/// <summary>A call whose request came whole: it is checked, run and answered on the thread of the system's
/// runtime, which waits for the handler.</summary>
internal sealed class WholeCall : ExecCall, IDisposable
{
    private readonly CancellationTokenSource _stopped = new();
    private readonly RpcLimits _limits;
    private readonly PooledMessageBytes _reply;
    private byte[] _stub = [];
    private ReadOnlyMemory<byte> _request;
    private RequestMemory.Share? _memory;
    private Guid _id;
    private PeerIdentity _peer = PeerIdentity.Anonymous("");

    public WholeCall(ServedInterface served, RpcEndpoint endpoint, RpcLimits limits)
    {
        Served = served;
        Endpoint = endpoint;
        _limits = limits;
        Cancellation = _stopped.Token;
        _reply = new PooledMessageBytes(
            limits.MaxMessageBytes, "reply", ExecStub.ResponsePrefix, ExecStub.ResponseSuffix);
    }

    /// <summary>The interface that is called.</summary>
    public ServedInterface Served { get; }

    /// <inheritdoc/>
    public override ReadOnlyMemory<byte> Request => _request;

    /// <inheritdoc/>
    public override IBufferWriter<byte> Reply => _reply;

    /// <inheritdoc/>
    public override int ReplyLength => _reply.Length;

    /// <inheritdoc/>
    public override RequestMemory.Share? Memory => _memory;

    /// <inheritdoc/>
    public override PeerIdentity Peer => _peer;

    /// <inheritdoc/>
    public override RpcEndpoint Endpoint { get; }

    /// <inheritdoc/>
    public override CancellationToken Cancellation { get; }

    /// <inheritdoc/>
    public override void ResetReply() => _reply.Reset();

    /// <summary>Cancels it; what handlers registered runs on another thread.</summary>
    public void Cancel()
    {
        try
        {
            _stopped.CancelAsync();
        }
        catch (ObjectDisposedException)
        {
            // It has ended in this moment.
        }
    }

    /// <summary>Runs the call and answers it, blocking the thread.</summary>
    /// <param name="message">The request.</param>
    /// <param name="memory">Where requests count.</param>
    /// <param name="isFull">Whether as many calls run as may.</param>
    public void Answer(IIncomingMessage message, RequestMemory memory, bool isFull)
    {
        _peer = message.ReadPeer();
        RequestMemory.Share share = _memory = new(memory);
        try
        {
            uint refusal = Check(message, share, isFull);
            uint code = refusal != 0 ? Refuse(refusal, message.Stub.Length) : RunAdmitted();
            Span<byte> reply = _reply.Whole.Span;
            message.Reply(reply[..ExecStub.WriteResponse(reply, _reply.Length, code)]);
        }
        finally
        {
            share.Release();
        }
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        _stopped.Dispose();
        _reply.Dispose();
        if (_stub.Length > 0)
        {
            ArrayPool<byte>.Shared.Return(_stub);
        }
    }

    // 0, or the status of a refusal. Who may not call gets no further than to be read.
    private uint Check(IIncomingMessage message, RequestMemory.Share share, bool isFull)
    {
        uint refusal = Served.IsWithdrawn ? WindowsStatus.UnknownInterface : Judge();
        if (refusal != 0)
        {
            return refusal;
        }

        ReadOnlySpan<byte> stub = CancelStub.Split(message.Stub, out _id);
        if (isFull || stub.Length - ExecStub.RequestPrefix > MaxRequest || !share.TryHold(stub.Length))
        {
            return WindowsStatus.ServerTooBusy;
        }

        // A copy, because handlers could still read it when the runtime has freed its memory.
        _stub = ArrayPool<byte>.Shared.Rent(stub.Length);
        stub.CopyTo(_stub);
        return ExecStub.TryReadRequest(
            _stub.AsMemory(0, stub.Length), message.IsLittleEndian, allowTrailing: true, out _request)
            ? 0
            : WindowsStatus.BadStubData;
    }

    private int MaxRequest =>
        Math.Min(_limits.MaxMessageBytes, Served.Service.MaxRequestBytes ?? int.MaxValue);

    private uint Judge()
    {
        SecurityPolicy policy = Served.Policy;
        return policy.AllowsAnonymous ? 0
            : !_peer.User.IsAuthenticated ? WindowsStatus.AccessDenied
            : _peer.ProtectionLevel < policy.Security.MinimumLevel ? WindowsStatus.UnsupportedLevel : 0;
    }

    private uint RunAdmitted()
    {
        ExecInterface service = Served.Service;
        if (service.MaxCalls is not { } max)
        {
            return Run();
        }

        if (!service.Gate.TryEnter(max))
        {
            return Refuse(WindowsStatus.ServerTooBusy, _request.Length);
        }

        try
        {
            return Run();
        }
        finally
        {
            service.Gate.Leave();
        }
    }

    private uint Run()
    {
        bool canBeCancelled = CancelService.TryAdd(_id, this);
        try
        {
            BlockingWait.End(BlockingWait.WaitAsync(Served.Service.Handler(this)));
            return _reply.Overflowed ? WindowsStatus.ReplyTooLarge
                : IsTooBusy ? WindowsStatus.ServerTooBusy
                : (uint)ReturnCode;
        }
        catch (Exception e)
        {
            return _reply.Overflowed ? WindowsStatus.ReplyTooLarge
                : e is OperationCanceledException && _stopped.IsCancellationRequested
                    ? WindowsStatus.CallCancelled
                    : WindowsStatus.HandlerFailed;
        }
        finally
        {
            if (canBeCancelled)
            {
                CancelService.Remove(_id);
            }
        }
    }

    private uint Refuse(uint status, int bytes)
    {
        ExecInterface service = Served.Service;
        service.Monitor?.Refuse(
            service.System, Endpoint, service.Name, _peer,
            status is WindowsStatus.AccessDenied or WindowsStatus.UnsupportedLevel
                ? _peer.User.IsAuthenticated ? RpcStatusCode.PermissionDenied : RpcStatusCode.Unauthenticated
                : RpcStatusTable.OfNativeStatus(status).Code,
            bytes);
        return status;
    }
}

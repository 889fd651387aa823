using System.Buffers;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Dce;

namespace ProtoRpc.Server.Native;

/// <summary>The one call at a time of a server's connection.</summary>
internal sealed class ServerCall : ExecCall, IDisposable
{
    private readonly Lock _gate = new();
    private readonly ServerAssociation _association;
    private CancellationTokenSource? _source;
    private CancelNotice _notice;

    public ServerCall(ServerAssociation association, RpcEndpoint endpoint)
    {
        _association = association;
        Endpoint = endpoint;
    }

    /// <inheritdoc/>
    public override ReadOnlyMemory<byte> Request => _association.Request;

    /// <inheritdoc/>
    public override IBufferWriter<byte> Reply => _association.Reply;

    /// <inheritdoc/>
    public override int ReplyLength => _association.Reply.Length;

    /// <inheritdoc/>
    public override RequestMemory.Share? Memory => _association.Memory;

    /// <inheritdoc/>
    public override PeerIdentity Peer => _association.Security.PeerOf(_association.Interface);

    /// <inheritdoc/>
    public override RpcEndpoint Endpoint { get; }

    /// <inheritdoc/>
    public override CancellationToken Cancellation
    {
        get
        {
            lock (_gate)
            {
                return _notice == CancelNotice.None
                    ? (_source ??= new CancellationTokenSource()).Token
                    : new CancellationToken(canceled: true);
            }
        }
    }

    /// <summary>How the call was cancelled, if it was; read after the last possible cancellation.</summary>
    public CancelNotice Notice => _notice;

    /// <inheritdoc/>
    public override void ResetReply() => _association.Reply.Reset();

    /// <summary>Makes it the next call, before anybody can cancel it.</summary>
    public void Begin(CancelNotice notice)
    {
        ReturnCode = 0;
        IsTooBusy = false;
        _notice = notice;
        if (_source is { } used && !used.TryReset())
        {
            used.Dispose();
            _source = null;
        }
    }

    /// <summary>Cancels it; what handlers registered runs on another thread.</summary>
    public void Cancel(CancelNotice notice)
    {
        lock (_gate)
        {
            if (notice > _notice)
            {
                _notice = notice;
                _source?.CancelAsync();
            }
        }
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        lock (_gate)
        {
            _source?.Dispose();
            _source = null;
        }
    }
}

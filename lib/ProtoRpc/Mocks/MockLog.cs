using ProtoRpc.Server.Recording;

namespace ProtoRpc.Mocks;

/// <summary>The calls that a mock received, up to a bound; the oldest make room.</summary>
internal sealed class MockLog : CallCapture
{
    private static readonly RecordingLimits Limits = new(RpcMock.MaxMessagesOfCall, RpcMock.MaxBytesOfCall);

    private readonly Lock _gate = new();
    private readonly LinkedList<RpcRecordedCall> _calls = [];
    private readonly Dictionary<RpcRecordedCall, int> _kept = [];
    private long _bytes;
    private long _dropped;

    public IReadOnlyList<RpcRecordedCall> Calls
    {
        get
        {
            lock (_gate)
            {
                // An array: a shell cannot index the list that a collection expression makes.
                return _calls.ToArray();
            }
        }
    }

    public long Dropped => Volatile.Read(ref _dropped);

    public void Clear()
    {
        lock (_gate)
        {
            _calls.Clear();
            _kept.Clear();
            _bytes = 0;
            _dropped = 0;
        }
    }

    /// <inheritdoc/>
    protected override RpcRecordedCall Begin(RpcServerCallContext context)
    {
        RpcRecordedCall call = new(context, HeadersOf(context), Limits);
        lock (_gate)
        {
            // Recorded before the reply: a caller that disconnects early has also called.
            _calls.AddLast(call);
            _kept.Add(call, 0);
            MakeRoom();
        }

        return call;
    }

    /// <inheritdoc/>
    protected override void End(RpcRecordedCall call)
    {
        lock (_gate)
        {
            // A call that was forgotten while it ran takes no room.
            if (_kept.ContainsKey(call))
            {
                _kept[call] = call.Bytes;
                _bytes += call.Bytes;
                MakeRoom();
            }
        }
    }

    private void MakeRoom()
    {
        while (_calls.Count > RpcMock.MaxCalls || (_bytes > RpcMock.MaxBytes && _calls.Count > 1))
        {
            RpcRecordedCall oldest = _calls.First!.Value;
            _calls.RemoveFirst();
            _kept.Remove(oldest, out int bytes);
            _bytes -= bytes;
            _dropped++;
        }
    }
}

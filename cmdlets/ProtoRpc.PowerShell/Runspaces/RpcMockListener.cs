using ProtoRpc.PowerShell.Handlers;
using ProtoRpc.PowerShell.Runspaces;

namespace ProtoRpc;

/// <summary>A mock as the shell shows it: a listener that answers what a test gave it, and records each
/// call.</summary>
public sealed class RpcMockListener : RpcListener
{
    private readonly Lock _gate = new();
    private RpcConnection? _connection;

    internal RpcMockListener(int id, RpcSchema schema, RpcMock mock, HandlerPool pool)
        : base(id, schema, mock.Server, pool)
    {
        Mock = mock;
        Completion.ContinueWith(_ => Disconnect(), TaskScheduler.Default);
    }

    /// <summary>The mock itself, for cmdlets that take listeners.</summary>
    public RpcListener Listener => this;

    /// <summary>The endpoint, or the first of several: one value, which parameters of type string take,
    /// too.</summary>
    public new RpcEndpoint Endpoint => base.Endpoint[0];

    /// <summary>All endpoints.</summary>
    public RpcEndpoint[] Endpoints => base.Endpoint;

    /// <summary>How long each call waits before it is answered.</summary>
    public TimeSpan Latency
    {
        get => Mock.Latency;
        set => Mock.Latency = value;
    }

    /// <summary>A connection to the mock that is made with its first call, and closed with the mock. It is
    /// not one of the session's open connections, so it is never used unless it is named.</summary>
    public RpcConnection Connection
    {
        get
        {
            lock (_gate)
            {
                return _connection is { } made && (made.IsOpen || !IsListening)
                    ? made
                    : _connection = Connect();
            }
        }
    }

    /// <summary>Calls that were forgotten, because there were too many of them or too large ones.</summary>
    public long DroppedCalls => Mock.DroppedCalls;

    internal RpcMock Mock { get; }

    /// <summary>Forgets the recorded calls, and begins lists of replies again.</summary>
    public void Reset() => Mock.Reset();

    private RpcConnection Connect() => new(
        RunspaceStore.Current.NextId(),
        RpcClient.Connect(Endpoint, Schema!, new RpcClientOptions
        {
            Lazy = true,
            Service = Service is [string only] ? only : null,
        }));

    private void Disconnect()
    {
        lock (_gate)
        {
            _connection?.Dispose();
        }
    }
}

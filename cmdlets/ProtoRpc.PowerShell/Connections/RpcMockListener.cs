using ProtoRpc.PowerShell.Connections;
using ProtoRpc.PowerShell.Handlers;
using ProtoRpc.PowerShell.Objects;

namespace ProtoRpc;

/// <summary>A mock, as the shell shows it: a listener that returns the replies of a test, and records each
/// call.</summary>
public sealed class RpcMockListener : RpcListener
{
    private const string StoppedText =
        "was closed with its mock, which stops with the test, block or script that made it. Make the mock "
        + "where it is needed, as in BeforeAll or BeforeEach, or dot-source the script that makes it.";

    private readonly Lock _gate = new();

    // The workers of the scripts that reply to a method. Methods with other replies have none.
    private readonly Dictionary<string, HandlerPool> _workers = [];

    // The workers of the replies that the mock started with. Reset restores them.
    private readonly Dictionary<string, HandlerPool> _firstWorkers = [];
    private RpcConnection? _connection;

    /// <param name="id">The id in the runspace.</param>
    /// <param name="schema">The schema of the services.</param>
    /// <param name="mock">The mock.</param>
    /// <param name="pool">The workers of the first replies.</param>
    /// <param name="methods">The methods that have a first reply.</param>
    internal RpcMockListener(
        int id, RpcSchema schema, RpcMock mock, HandlerPool pool, IReadOnlyList<string> methods)
        : base(id, schema, mock.Server, pool)
    {
        Mock = mock;
        Use(pool, methods);
        foreach ((string method, HandlerPool first) in _workers)
        {
            _firstWorkers.Add(method, first);
        }

        Completion.ContinueWith(_ => Disconnect(), TaskScheduler.Default);
    }

    /// <summary>The mock itself, for cmdlets that take listeners.</summary>
    public RpcListener Listener => this;

    /// <summary>The endpoint; with several endpoints, the first. A single value, which parameters of type
    /// string accept.</summary>
    public new RpcEndpoint Endpoint => base.Endpoint[0];

    /// <summary>All endpoints.</summary>
    public RpcEndpoint[] Endpoints => base.Endpoint;

    /// <summary>The time that each call waits before the mock sends its reply.</summary>
    public TimeSpan Latency
    {
        get => Mock.Latency;
        set => Mock.Latency = value;
    }

    /// <summary>A connection to the mock. It connects with its first call, and is closed with the mock.
    /// Cmdlets only use it if it is given, because it is not one of the session's open connections.</summary>
    public RpcConnection Connection
    {
        get
        {
            lock (_gate)
            {
                if (_connection is null || (IsListening && !_connection.IsOpen))
                {
                    _connection = Connect();
                }

                if (!IsListening)
                {
                    _connection.Dispose();
                }

                return _connection;
            }
        }
    }

    /// <summary>The number of recorded calls that were dropped, because there were too many or too large
    /// ones.</summary>
    public long DroppedCalls => Mock.DroppedCalls;

    internal RpcMock Mock { get; }

    /// <summary>Clears the recorded calls, and restores the replies and the latency that the mock started
    /// with. Lists of replies start from their first reply again.</summary>
    public void Reset()
    {
        lock (_gate)
        {
            Mock.Reset();
            _workers.Clear();
            foreach ((string method, HandlerPool first) in _firstWorkers)
            {
                _workers.Add(method, first);
            }

            UseWorkers();
        }
    }

    /// <summary>Records which workers run the scripts of the methods. Earlier workers whose scripts serve no
    /// method any more end after their calls.</summary>
    internal void Use(HandlerPool pool, IReadOnlyList<string> methods)
    {
        lock (_gate)
        {
            foreach (string method in methods)
            {
                _workers.Remove(method);
                if (pool.Scripts.Count > 0)
                {
                    _workers.Add(method, pool);
                }
            }

            if (!_workers.ContainsValue(pool))
            {
                // An initialization script or a module started a worker that no reply uses.
                pool.Retire();
            }

            UseWorkers();
        }
    }

    private void UseWorkers() => Use([.. _workers.Values.Distinct()]);

    private RpcConnection Connect()
    {
        RpcClient client = RpcClient.Connect(Endpoint, Schema!, new RpcClientOptions
        {
            Lazy = true,
            Service = Service is [string only] ? only : null,
        });
        return new RpcConnection(RunspaceStore.Current.NextId(), client) { ClosedText = StoppedText };
    }

    private void Disconnect()
    {
        lock (_gate)
        {
            _connection?.Dispose();
        }
    }
}

/// <summary>A call that a mock received, as the shell shows it.</summary>
public sealed class RpcMockCall
{
    private readonly RpcRecordedCall _call;

    internal RpcMockCall(RpcRecordedCall call)
    {
        _call = call;
        Request = ToObject(call.Requests, call.Method.IsClientStreaming);
        Reply = ToObject(call.Replies, call.Method.IsServerStreaming);
        Headers = HeaderMapping.ToHashtable(call.Headers);
        Status = call.Status;
    }

    /// <summary>When the mock received the call.</summary>
    public DateTimeOffset Time => _call.Time;

    /// <summary>The full name of the method.</summary>
    public string Method => _call.Method.FullName;

    /// <summary>The request; an array if the method streams requests.</summary>
    public object? Request { get; }

    /// <summary>The reply; an array if the method streams replies. Null if the call failed before a
    /// reply.</summary>
    public object? Reply { get; }

    /// <summary>The status of the call; null while it runs.</summary>
    public RpcStatusCode? Status { get; }

    /// <summary>The error text that was sent to the caller; empty for none.</summary>
    public string Message => _call.Message;

    /// <summary>The caller's name; empty for an anonymous caller.</summary>
    public string User => _call.User;

    /// <summary>The caller's address and port; empty on local endpoints.</summary>
    public string Peer => _call.Peer;

    /// <summary>The headers of the request. Values are bytes if the name ends in -bin.</summary>
    public IDictionary Headers { get; }

    /// <summary>The duration of the call in milliseconds; null while it runs.</summary>
    public double? Milliseconds => _call.Duration?.TotalMilliseconds;

    /// <summary>Whether messages are missing, because the call had too many or too large ones.</summary>
    public bool IsTruncated => _call.IsTruncated;

    internal RpcRecordedCall Record => _call;

    /// <inheritdoc/>
    public override string ToString() => _call.ToString();

    private static object? ToObject(IReadOnlyList<DynamicMessage> messages, bool isStream)
    {
        MessageMapper mapper = ShellMapper.Create(asHashtable: false);
        object[] objects = [.. messages.Select(mapper.ToObject)];
        return isStream ? objects : objects.FirstOrDefault();
    }
}

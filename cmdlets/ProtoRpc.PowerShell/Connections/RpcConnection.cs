using System.Collections.Specialized;
using ProtoRpc.PowerShell.Connections;
using ProtoRpc.PowerShell.Objects;

namespace ProtoRpc;

/// <summary>A connection, as the shell shows it. If it breaks, the next call reconnects.</summary>
public sealed class RpcConnection : IDisposable
{
    private readonly RpcClient? _client;
    private readonly RpcRawClient? _raw;
    private readonly HashSet<StreamConversation> _streams = [];
    private Action<RpcConnection>? _closed;

    internal RpcConnection(int id, RpcClient client)
    {
        Id = id;
        _client = client;
    }

    internal RpcConnection(int id, RpcRawClient raw)
    {
        Id = id;
        _raw = raw;
    }

    /// <summary>The id of the connection in this runspace.</summary>
    public int Id { get; }

    /// <summary>The endpoint; with several endpoints, the first.</summary>
    public RpcEndpoint Endpoint => _client?.Endpoint ?? _raw!.Endpoint;

    /// <summary>All endpoints of the connection: several with -LoadBalancing.</summary>
    public RpcEndpoint[] Endpoints => _client is null ? [_raw!.Endpoint] : [.. _client.Endpoints];

    /// <summary>The schema for looking up methods.</summary>
    public RpcSchema? Schema => _client?.Schema;

    /// <summary>The service for bare method names; empty for none.</summary>
    public string Service => _client?.Service?.FullName ?? "";

    /// <summary><c>Open</c> or <c>Closed</c>.</summary>
    public string State => IsOpen ? "Open" : "Closed";

    /// <summary>The number of completed calls.</summary>
    public long Calls => _client?.CallCount ?? _raw!.CallCount;

    /// <summary>The interface of a raw connection; otherwise null.</summary>
    public Guid? InterfaceId => _raw?.InterfaceId;

    /// <summary>The side channel. It is sent with every call; a reply may replace it. To change it, set a
    /// dictionary of extensions, <c>@{ '[package.name]' = VALUE }</c>.</summary>
    public IDictionary CallContext
    {
        // The getter returns a copy. It is read-only, so that a change to it fails instead of being lost.
        get => ((OrderedDictionary)CallContextMap.ToDictionary(Client.CallContext)).AsReadOnly();
        set
        {
            ArgumentNullException.ThrowIfNull(value);
            Client.CallContext = CallContextMap.ToMessage(Client.CallContext.Type, value);
        }
    }

    /// <summary>The end of the error for a call after the connection was closed: the state of the connection,
    /// and how to open another one.</summary>
    internal string ClosedText { get; init; } = "was closed. Run Connect-RpcEndpoint again.";

    /// <summary>Whether each call waits for a server that cannot be reached, as far as its time
    /// allows.</summary>
    internal bool WaitsForReady { get; set; }

    /// <summary>Whether each call may go to another one of several servers.</summary>
    internal bool IsBalanced => _client?.Endpoints.Count > 1;

    internal bool IsOpen => _client?.IsOpen ?? _raw!.IsOpen;

    /// <exception cref="RpcException">FailedPrecondition: this is a raw connection.</exception>
    internal RpcClient Client => _client ?? throw Wrong(
        "is a raw connection, which has no methods. Call it with Invoke-RpcMethod -Message and without "
        + "-Method, or connect with -Schema");

    /// <exception cref="RpcException">FailedPrecondition: this is not a raw connection.</exception>
    internal RpcRawClient Raw => _raw ?? throw Wrong(
        "is not a raw connection, so a call requires -Method. For a raw call, connect with -InterfaceId and "
        + "without -Schema");

    /// <summary>Closes the connection.</summary>
    public void Dispose()
    {
        foreach (StreamConversation stream in Streams())
        {
            stream.Close(StreamConversation.ByConnection);
        }

        _client?.Dispose();
        _raw?.Dispose();
        Interlocked.Exchange(ref _closed, null)?.Invoke(this);
    }

    /// <inheritdoc/>
    public override string ToString() => Endpoint.ToString();

    /// <summary>Calls an action once when the connection is closed.</summary>
    internal void WhenClosed(Action<RpcConnection> action) => _closed = action;

    /// <summary>Adds a stream, which ends with the connection.</summary>
    internal void Add(StreamConversation stream)
    {
        lock (_streams)
        {
            _streams.Add(stream);
        }

        stream.WhenEnded(ended =>
        {
            lock (_streams)
            {
                _streams.Remove(ended);
            }
        });
        if (!IsOpen)
        {
            stream.Close(StreamConversation.ByConnection);
        }
    }

    private StreamConversation[] Streams()
    {
        lock (_streams)
        {
            return [.. _streams];
        }
    }

    private RpcException Wrong(string why) =>
        new(
            RpcStatusCode.FailedPrecondition, RpcErrorIds.WrongConnection,
            $"The connection to {this} {why}.");
}
